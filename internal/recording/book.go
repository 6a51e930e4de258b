// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"slices"
	"time"
)

// MaxEntries is how many changes are remembered.
const MaxEntries = 20

// Outcome is what became of a change.
type Outcome string

// The outcomes.
const (
	// Travelling means that it is on its way.
	Travelling Outcome = "Travelling"
	// Verified means that it is in force on every member, proved and in range.
	Verified Outcome = "Verified"
	// TakenBack means that it broke something and the members have the revision of before again.
	TakenBack Outcome = "TakenBack"
	// Paused means that it broke something and was left where it was.
	Paused Outcome = "Paused"
	// Withdrawn means that people went back to the revision of before.
	Withdrawn Outcome = "Withdrawn"
	// Superseded means that another revision took its place on the way.
	Superseded Outcome = "Superseded"
)

// Entry is one change in the history.
type Entry struct {
	Revision string `json:"revision"`
	// From is the revision that was verified when it began, empty for the first one.
	From    string  `json:"from,omitempty"`
	Profile string  `json:"profile,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Began is nil for the first revision, which does not travel; Ended is nil on the way.
	Began *time.Time `json:"began,omitempty"`
	Ended *time.Time `json:"ended,omitempty"`
	// Why it did not stay, empty when it did.
	Why string `json:"why,omitempty"`
	// Canary is the member that had it first.
	Canary string `json:"canary,omitempty"`
}

// Book is all that is kept of one MongoTuning.
type Book struct {
	// History of the changes, oldest first.
	History []Entry
	// Last is the recording of the last change; nil before the first.
	Last *Recording
}

// State is how a change stands, as the status of the object says.
type State struct {
	// Step that Revision has reached, empty while nothing travels; Returning and Returned tell that it is
	// on its way back, or back.
	Step                string
	Revision            string
	Returning, Returned bool
	// Verified is the revision verified last, Failed the one taken back last.
	Verified, Failed string
	// Breach says what stopped it.
	Breach  string
	Canary  string
	Profile string
	// Message says what the step is about.
	Message string
}

// travels tells that the change is on its way, also on its way back.
func (s State) travels() bool {
	return s.Step != "" && !s.Returned && (s.Breach == "" || s.Returning)
}

// Turn brings the book to a state, and tells whether anything had to be written into it. lead is what was
// measured in the time before, nil when nothing was. A book that was brought to a state is not changed by
// the same state again, so a settled cluster is written about no more.
func (b *Book) Turn(state State, lead *Recording, now time.Time) bool {
	changed := false
	if b.Last.IsOpen() && (!state.travels() || b.Last.Revision != state.Revision) {
		b.end(state, now)
		changed = true
	}
	if state.travels() {
		if !b.Last.IsOpen() {
			b.begin(state, lead, now)
			changed = true
		}
		if b.Last.Step() != state.Step {
			b.Last.Mark(Mark{At: now, Kind: MarkStep, Name: state.Step, Text: state.Message})
			changed = true
		}
		if entry := b.open(); entry != nil && entry.Canary == "" && state.Canary != "" {
			entry.Canary = state.Canary
			changed = true
		}
		return changed
	}
	if state.Step == "" && state.Verified != "" && b.verified() != state.Verified {
		b.note(Entry{Revision: state.Verified, Profile: state.Profile, Outcome: Verified, Ended: &now})
		changed = true
	}
	return changed
}

func (b *Book) begin(state State, lead *Recording, now time.Time) {
	b.Last = New(now)
	if lead != nil && !lead.Began.After(now) {
		b.Last = lead.clone()
		b.Last.Marks = nil
	}
	b.Last.Revision, b.Last.From, b.Last.Ended = state.Revision, state.Verified, time.Time{}
	b.note(Entry{Revision: state.Revision, From: state.Verified, Profile: state.Profile, Outcome: Travelling, Began: &now, Canary: state.Canary})
}

func (b *Book) end(state State, now time.Time) {
	outcome, why := outcomeOf(b.Last.Revision, state)
	b.Last.Ended = now
	b.Last.Mark(Mark{At: now, Kind: MarkEnd, Name: string(outcome), Text: why})
	if entry := b.open(); entry != nil {
		entry.Outcome, entry.Why, entry.Ended = outcome, why, &now
	}
}

// outcomeOf is what became of a revision that travels no more.
func outcomeOf(revision string, state State) (Outcome, string) {
	switch {
	case state.Revision == revision && state.Returned:
		return TakenBack, state.Breach
	case state.Revision == revision && state.Breach != "":
		return Paused, state.Breach
	case state.Step == "" && state.Verified == revision:
		return Verified, ""
	case state.Failed == revision:
		return TakenBack, state.Breach
	case state.Step != "":
		return Superseded, "revision " + state.Revision + " was declared"
	default:
		return Withdrawn, "revision " + state.Verified + " was declared again"
	}
}

// open is the entry of the change on its way; nil when there is none.
func (b *Book) open() *Entry {
	for i := range slices.Backward(b.History) {
		if b.History[i].Outcome == Travelling {
			return &b.History[i]
		}
	}
	return nil
}

// verified is the revision that was verified last, by this book.
func (b *Book) verified() string {
	for _, entry := range slices.Backward(b.History) {
		if entry.Outcome == Verified {
			return entry.Revision
		}
	}
	return ""
}

// note adds an entry, and forgets the oldest. That of the revision in force is never forgotten: it would be
// noted anew with every look.
func (b *Book) note(entry Entry) {
	b.History = append(b.History, entry)
	for len(b.History) > MaxEntries {
		inForce := len(b.History)
		for i := range slices.Backward(b.History) {
			if b.History[i].Outcome == Verified {
				inForce = i
				break
			}
		}
		oldest := 0
		if inForce == 0 {
			oldest = 1
		}
		b.History = slices.Delete(b.History, oldest, oldest+1)
	}
}

// longestInterval is how old what people see of a change on its way may become.
const longestInterval = time.Minute

// Interval is the time between two writes of a recording: as often as it gains a point, but at least once
// a minute, for those who watch.
func (r *Recording) Interval() time.Duration { return min(r.Spacing, longestInterval) }
