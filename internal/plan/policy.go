// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Policy is how a change travels, with every default filled in.
type Policy struct {
	// CanaryShard is the index of the shard whose secondary goes first.
	CanaryShard int32
	// Soak is how long the canary is held under watch, LeadSoak how long as the primary.
	Soak, LeadSoak time.Duration
	// CanaryLeads says when the canary has to lead before the change spreads.
	CanaryLeads v1alpha1.CanaryLeads
	// Return tells whether a breach takes the change back rather than pausing it, SteadyReturn whether one
	// outside of a change takes the verified revision back.
	Return, SteadyReturn bool
	// AllowedWorsening is by how many percent a canary may be worse than before and than its twins.
	AllowedWorsening float64
	// Shards is how many shards get a change at the same time.
	Shards int
	// WaitDeadline is how long a change may wait at a closed gate before that is a stall.
	WaitDeadline time.Duration
}

// defaultSoak is how long a canary is watched when nobody says: long enough for a few checkpoints and
// evictions under ordinary load.
const defaultSoak = 300 * time.Second

const (
	// defaultWorsening lets ordinary differences between members pass, and no doubling.
	defaultWorsening = 50
	// defaultWaitDeadline is longer than a large member takes to recover and to catch up.
	defaultWaitDeadline = 30 * time.Minute
)

// PolicyOf fills in the defaults of a spec.
func PolicyOf(spec *v1alpha1.RolloutSpec) Policy {
	policy := Policy{
		Soak: defaultSoak, LeadSoak: defaultSoak, CanaryLeads: v1alpha1.CanaryLeadsWhenRestarting, Return: true,
		AllowedWorsening: defaultWorsening, Shards: 1, WaitDeadline: defaultWaitDeadline,
	}
	if spec == nil {
		return policy
	}
	if canary := spec.Canary; canary != nil {
		if canary.ShardIndex != nil {
			policy.CanaryShard = *canary.ShardIndex
		}
		if canary.SoakSeconds != nil {
			policy.Soak = time.Duration(*canary.SoakSeconds) * time.Second
		}
	}
	if spec.LeadSoakSeconds != nil {
		policy.LeadSoak = time.Duration(*spec.LeadSoakSeconds) * time.Second
	}
	if spec.CanaryLeads != "" {
		policy.CanaryLeads = spec.CanaryLeads
	}
	if spec.AllowedWorseningPercent != nil {
		policy.AllowedWorsening = float64(*spec.AllowedWorseningPercent)
	}
	if spec.MaxShardsInParallel != nil {
		policy.Shards = int(*spec.MaxShardsInParallel)
	}
	if spec.WaitDeadlineSeconds != nil {
		policy.WaitDeadline = time.Duration(*spec.WaitDeadlineSeconds) * time.Second
	}
	policy.Return = spec.OnBreach != v1alpha1.OnBreachPause
	policy.SteadyReturn = spec.OnSteadyBreach == v1alpha1.OnSteadyBreachRollback
	return policy
}
