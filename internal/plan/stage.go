// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// supervise is what a change on its way asks for before any member is looked at: begin, take back,
// pause. Nothing means that the members come next.
func (c Cluster) supervise() Action {
	if action := c.begin(); action.Kind != Nothing {
		return action
	}
	rollout := c.Progress.Rollout
	if !IsTravelling(rollout.Step) {
		return c.returnSteady()
	}
	if rollout.Breach != "" {
		return Action{Kind: Stall, Reason: v1alpha1.ReasonPaused, Message: "paused, since rollout.onBreach is Pause: " + rollout.Breach}
	}
	if breach := c.broken(); breach.says != "" {
		return c.halt(breach)
	}
	return Action{Kind: Nothing}
}

// goOn is what follows when every member is where the step wants it. Nothing means that no change is on
// its way.
func (c Cluster) goOn() Action {
	rollout := c.Progress.Rollout
	switch rollout.Step {
	case v1alpha1.StepCanary:
		return c.step(v1alpha1.StepCanarySoak, v1alpha1.ReasonCanarySoaking, "watching the canary %s for %s", rollout.Canary, c.Policy.Soak)
	case v1alpha1.StepCanarySoak:
		return c.afterSoak()
	case v1alpha1.StepCanaryLeads:
		return c.handOver()
	case v1alpha1.StepLeadSoak:
		return c.afterLeadSoak()
	case v1alpha1.StepRestOfShard:
		return c.step(v1alpha1.StepOtherShards, v1alpha1.ReasonApplying, "the shard of the canary is done; the other shards follow")
	case v1alpha1.StepOtherShards:
		return c.step(v1alpha1.StepConfigServers, v1alpha1.ReasonApplying, "all shards are done; the config servers follow")
	case v1alpha1.StepConfigServers:
		return c.step(v1alpha1.StepMongos, v1alpha1.ReasonApplying, "all members are done; mongos follows")
	case v1alpha1.StepMongos:
		if action := awaitMongos(c); action.Kind != Nothing {
			return action
		}
		return c.step(v1alpha1.StepVerifying, v1alpha1.ReasonVerifying, "everything runs on revision %s; waiting until all of it is in range", c.Revision)
	case v1alpha1.StepReturning:
		return c.step(v1alpha1.StepReturned, v1alpha1.ReasonRolledBack, "revision %s was taken back; the members run on %s", c.Revision, c.Progress.Verified)
	case v1alpha1.StepReturned:
		return Action{Kind: Stall, Reason: v1alpha1.ReasonRolledBack, Message: fmt.Sprintf(
			"revision %s was taken back to %s: %s. Change the spec, or set the annotation %s=%s to try it again",
			c.Revision, c.Progress.Verified, rollout.Breach, v1alpha1.AnnotationRetry, c.Revision)}
	case v1alpha1.StepVerifying:
		return c.confirm()
	default:
		return Action{Kind: Nothing}
	}
}

// afterSoak is what follows once the canary was watched as a secondary.
func (c Cluster) afterSoak() Action {
	canary := c.Progress.Rollout.Canary
	if action := c.soak(c.Policy.Soak); action.Kind != Nothing {
		return action
	}
	if c.canaryHasToLead() {
		return c.step(v1alpha1.StepCanaryLeads, v1alpha1.ReasonApplying, "the canary %s has to lead its shard next", canary)
	}
	return c.step(v1alpha1.StepRestOfShard, v1alpha1.ReasonApplying, "the canary %s stayed in range; the rest of its shard follows", canary)
}

// afterLeadSoak is what follows once the canary was watched as the primary.
func (c Cluster) afterLeadSoak() Action {
	if action := c.soak(c.Policy.LeadSoak); action.Kind != Nothing {
		return action
	}
	return c.step(v1alpha1.StepRestOfShard, v1alpha1.ReasonApplying,
		"the canary %s stayed in range as primary; the rest of its shard follows", c.Progress.Rollout.Canary)
}

// soak waits until the canary was in range for as long as asked. Time in which nobody watched does not
// count: the watch began when this operator first looked.
func (c Cluster) soak(asked time.Duration) Action {
	canary := c.Progress.Rollout.Canary
	for _, set := range c.ReplicaSets {
		if unknown := set.Health[canary].Unknown; unknown != "" {
			return Action{Kind: Wait, Reason: v1alpha1.ReasonCanarySoaking, Message: "the canary " + canary + " is not known to be in range: " + unknown}
		}
	}
	began := c.stepSince()
	if c.Now.Sub(began) < asked {
		return Action{Kind: Wait, Reason: v1alpha1.ReasonCanarySoaking, Message: fmt.Sprintf("watching the canary %s for %s", canary, asked)}
	}
	return Action{Kind: Nothing}
}

// stepSince is since when the step is watched.
func (c Cluster) stepSince() time.Time {
	if since := c.Progress.Rollout.Since; since != nil && since.After(c.WatchedSince) {
		return since.Time
	}
	return c.WatchedSince
}

// SoakSince is since when the canary is watched as a secondary, zero while it is not.
func (c Cluster) SoakSince() time.Time {
	if c.Progress.Rollout.Step != v1alpha1.StepCanarySoak {
		return time.Time{}
	}
	return c.stepSince()
}

func (c Cluster) canaryHasToLead() bool {
	switch c.Policy.CanaryLeads {
	case v1alpha1.CanaryLeadsAlways:
	case v1alpha1.CanaryLeadsNever:
		return false
	default:
		if !c.Restarts {
			return false
		}
	}
	set, member := c.canary()
	return set.Members > 1 && member.Look.State != observed.StatePrimary
}

func (c Cluster) canary() (ReplicaSet, observed.Member) {
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			if member.Name == c.Progress.Rollout.Canary {
				return set, member
			}
		}
	}
	return ReplicaSet{}, observed.Member{}
}

// handOver asks whoever leads to step down until the canary does. A server hands over to the secondary that
// has caught up first, of several to the one with the lowest id.
func (c Cluster) handOver() Action {
	set, canary := c.canary()
	primary := set.Seen.Primary()
	switch {
	case canary.Look.State == observed.StatePrimary:
		return c.step(v1alpha1.StepLeadSoak, v1alpha1.ReasonCanarySoaking, "the canary %s leads; watching it for %s", canary.Name, c.Policy.LeadSoak)
	case primary == nil:
		return set.action(Wait, v1alpha1.ReasonWaitingForMembers, "replica set %s has no primary", set.Name)
	}
	if gate := set.mayLeave(c, *primary); gate.isClosed() {
		return set.memberAction(Wait, canary, gate.reason, "the canary %s waits to lead: %s", canary.Name, gate.says)
	}
	action := set.stepDown(c, *primary, "asking primary %s to step down, so that the canary %s leads", primary.Name, canary.Name)
	if since := c.Progress.Rollout.Since; since != nil && c.Now.Sub(since.Time) > handOverPatience {
		action.StayAway = longAbsence
	}
	return action
}

// confirm makes the wanted revision the verified one once everything is in range.
func (c Cluster) confirm() Action {
	if c.Progress.Verified == c.Revision {
		return Action{Kind: Nothing}
	}
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			health := set.Health[member.Name]
			if broken := cmp.Or(health.Breach, health.BrokenBefore); broken != "" {
				return set.memberAction(Wait, member, v1alpha1.ReasonVerifying, "waiting until all is in range: %s", broken)
			}
			if health.Unknown != "" {
				return set.memberAction(Wait, member, v1alpha1.ReasonVerifying, "waiting until %s is known to be in range: %s", member.Name, health.Unknown)
			}
		}
	}
	progress := c.Progress
	progress.Previous = progress.Verified
	progress.Rollout, progress.Verified, progress.Failed = v1alpha1.RolloutStatus{}, c.Revision, ""
	return c.turn(progress, v1alpha1.ReasonVerified, "revision %s is in force, proved and in range on every member", c.Revision)
}
