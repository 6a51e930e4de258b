// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestKeysAreWithinTheDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := rapid.Int64Range(1, 1000).Draw(t, "documents")
		chooser, err := newChooser(rapid.SampledFrom([]Keys{Uniform, Zipfian}).Draw(t, "keys"), documents)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 100 {
			if id := chooser.choose(random); id < 0 || id >= documents {
				t.Fatalf("document %d of %d", id, documents)
			}
		}
	})
}

// TestZipf compares how often each rank is drawn with what the distribution says.
func TestZipf(t *testing.T) {
	const documents, draws = 1000, 400_000
	z, random, counts := newZipf(documents), rand.New(rand.NewPCG(7, 7)), make([]int, documents)
	for range draws {
		counts[z.rank(random)]++
	}
	sum := 0.0
	for k := 1; k <= documents; k++ {
		sum += math.Pow(float64(k), -zipfExponent)
	}
	for _, rank := range []int{1, 2, 3, 10, 100} {
		want := math.Pow(float64(rank), -zipfExponent) / sum
		got := float64(counts[rank-1]) / draws
		// The method is exact for the first two, and near for the others.
		allowed := 0.05
		if rank > 2 {
			allowed = 0.2
		}
		if math.Abs(got-want)/want > allowed {
			t.Errorf("rank %d is drawn %.4f of the time, wanted %.4f", rank, got, want)
		}
	}
	if half := shareOf(counts, documents/10); half < 0.6 || half > 0.75 {
		t.Errorf("the most popular tenth gets %.2f of all draws, wanted about two thirds", half)
	}
}

func shareOf(counts []int, first int) float64 {
	some, all := 0, 0
	for i, count := range counts {
		if i < first {
			some += count
		}
		all += count
	}
	return float64(some) / float64(all)
}

func TestPopularDocumentsAreNoNeighbours(t *testing.T) {
	const documents = 10_000
	z, random, counts := newZipf(documents), rand.New(rand.NewPCG(3, 3)), map[int64]int{}
	for range 100_000 {
		counts[z.choose(random)]++
	}
	var popular []int64
	for id, count := range counts {
		if count > 500 {
			popular = append(popular, id)
		}
	}
	slices.Sort(popular)
	if len(popular) < 5 {
		t.Fatalf("%d documents are popular", len(popular))
	}
	for i := range popular[1:] {
		if popular[i+1]-popular[i] < 10 {
			t.Errorf("%d and %d are both popular", popular[i], popular[i+1])
		}
	}
}

func TestDocumentsSpreadOverTargets(t *testing.T) {
	const documents, targets = 10_000, 3
	counts := make([]int, targets)
	for id := range int64(documents) {
		counts[route(id, targets)]++
		if route(id, 1) != 0 {
			t.Fatalf("document %d is not on the only target", id)
		}
	}
	for at, count := range counts {
		if math.Abs(float64(count)-documents/targets) > documents/targets/10 {
			t.Errorf("target %d has %d of %d documents", at, count, documents)
		}
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	if _, err := newChooser("latest", 10); err == nil {
		t.Error("taken")
	}
}
