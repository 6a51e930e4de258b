// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// Drift is one value that was proved and then changed by hand on a running member.
type Drift struct {
	Member, Knob  string
	Wanted, Found catalog.Value
}

// String is the drift in a few words.
func (d Drift) String() string {
	return fmt.Sprintf("%s on %s: found %q, declared is %q", d.Knob, d.Member, d.Found, d.Wanted)
}

// drift lists what differs on one member although the tuning was settled: a change that the operator
// makes itself is not settled until it has reached every member.
func (s ReplicaSet) drift(member string) []Drift {
	verdict := s.Verdicts[member]
	settable := map[string]bool{}
	for _, name := range verdict.Settable() {
		settable[name] = true
	}
	var drifted []Drift
	for _, knob := range verdict.Knobs {
		if settable[knob.Name] {
			drifted = append(drifted, Drift{Member: member, Knob: knob.Name, Wanted: knob.Wanted, Found: knob.Found})
		}
	}
	return drifted
}

// leavesDrift tells that what was changed by hand is not set back: somebody asked for that, or a limit is
// breached, and then it may be what on-call does against it.
func (c Cluster) leavesDrift() bool {
	return c.Settled && (c.ReportDrift || c.Gauges.Breach() != nil)
}

// driftReason is why drift is left alone, as a condition reason and at the end of a sentence.
func (c Cluster) driftReason() (reason, why string) {
	if c.ReportDrift {
		return v1alpha1.ReasonDriftReported, "by driftPolicy Report"
	}
	return v1alpha1.ReasonDriftHeld, "while limit " + c.Gauges.Breach().Name + " is breached"
}

// drifted lists the drift of every member.
func (c Cluster) drifted() []Drift {
	if !c.Settled {
		return nil
	}
	var drifted []Drift
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			drifted = append(drifted, set.drift(member.Name)...)
		}
	}
	return drifted
}
