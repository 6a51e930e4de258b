// SPDX-License-Identifier: Apache-2.0

// Package verify judges what was observed: knob by knob whether the declared value is in force in the
// running process. No answer is Unknown, and Unknown is never good. The package is pure.
package verify

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// Cure is what brings a knob that differs to the wanted value.
type Cure int

// The cures.
const (
	// NoCure is for a knob that does not differ, and for one that neither setting nor a restart would
	// change: the process was started with the wanted value and still reports another.
	NoCure Cure = iota
	// Setting means sending the value to the running process.
	Setting
	// Restarting means that only a new process takes the value.
	Restarting
)

// Knob is the judgement over one knob on one member.
type Knob struct {
	catalog.Knob
	Verdict v1alpha1.KnobVerdict
	// Cure for the difference, if there is one.
	Cure Cure
	// Wanted is the declared value, or the server's default for a knob nobody declares; empty when that
	// default is not known.
	Wanted catalog.Value
	// Declared tells that somebody declares the knob.
	Declared bool
	// Found is what the process reports; empty when it reports nothing.
	Found catalog.Value
	// Evidence says where Found was read, or why nothing was.
	Evidence string
}

// Knobs judges every knob of a member. Undeclared knobs are held to the server's default, so that a
// value which was declared once, or set by hand, does not stay in force unseen; of these only the ones
// that differ are returned. fileIsCurrent tells that the member's file holds the declared values, so
// that a difference in a knob that takes a restart is waiting for one.
func Knobs(component v1alpha1.Component, settings catalog.Settings, fileIsCurrent bool, process catalog.Process) []Knob { //nolint:revive // a fact about the member, not a mode
	var judged []Knob
	for _, row := range catalog.KnobsOn(component, process.Version.Line()) {
		if row.DerivedInto != "" {
			continue
		}
		wanted, declared := settings[row.Name]
		if !declared {
			wanted = row.Default
		}
		var knob Knob
		if wanted == "" {
			knob = judgeLeftover(row, process)
		} else {
			knob = judgeKnob(row, wanted, process)
		}
		if knob.differs() && knob.Cure != Setting && !fileIsCurrent {
			// A restart now would bring the old file's value back; the file comes first.
			knob.Verdict, knob.Cure = v1alpha1.KnobMismatched, Restarting
		}
		knob.Declared = declared
		if declared || knob.differs() {
			judged = append(judged, knob)
		}
	}
	return judged
}

func judgeKnob(row catalog.Knob, wanted catalog.Value, process catalog.Process) Knob {
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
	case !row.NeedsRestart():
		knob.Verdict, knob.Cure = v1alpha1.KnobMismatched, Setting
	case !row.Same(wanted, row.StartedWith(process)):
		knob.Verdict, knob.Cure = v1alpha1.KnobPendingRestart, Restarting
	default:
		knob.Verdict = v1alpha1.KnobMismatched
	}
	return knob
}

// judgeLeftover judges a knob that nobody declares and whose default is not known: the process must not
// have been started with a value of its own. Only a new process returns to the default.
func judgeLeftover(row catalog.Knob, process catalog.Process) Knob {
	knob := Knob{Knob: row, Found: row.StartedWith(process)}
	if knob.Found == "" || !row.ReturnsByRestart() {
		return knob
	}
	knob.Evidence = "getCmdLineOpts; nobody declares it any more"
	knob.Verdict, knob.Cure = v1alpha1.KnobPendingRestart, Restarting
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
	return len(m.curedBy(Restarting)) > 0
}

// NeedsSetting tells that a knob differs which can be set online.
func (m Member) NeedsSetting() bool {
	return len(m.curedBy(Setting)) > 0
}

// Settable names the knobs that differ and can be set online.
func (m Member) Settable() []string {
	return m.curedBy(Setting)
}

func (m Member) curedBy(cure Cure) []string {
	var names []string
	for _, knob := range m.Knobs {
		if knob.Cure == cure {
			names = append(names, knob.Name)
		}
	}
	return names
}

// Stuck is the first knob that differs although the process was started with the declared value, so
// that neither a restart nor anything else the operator does would help; nil when there is none.
func (m Member) Stuck() *Knob {
	for i, knob := range m.Knobs {
		if knob.differs() && knob.Cure == NoCure {
			return &m.Knobs[i]
		}
	}
	return nil
}

func (k Knob) differs() bool {
	return k.Verdict == v1alpha1.KnobMismatched || k.Verdict == v1alpha1.KnobPendingRestart
}

// Reports tells that the process reports a value for a knob, however it is spelled.
func (m Member) Reports(name string, value catalog.Value) bool {
	for _, knob := range m.Knobs {
		if knob.Name == name {
			return knob.Same(value, knob.Found)
		}
	}
	return false
}
