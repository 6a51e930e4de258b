// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	known := []string{"cacheSizeGB", "cacheSizePercent", "eviction.dirtyTriggerPercent", "eviction.dirtyTargetPercent", "eviction.threadsMax", "serviceExecutor"}
	for _, row := range []struct {
		name, word string
		want       []string
	}{
		{"two letters swapped", "cacheSzieGB", []string{"cacheSizeGB"}},
		{"another case", "CACHESIZEGB", []string{"cacheSizeGB"}},
		{"only the last part", "threadsMax", []string{"eviction.threadsMax"}},
		{"the last part with a mistake", "dirtyTrigerPercent", []string{"eviction.dirtyTriggerPercent", "eviction.dirtyTargetPercent"}},
		{"a part of a word", "thread", []string{"eviction.threadsMax"}},
		{"the beginning with a letter left out", "servieEx", []string{"serviceExecutor"}},
		{"nothing is near", "journal", nil},
		{"two letters are a part of too much", "si", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, Nearest(row.word, known)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNearestAreAtMostThree(t *testing.T) {
	if got := Nearest("demo", []string{"demo1", "demo2", "demo3", "demo4"}); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestDistance(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abc", "abc", 0}} {
		if got := distanceOf(row.a, row.b); got != row.want {
			t.Errorf("%q to %q: %d, want %d", row.a, row.b, got, row.want)
		}
		if distanceOf(row.a, row.b) != distanceOf(row.b, row.a) {
			t.Errorf("%q and %q are not as far from each other", row.a, row.b)
		}
	}
}
