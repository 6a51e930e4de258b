// SPDX-License-Identifier: Apache-2.0

// Package verify judges what was observed: knob by knob whether the declared value is in force in the
// running process. No answer is Unknown, and Unknown is never good. The package is pure.
package verify

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// Knob is the judgement over one knob on one member.
type Knob struct {
	catalog.Knob
	Verdict v1alpha1.KnobVerdict
	// Wanted is the declared value, or the server's default for a knob nobody declares.
	Wanted catalog.Value
	// Declared tells that somebody declares the knob.
	Declared bool
	// Found is what the process reports; empty when it reports nothing.
	Found catalog.Value
	// Evidence says where Found was read, or why nothing was.
	Evidence string
	// Stuck tells that the process was started with the wanted value and still reports another.
	Stuck bool
}

// Knobs judges every knob of a member. Undeclared knobs are held to the server's default, so that a
// value which was declared once, or set by hand, does not stay in force unseen; of these only the ones
// that differ are returned. fileIsCurrent tells that the member's file holds the declared values, so
// that a difference in a knob that takes a restart is waiting for one.
func Knobs(component v1alpha1.Component, settings catalog.Settings, fileIsCurrent bool, process catalog.Process) []Knob {
	var judged []Knob
	for _, row := range catalog.KnobsOn(component, process.Version.Line()) {
		if row.DerivedInto != "" {
			continue
		}
		wanted, declared := settings[row.Name]
		if !declared {
			wanted = row.Default
		}
		if wanted == "" {
			continue
		}
		knob := judgeKnob(row, wanted, fileIsCurrent, process)
		knob.Declared = declared
		if declared || knob.differs() {
			judged = append(judged, knob)
		}
	}
	return judged
}

func judgeKnob(row catalog.Knob, wanted catalog.Value, fileIsCurrent bool, process catalog.Process) Knob {
	reading := row.Read(process)
	knob := Knob{Knob: row, Wanted: wanted, Found: reading.Value, Evidence: reading.Evidence}
	switch {
	case !row.HasEffect():
		knob.Verdict, knob.Evidence = v1alpha1.KnobNotApplicable, row.Note
	case reading.Unanswered:
		knob.Verdict = v1alpha1.KnobUnknown
	case !reading.Found:
		knob.Verdict = v1alpha1.KnobUnverifiable
	case row.Same(wanted, knob.Found):
		knob.Verdict = v1alpha1.KnobProved
	case row.NeedsRestart() && fileIsCurrent && !row.Same(wanted, row.StartedWith(process)):
		knob.Verdict = v1alpha1.KnobPendingRestart
	default:
		knob.Verdict = v1alpha1.KnobMismatched
		knob.Stuck = row.NeedsRestart() && fileIsCurrent
	}
	return knob
}

// Member is the judgement over all knobs of one member.
type Member struct {
	Knobs []Knob
	// Unknown says why nothing could be judged; empty when the member answered.
	Unknown string
}

// Proved counts the declared knobs that were read back, of all that are declared and have an effect.
func (m Member) Proved() (proved, declared int32) {
	for _, knob := range m.Knobs {
		if !knob.Declared || knob.Verdict == v1alpha1.KnobNotApplicable {
			continue
		}
		declared++
		if knob.Verdict == v1alpha1.KnobProved {
			proved++
		}
	}
	return proved, declared
}

// InForce tells that the member answered and no knob stands in the way: everything is proved, or no
// version shows it.
func (m Member) InForce() bool {
	if m.Unknown != "" {
		return false
	}
	for _, knob := range m.Knobs {
		if knob.differs() || knob.Verdict == v1alpha1.KnobUnknown {
			return false
		}
	}
	return true
}

// NeedsRestart tells that a knob differs which a new process would take.
func (m Member) NeedsRestart() bool {
	for _, knob := range m.Knobs {
		if knob.differs() && knob.NeedsRestart() && !knob.Stuck {
			return true
		}
	}
	return false
}

// NeedsSetting tells that a knob differs which can be set online.
func (m Member) NeedsSetting() bool {
	return len(m.Settable()) > 0
}

// Settable names the knobs that differ and can be set online.
func (m Member) Settable() []string {
	var names []string
	for _, knob := range m.Knobs {
		if knob.differs() && !knob.NeedsRestart() {
			names = append(names, knob.Name)
		}
	}
	return names
}

// Stuck is the first knob that differs although the process was started with the declared value, so
// that neither a restart nor anything else the operator does would help; nil when there is none.
func (m Member) Stuck() *Knob {
	for i := range m.Knobs {
		if m.Knobs[i].Stuck {
			return &m.Knobs[i]
		}
	}
	return nil
}

func (k Knob) differs() bool {
	return k.Verdict == v1alpha1.KnobMismatched || k.Verdict == v1alpha1.KnobPendingRestart
}
