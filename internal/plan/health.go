// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Health is how a member's gauges stand to the limits that are enforced.
type Health struct {
	// Breach says which limit is broken, in one sentence; empty while none is. A limit that was broken
	// before a change began is none of that change's.
	Breach string
	// BreachReason is the same as the reason of a condition.
	BreachReason string
	// Oplog is how far the member's oplog reaches back, 0 while that is not known.
	Oplog time.Duration
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
	health := Health{Oplog: gauges.OplogWindow()}
	for _, judgement := range gauges.Judgements {
		switch {
		case judgement.Verdict != verify.Breached || judgement.Enforcement != v1alpha1.EnforcementEnforce:
		case slices.Contains(before, judgement.Name):
			health.BrokenBefore = judgement.Sentence()
		case health.Breach == "":
			health.Breach, health.BreachReason = judgement.Sentence(), judgement.Reason()
		}
	}
	if unknown := gauges.Unknown(); unknown != nil {
		health.Unknown = unknown.UnknownSentence()
	} else if pending := gauges.Pending(); pending != nil && !slices.Contains(before, pending.Name) {
		health.Unknown = fmt.Sprintf("%s, not yet for %s", pending.Sentence(), pending.For)
	}
	return health
}

// baselineOf is what the canary and its twins, the members of its shard in the same role, showed before
// the change: the gauges that are compared, and those whose limits are broken.
func (c Cluster) baselineOf(canary string) []v1alpha1.MemberBaseline {
	broken := map[v1alpha1.Gauge]bool{}
	for _, member := range c.Gauges.Members {
		for _, judgement := range member.Judgements {
			broken[judgement.Gauge] = broken[judgement.Gauge] || judgement.Verdict == verify.Breached
		}
	}
	var baseline []v1alpha1.MemberBaseline
	for _, set := range c.ReplicaSets {
		if !slices.Contains(set.Pods(), canary) {
			continue
		}
		for _, name := range set.Pods() {
			known := c.Baselines[name]
			if known.Member == "" || known.Role != c.Baselines[canary].Role {
				continue
			}
			known.Gauges = slices.DeleteFunc(slices.Clone(known.Gauges), func(mean v1alpha1.GaugeMean) bool {
				return !verify.IsCompared(mean.Gauge) && !broken[mean.Gauge]
			})
			baseline = append(baseline, known)
		}
	}
	return baseline
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
