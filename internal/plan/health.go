// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Health is how a member's gauges stand to the limits that are enforced.
type Health struct {
	// Breach says which limit is broken, in one sentence; empty while none is. A limit that was broken
	// before a change began is none of that change's.
	Breach string
	// BrokenBefore says the same of such a limit.
	BrokenBefore string
	// Unknown says what is not known to be in range: what could not be measured, or is out of range and
	// not for long enough yet to be a breach. Empty when all of it is.
	Unknown string
}

// Weigh puts what was measured into the snapshot.
func (c *Cluster) Weigh(gauges verify.ClusterGauges) {
	c.Gauges = gauges
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			set.Health[member.Name] = healthOf(gauges.Of(member.Name), c.Progress.Rollout.BreachedBefore)
		}
	}
}

func healthOf(gauges verify.MemberGauges, before []string) Health {
	health := Health{}
	for _, judgement := range gauges.Judgements {
		switch {
		case judgement.Verdict != verify.Breached || judgement.Enforcement != v1alpha1.EnforcementEnforce:
		case slices.Contains(before, judgement.Name):
			health.BrokenBefore = judgement.Sentence()
		case health.Breach == "":
			health.Breach = judgement.Sentence()
		}
	}
	if unknown := gauges.Unknown(); unknown != nil {
		health.Unknown = unknown.UnknownSentence()
	} else if pending := gauges.Pending(); pending != nil && !slices.Contains(before, pending.Name) {
		health.Unknown = fmt.Sprintf("%s, not yet for %s", pending.Sentence(), pending.For)
	}
	return health
}

// brokenLimits are the names of the limits that are broken anywhere in the cluster.
func (c Cluster) brokenLimits() []string {
	var names []string
	for _, member := range c.Gauges.Members {
		for _, judgement := range member.Judgements {
			if judgement.Verdict == verify.Breached && judgement.Enforcement == v1alpha1.EnforcementEnforce {
				names = append(names, judgement.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
