// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// begin starts, restarts or ends a staged change when the wanted revision is another one than the one
// on its way. Nothing means that it is not.
func (c Cluster) begin() Action {
	progress := c.Progress
	rollout := progress.Rollout
	switch {
	case c.Retry != "" && c.Retry != progress.Retried && rollout.Revision == c.Revision && (rollout.Breach != ""):
		progress.Rollout, progress.Failed, progress.Retried = v1alpha1.RolloutStatus{}, "", c.Retry
		return c.turn(progress, v1alpha1.ReasonApplying, "trying revision %s again, as the retry annotation asks", c.Revision)
	case !c.isStaged() && rollout.Step != "":
		progress.Rollout = v1alpha1.RolloutStatus{}
		return c.turn(progress, v1alpha1.ReasonApplying, "going back to revision %s, which was verified before", c.Revision)
	case !c.isStaged() || rollout.Revision == c.Revision:
		return Action{Kind: Nothing}
	}
	if c.HeldBack != "" && c.Retry == progress.Retried {
		return Action{Kind: Stall, Reason: v1alpha1.ReasonHeldBack, Message: c.HeldBack}
	}
	// A change that takes the place of another one on its way has begun with it.
	if gate := c.inWindow(); gate.isClosed() && !IsTravelling(rollout.Step) {
		return Action{Kind: Wait, Reason: gate.reason, Message: "a change waits to begin: " + gate.says}
	}
	canary, gate := c.pickCanary()
	if gate.isClosed() {
		return Action{Kind: Wait, Reason: gate.reason, Message: "a change waits to begin: " + gate.says}
	}
	progress.Retried = c.Retry
	// The cure is not forbidden: what is broken already does not speak against a change.
	progress.Rollout = v1alpha1.RolloutStatus{Revision: c.Revision, Step: c.First, BreachedBefore: c.brokenLimits()}
	if c.First != v1alpha1.StepCanary {
		return c.turn(progress, v1alpha1.ReasonApplying, "revision %s changes nothing on shard members and begins with step %s", c.Revision, c.First)
	}
	progress.Rollout.Canary, progress.Rollout.Baseline = canary, c.baselineOf(canary)
	return c.turn(progress, v1alpha1.ReasonApplying, "revision %s goes to the canary %s first", c.Revision, canary)
}

// pickCanary chooses the secondary that a hand-off of the lead will choose: all members have the same
// priority, so it is the one with the lowest id. A set of one member has only its primary. A member that
// the change before has taken down is the canary of the next: it is disturbed already, and the new
// change may be what brings it back. The gate says why nobody can be chosen now.
func (c Cluster) pickCanary() (canary string, gate gate) {
	down := c.takenDown()
	for _, set := range c.ReplicaSets {
		if set.Seen.Primary() == nil {
			return "", closed(v1alpha1.ReasonWaitingForMembers, "replica set %s has no primary", set.Name)
		}
		for _, member := range set.Seen.Members {
			if !member.Serves() && member.Name != down {
				return "", closed(v1alpha1.ReasonWaitingForMembers, "%s does not serve (%s)", member.Name, why(member))
			}
		}
	}
	set := c.ReplicaSets[min(int(c.Policy.CanaryShard), len(c.ReplicaSets)-2)]
	members := set.Seen.Members
	index := max(0, slices.IndexFunc(members, func(member observed.Member) bool { return member.Look.State == observed.StateSecondary }))
	switch {
	case down != "" && c.First == v1alpha1.StepCanary:
		return down, gate
	case c.First != v1alpha1.StepCanary:
		return "", gate
	case c.Now.Sub(c.WatchedSince) < c.BaselineTime:
		return "", closed(v1alpha1.ReasonWaitingForMembers, "the operator has just begun to look; it looks for %s first to know what the members are like", c.BaselineTime)
	}
	if gate := set.canStandIn(members[index]); gate.isClosed() {
		return "", gate
	}
	canary = members[index].Name
	if gate = set.mayLeave(c, members[index]); gate.reason == v1alpha1.ReasonWaitingForOplog && !c.Restarts {
		// What is set online takes nobody away.
		gate = openGate
	}
	return canary, gate
}

// takenDown is the member that a change on its way has reached and that does not serve, empty when there
// is none. Were it a config server, a change of shard members waits for it.
func (c Cluster) takenDown() string {
	if !IsTravelling(c.Progress.Rollout.Step) {
		return ""
	}
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			isShard := set.Component == v1alpha1.ComponentShardMember
			if !member.Serves() && set.Targets[member.Name].Changed && isShard == (c.First == v1alpha1.StepCanary) {
				return member.Name
			}
		}
	}
	return ""
}
