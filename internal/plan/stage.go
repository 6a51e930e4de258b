// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
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

// Progress is what status remembers of changes.
type Progress struct {
	// Rollout on its way; its Step is empty while there is none.
	Rollout v1alpha1.RolloutStatus
	// Verified is the revision to return to, empty before the first one; Previous the one that was verified
	// before it, Failed the one taken back last.
	Verified, Previous, Failed string
	// Retried is the value of the retry annotation that was handled last.
	Retried string
}

// Reaches tells whether a change that has come to a step concerns a member; others are held to the
// revision verified last.
func Reaches(progress Progress, set desired.ReplicaSet, member string) bool {
	canarySet := strings.HasPrefix(progress.Rollout.Canary, set.Name+"-") && slices.Contains(set.Pods(), progress.Rollout.Canary)
	switch progress.Rollout.Step {
	case v1alpha1.StepReturning, v1alpha1.StepReturned:
		return false
	case v1alpha1.StepCanary, v1alpha1.StepCanarySoak, v1alpha1.StepCanaryLeads, v1alpha1.StepLeadSoak:
		return member == progress.Rollout.Canary
	case v1alpha1.StepRestOfShard:
		return canarySet
	case v1alpha1.StepOtherShards:
		return set.Component == v1alpha1.ComponentShardMember
	case v1alpha1.StepConfigServers, v1alpha1.StepMongos, v1alpha1.StepVerifying:
		return true
	default:
		return false
	}
}

// ReachesMongos tells whether the routers get the change.
func ReachesMongos(progress Progress) bool {
	return progress.Rollout.Step == v1alpha1.StepMongos || progress.Rollout.Step == v1alpha1.StepVerifying
}

// isStaged tells that the wanted revision differs from the verified one, so that it has to travel step
// by step. The first revision does not: there is nothing yet to return to.
func (c Cluster) isStaged() bool {
	return c.Progress.Verified != "" && c.Progress.Verified != c.Revision
}

// turn is a move of the rollout to another step, to be recorded before anything follows from it.
func (c Cluster) turn(progress Progress, reason, format string, args ...any) Action {
	if progress.Rollout.Step != "" {
		since := metav1.NewTime(c.Now.Truncate(time.Second))
		progress.Rollout.Since = &since
	}
	return Action{Kind: Turn, Progress: &progress, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

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

// breach is what stops a change: a reason that programs may compare, and a sentence.
type breach struct {
	reason, says string
}

// broken says what broke on a member that has the change; it says nothing while nothing did.
func (c Cluster) broken() breach {
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			if !set.Targets[member.Name].Changed {
				continue
			}
			if health := set.Health[member.Name]; health.Breach != "" {
				return breach{health.BreachReason, health.Breach}
			}
			if refuses, action := set.refusesConfiguration(member); refuses {
				return breach{action.Reason, action.Message}
			}
			if member.Silent > maxSilence && set.othersServe(member) {
				return breach{v1alpha1.ReasonMemberSilent, fmt.Sprintf(
					"%s does not answer for more than %s while the others of its replica set do (%s)", member.Name, maxSilence, why(member))}
			}
		}
	}
	if c.Worse != "" && c.Progress.Rollout.Step == v1alpha1.StepCanarySoak {
		return breach{v1alpha1.ReasonWorseThanTwins, c.Worse}
	}
	return breach{}
}

// maxSilence is how long a changed member may be silent while the others of its set answer.
const maxSilence = 60 * time.Second

func (s ReplicaSet) othersServe(member observed.Member) bool {
	for _, other := range s.Seen.Members {
		if other.Name != member.Name && !other.Serves() {
			return false
		}
	}
	return true
}

// halt takes a broken change back, or pauses it.
func (c Cluster) halt(breach breach) Action {
	progress := c.Progress
	progress.Rollout.Breach, progress.Rollout.BreachReason = breach.says, breach.reason
	if !c.Policy.Return {
		return c.turn(progress, v1alpha1.ReasonPaused, "pausing revision %s: %s", c.Revision, breach.says)
	}
	progress.Rollout.Step = v1alpha1.StepReturning
	progress.Failed = c.Revision
	return c.turn(progress, v1alpha1.ReasonReturning, "taking revision %s back: %s", c.Revision, breach.says)
}

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

// returnSteady takes the verified revision back to the one verified before it when a limit breaks while
// no change is on its way, where somebody asked for that.
func (c Cluster) returnSteady() Action {
	progress := c.Progress
	if !c.Policy.SteadyReturn || progress.Rollout.Step != "" || progress.Verified != c.Revision || progress.Previous == "" {
		return Action{Kind: Nothing}
	}
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			health := set.Health[member.Name]
			if health.Breach == "" {
				continue
			}
			progress.Rollout = v1alpha1.RolloutStatus{
				Revision: c.Revision, Step: v1alpha1.StepReturning, Breach: health.Breach, BreachReason: health.BreachReason,
			}
			progress.Verified, progress.Previous, progress.Failed = progress.Previous, "", c.Revision
			return c.turn(progress, v1alpha1.ReasonReturning,
				"taking revision %s back to %s, as rollout.onSteadyBreach asks: %s", c.Revision, progress.Verified, health.Breach)
		}
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

func (c Cluster) step(step v1alpha1.RolloutStep, reason, format string, args ...any) Action {
	progress := c.Progress
	progress.Rollout.Step = step
	return c.turn(progress, reason, format, args...)
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

// handOver asks whoever leads to step down until the canary does. A server hands over to the electable
// secondary with the highest priority and then the lowest id, and one that stepped down stays out of
// the next election, so the canary's turn comes.
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
	return set.stepDown(c, *primary, "asking primary %s to step down, so that the canary %s leads", primary.Name, canary.Name)
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
