// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the names that somebody may have meant. It is pure.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// most is how many names are worth reading.
const most = 3

// Nearest are the known names that are nearest to a word, at most three, the nearest first; none when
// nothing is near. Case does not count, and a name that differs in nothing else is the only answer. A name that has the word as one of its parts, as
// "eviction.threadsMax" has "threads", is near however long it is.
func Nearest(word string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	word = strings.ToLower(word)
	var candidates []candidate
	for _, name := range known {
		lower := strings.ToLower(name)
		distance := distanceOf(word, lower)
		if last := lower[strings.LastIndexAny(lower, ".-")+1:]; last != lower {
			distance = min(distance, 1+distanceOf(word, last))
		}
		// The beginning of a longer name, with at most one letter left out.
		for _, length := range []int{len(word), len(word) + 1} {
			if len(word) > 3 && length < len(lower) {
				distance = min(distance, 1+distanceOf(word, lower[:length]))
			}
		}
		if len(word) >= 3 && strings.Contains(lower, word) {
			distance = min(distance, 1)
		}
		if distance == 0 {
			return []string{name}
		}
		// A third of the letters may be wrong, and two of a short word.
		if distance <= max(2, len(word)/3) {
			candidates = append(candidates, candidate{name, distance})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, found := range candidates[:min(most, len(candidates))] {
		names = append(names, found.name)
	}
	return names
}

// distanceOf is how many letters have to be put in, taken out, replaced or swapped with their neighbour to
// make one word of the other.
func distanceOf(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(from); i++ {
		for j := 1; j <= len(to); j++ {
			cost := 1
			if from[i-1] == to[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(from)][len(to)]
}
