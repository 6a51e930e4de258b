// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// outcomes are the revisions and outcomes of a history.
func outcomes(book Book) []string {
	var all []string
	for _, entry := range book.History {
		all = append(all, entry.Revision+" "+string(entry.Outcome))
	}
	return all
}

func TestBookTellsWhatBecameOfChanges(t *testing.T) {
	settled := State{Verified: "a"}
	travelling := func(step string) State { return State{Step: step, Revision: "b", Verified: "a", Canary: "m"} }
	returning := State{Step: "Returning", Revision: "b", Returning: true, Verified: "a", Failed: "b", Breach: "too dirty"}
	returned := returning
	returned.Step, returned.Returning, returned.Returned = "Returned", false, true
	paused := travelling("Canary")
	paused.Breach = "too dirty"
	other := travelling("Canary")
	other.Revision = "c"
	for _, row := range []struct {
		name   string
		states []State
		want   []string
		why    string
	}{
		{"the first revision does not travel", []State{{}, settled}, []string{"a Verified"}, ""},
		{"a change is verified", []State{settled, travelling("Canary"), travelling("Verifying"), {Verified: "b"}}, []string{"a Verified", "b Verified"}, ""},
		{"a change is on its way", []State{settled, travelling("Canary")}, []string{"a Verified", "b Travelling"}, ""},
		{"a change is taken back", []State{settled, travelling("Canary"), returning, returned}, []string{"a Verified", "b TakenBack"}, "too dirty"},
		{"it is taken back and nobody saw the end", []State{settled, travelling("Canary"), returning, {Verified: "a", Failed: "b"}}, []string{"a Verified", "b TakenBack"}, ""},
		{"it is tried again", []State{settled, travelling("Canary"), returned, travelling("Canary"), {Verified: "b"}}, []string{"a Verified", "b TakenBack", "b Verified"}, ""},
		{"a change is paused", []State{settled, travelling("Canary"), paused}, []string{"a Verified", "b Paused"}, "too dirty"},
		{"people go back", []State{settled, travelling("Canary"), settled}, []string{"a Verified", "b Withdrawn"}, "revision a was declared again"},
		{"another change takes its place", []State{settled, travelling("Canary"), other}, []string{"a Verified", "b Superseded", "c Travelling"}, ""},
		{"an operator that did not see it", []State{settled, {Verified: "b"}}, []string{"a Verified", "b Verified"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var book Book
			for i, state := range row.states {
				now := start.Add(time.Duration(i) * time.Minute)
				book.Turn(state, nil, now)
				if book.Turn(state, nil, now.Add(time.Second)) {
					t.Errorf("state %d is written twice", i)
				}
			}
			if diff := cmp.Diff(row.want, outcomes(book)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if last := book.History[len(book.History)-1]; row.why != "" && last.Why != row.why {
				t.Errorf("why is %q", last.Why)
			}
		})
	}
}

func TestARecordingBeginsBeforeTheChange(t *testing.T) {
	lead := New(start)
	lead.AddRecent(start, []Value{high("a", 7)})
	var book Book
	book.Turn(State{Step: "Canary", Revision: "b", Verified: "a", Message: "goes to the canary"}, lead, start.Add(time.Minute))
	lead.AddRecent(start.Add(2*time.Second), []Value{high("a", 99)})
	series, found := book.Last.Of(Key{Member: "a", Gauge: "DirtyCachePercent"})
	if !found || series.Values[0] != 7 || !book.Last.Began.Equal(start) || book.Last.From != "a" {
		t.Errorf("recorded %+v", book.Last)
	}
	want := []Mark{{At: start.Add(time.Minute), Kind: MarkStep, Name: "Canary", Text: "goes to the canary"}}
	if diff := cmp.Diff(want, book.Last.Marks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnyBookIsBoundedAndQuiet turns a book through random states. Written once, a state is not written
// again: a settled cluster gets no writes.
func TestAnyBookIsBoundedAndQuiet(t *testing.T) {
	revision := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		var book Book
		now := start
		for range rapid.IntRange(1, 80).Draw(t, "turns") {
			state := State{Verified: revision.Draw(t, "verified")}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
			case 1:
				state.Step, state.Revision = "Canary", revision.Draw(t, "revision")
			case 2:
				state.Step, state.Revision, state.Returning, state.Breach = "Returning", revision.Draw(t, "revision"), true, "broken"
			case 3:
				state.Step, state.Revision, state.Returned, state.Breach = "Returned", revision.Draw(t, "revision"), true, "broken"
			case 4:
				state.Step, state.Revision, state.Breach = "RestOfShard", revision.Draw(t, "revision"), "broken"
			}
			now = now.Add(time.Second)
			book.Turn(state, nil, now)
			if book.Turn(state, nil, now.Add(time.Hour)) {
				t.Fatalf("%+v is written twice: %+v", state, book.History)
			}
			open := 0
			for _, entry := range book.History {
				if entry.Outcome == Travelling {
					open++
				}
			}
			if len(book.History) > MaxEntries || open > 1 || (open == 1) != book.Last.IsOpen() || book.Last.IsOpen() != state.travels() {
				t.Fatalf("%d entries, %d of them open, the recording is open: %v, %+v", len(book.History), open, book.Last.IsOpen(), state)
			}
		}
	})
}

func TestIntervals(t *testing.T) {
	for spacing, want := range map[time.Duration]time.Duration{FirstSpacing: FirstSpacing, 30 * time.Second: 30 * time.Second, time.Hour: time.Minute} {
		if got := (&Recording{Spacing: spacing}).Interval(); got != want {
			t.Errorf("%s: %s, want %s", spacing, got, want)
		}
	}
}
