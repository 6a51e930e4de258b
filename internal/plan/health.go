// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/mongotuning/mongotuning/internal/verify"
)

// Health is how a member's gauges stand to the limits that are enforced.
type Health struct {
	// Breach says which limit is broken, in one sentence; empty while none is.
	Breach string
	// Unknown says what is not known to be in range: what could not be measured, or is out of range and
	// not for long enough yet to be a breach. Empty when all of it is.
	Unknown string
}

// Weigh puts what was measured into the snapshot.
func (c *Cluster) Weigh(gauges verify.ClusterGauges) {
	c.Gauges = gauges
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			set.Health[member.Name] = healthOf(gauges.Of(member.Name))
		}
	}
}

func healthOf(gauges verify.MemberGauges) Health {
	health := Health{}
	if breach := gauges.Breach(); breach != nil {
		health.Breach = breach.Sentence()
	}
	if unknown := gauges.Unknown(); unknown != nil {
		health.Unknown = unknown.UnknownSentence()
	} else if pending := gauges.Pending(); pending != nil {
		health.Unknown = fmt.Sprintf("%s, not yet for %s", pending.Sentence(), pending.For)
	}
	return health
}
