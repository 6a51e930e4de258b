// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

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
