// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInsertsThatAreLost(t *testing.T) {
	// Of five, the third was not acknowledged, the fourth was deleted, and the delete of the fifth has no answer.
	book := func() *Inserts {
		b := &Inserts{}
		for range 5 {
			b.Next()
		}
		for _, id := range []int64{1, 2, 4} {
			b.Acknowledge(id)
		}
		if id, ok := b.Take(); !ok || id != 4 {
			t.Fatalf("took %d, %v", id, ok)
		}
		b.AcknowledgeDelete(4)
		b.Acknowledge(5)
		if id, ok := b.Take(); !ok || id != 5 {
			t.Fatalf("took %d, %v", id, ok)
		}
		return b
	}
	for _, row := range []struct {
		name    string
		present []int64
		want    Findings
	}{
		{"all that was acknowledged is there", []int64{1, 2}, Findings{}},
		{"what was not acknowledged may be there", []int64{1, 2, 3}, Findings{}},
		{"what was to be deleted may be there while nobody says that it is gone", []int64{1, 2, 5}, Findings{}},
		{"what was acknowledged is not there", []int64{1}, Findings{Lost: Documents{1, []int64{2}}}},
		{"what was deleted is back", []int64{1, 2, 4}, Findings{Returned: Documents{1, []int64{4}}}},
		{"what nobody wrote is there", []int64{0, 1, 2, 6}, Findings{Invented: Documents{2, []int64{0, 6}}}},
		{"nothing is there", nil, Findings{Lost: Documents{2, []int64{1, 2}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := book().Check(slices.Values(row.present))
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (got.Err() != nil) != (diffFrom(Findings{}, got)) {
				t.Errorf("the error is %v", got.Err())
			}
		})
	}
}

func diffFrom(a, b Findings) bool { return cmp.Diff(a, b) != "" }

func TestUpdatesThatAreLost(t *testing.T) {
	// The first was updated twice, once without an answer; the second once; the third never.
	book := func() *Updates {
		b := NewUpdates(3)
		b.Try(0)
		b.Try(0, 1)
		b.Acknowledge(0, 1)
		return b
	}
	for _, row := range []struct {
		name    string
		present []Counted
		want    Findings
	}{
		{"what has no answer is not done", []Counted{{0, 1}, {1, 1}, {2, 0}}, Findings{}},
		{"what has no answer is done", []Counted{{0, 2}, {1, 1}, {2, 0}}, Findings{}},
		{"an update is lost", []Counted{{0, 0}, {1, 1}, {2, 0}}, Findings{Lost: Documents{1, []int64{0}}}},
		{"an update was made that nobody sent", []Counted{{0, 1}, {1, 2}, {2, 0}}, Findings{Invented: Documents{1, []int64{1}}}},
		{"a document is gone", []Counted{{0, 1}, {1, 1}}, Findings{Lost: Documents{1, []int64{2}}}},
		{"a document is there that nobody wrote", []Counted{{0, 1}, {1, 1}, {2, 0}, {3, 0}, {-1, 0}}, Findings{Invented: Documents{2, []int64{3, -1}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, book().Check(slices.Values(row.present))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingToDelete(t *testing.T) {
	b := &Inserts{}
	b.Next()
	if _, ok := b.Take(); ok {
		t.Error("a document is deleted of which nobody knows that it is there")
	}
}

func TestCountsOfWrites(t *testing.T) {
	inserts, updates := &Inserts{}, NewUpdates(2)
	var writing sync.WaitGroup
	for range 8 {
		writing.Go(func() {
			for range 100 {
				id := inserts.Next()
				updates.Try(id % 2)
				if id%4 == 0 {
					inserts.Acknowledge(id)
					updates.Acknowledge(id % 2)
				}
			}
		})
	}
	writing.Wait()
	want := WriteCounts{Tried: 800, Acknowledged: 200}
	if inserts.Counts() != want || updates.Counts() != want {
		t.Errorf("%v and %v, wanted %v", inserts.Counts(), updates.Counts(), want)
	}
}

func TestManyLosses(t *testing.T) {
	b := &Inserts{}
	for range 25 {
		b.Acknowledge(b.Next())
	}
	findings := b.Check(slices.Values([]int64{}))
	if findings.Lost.Count != 25 || len(findings.Lost.First) != firstFew {
		t.Errorf("%+v", findings)
	}
	err := findings.plus(Findings{Lost: Documents{1, []int64{99}}}).Err()
	if err == nil || !strings.Contains(err.Error(), "lost 26 [1 2 3 4 5 6 7 8 9 10]") {
		t.Error(err)
	}
}
