// SPDX-License-Identifier: Apache-2.0

// Package status turns what was seen, judged and decided into the status of a MongoTuning. It is pure,
// and its output changes only when a fact does: no counters, no live figures, no times of its own.
package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/profile"
)

// Facts are all that a status is made of.
type Facts struct {
	// Now is the time of the look; it becomes the transition time of conditions that change.
	Now time.Time
	// Generation of the spec that was worked on.
	Generation int64
	// Cluster as it was wanted, seen and judged; without replica sets when nothing could be resolved.
	Cluster plan.Cluster
	// Resolved tuning the members are held to, and the name of its revision.
	Resolved profile.Resolved
	Revision string
	// Action that was chosen.
	Action plan.Action
	// Stall is why nothing will change until a person acts, from before a plan was made: a refused
	// spec, an object of somebody else. Nil when there is no such reason.
	Stall *Stall
	// Suspended tells that a person asked for no changes.
	Suspended bool
	// Profile is the name of the profile that is referred to, empty when none is.
	Profile string
}

// progress is what is to be remembered of changes: that of the action when it is a turn that was taken.
func (f Facts) progress() plan.Progress {
	if f.Action.Kind == plan.Turn && f.Stall == nil && !f.Suspended {
		return *f.Action.Progress
	}
	return f.Cluster.Progress
}

// Stall is a reason and a sentence for the condition Stalled.
type Stall struct {
	Reason, Message string
}

// Compute is the status that follows from the facts; old gives the transition times of what stays.
func Compute(old v1alpha1.MongoTuningStatus, facts Facts) v1alpha1.MongoTuningStatus {
	status := *old.DeepCopy()
	status.ObservedGeneration = facts.Generation
	if facts.Stall == nil {
		status.Effective = facts.Resolved.Effective()
		status.Revisions.Current = facts.Revision
	}
	if len(facts.Cluster.ReplicaSets) > 0 {
		status.ReplicaSets = replicaSets(facts.Cluster)
		status.Members = members(facts.Cluster)
		status.ProvedMembers = provedMembers(status.Members)
		status.Breaches = facts.Cluster.Gauges.Breaches()
		recordProgress(&status, facts)
		status.HostTuning = hostTuning(status.HostTuning, facts.Cluster)
		if _, tuned := hostTuned(facts.Cluster); !tuned {
			meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionHostTuned)
		}
	}
	status.Waiting = waiting(old.Waiting, facts)
	for _, condition := range conditions(facts) {
		if condition.Reason == v1alpha1.ReasonFirstSample && meta.IsStatusConditionTrue(status.Conditions, condition.Type) {
			// An operator or a server that has just started has one sample: no news, the next look has two.
			continue
		}
		condition.ObservedGeneration = facts.Generation
		condition.LastTransitionTime = metav1.NewTime(facts.Now)
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	if stallOf(facts) == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
	}
	if stallOf(facts) != nil || facts.Suspended || facts.Action.Kind == plan.Nothing {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	}
	if status.Rollout.Step != v1alpha1.StepReturning && status.Rollout.Step != v1alpha1.StepReturned {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionRolledBack)
	}
	if !facts.Suspended {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionSuspended)
	}
	return status
}

// waiting is what is waited for; a wait for the same reason goes on since when it began.
func waiting(before *v1alpha1.WaitStatus, facts Facts) *v1alpha1.WaitStatus {
	isWait := facts.Action.Kind == plan.Wait || facts.Action.IsOverdue
	switch {
	case !isWait || facts.Stall != nil || facts.Suspended:
		return nil
	case before != nil && before.Reason == facts.Action.Reason:
		return before
	default:
		return &v1alpha1.WaitStatus{Reason: facts.Action.Reason, Since: metav1.NewTime(facts.Now.Truncate(time.Second))}
	}
}

func recordProgress(status *v1alpha1.MongoTuningStatus, facts Facts) {
	progress := facts.progress()
	if progress.Failed != "" && status.Revisions.Failed != progress.Failed {
		status.Revisions.FailedProfile = facts.Profile
	}
	if progress.Failed == "" {
		status.Revisions.FailedProfile = ""
	}
	status.Rollout = progress.Rollout
	status.Revisions.Verified, status.Revisions.Failed = progress.Verified, progress.Failed
	status.Revisions.Previous = progress.Previous
	status.LastHandledRetry = progress.Retried
}

// ProgressOf is what a status remembers of changes.
func ProgressOf(status v1alpha1.MongoTuningStatus) plan.Progress {
	return plan.Progress{
		Rollout: status.Rollout, Verified: status.Revisions.Verified, Failed: status.Revisions.Failed,
		Previous: status.Revisions.Previous, Retried: status.LastHandledRetry,
	}
}

// Settled tells that the revision was in force and proved on every member by the last look, or that
// nothing but drift was being corrected: a value that differs now was changed by hand.
func Settled(status v1alpha1.MongoTuningStatus, revision string) bool {
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || status.Revisions.Current != revision {
		return false
	}
	return ready.Status == metav1.ConditionTrue || ready.Reason == v1alpha1.ReasonCorrectingDrift
}

// stallOf is the reason why nothing will change, whether it was found before or by the plan.
func stallOf(facts Facts) *Stall {
	if facts.Stall != nil {
		return facts.Stall
	}
	if facts.Action.Kind == plan.Stall {
		return &Stall{Reason: facts.Action.Reason, Message: facts.Action.Message}
	}
	return nil
}

func replicaSets(cluster plan.Cluster) []v1alpha1.ReplicaSetStatus {
	sets := make([]v1alpha1.ReplicaSetStatus, 0, len(cluster.ReplicaSets))
	for _, set := range cluster.ReplicaSets {
		status := v1alpha1.ReplicaSetStatus{Name: set.Name, State: replicaSetState(set)}
		if primary := set.Seen.Primary(); primary != nil {
			status.Primary = primary.Name
		}
		sets = append(sets, status)
	}
	return sets
}

func replicaSetState(set plan.ReplicaSet) v1alpha1.ReplicaSetState {
	primary := set.Seen.Primary()
	switch {
	case set.Seen.Listed:
		return v1alpha1.ReplicaSetMember
	case !set.Seen.Initiated() && !set.Seen.UninitiatedWhole():
		return v1alpha1.ReplicaSetBuilding
	case primary == nil || primary.Look.LockedOut:
		return v1alpha1.ReplicaSetInitiating
	case set.Component == v1alpha1.ComponentConfigServer:
		return v1alpha1.ReplicaSetMember
	default:
		return v1alpha1.ReplicaSetAdding
	}
}

func members(cluster plan.Cluster) []v1alpha1.MemberStatus {
	var members []v1alpha1.MemberStatus
	for _, set := range cluster.ReplicaSets {
		for _, seen := range set.Seen.Members {
			members = append(members, member(set, seen))
		}
	}
	return members
}

func member(set plan.ReplicaSet, seen observed.Member) v1alpha1.MemberStatus {
	verdict := set.Verdicts[seen.Name]
	proved, declared := verdict.Proved()
	if verdict.Unknown != "" {
		declared = int32(len(set.Targets[seen.Name].Settings)) //nolint:gosec // bounded by the catalogue
	}
	status := v1alpha1.MemberStatus{
		Name: seen.Name, ReplicaSet: set.Name, Role: Role(seen.Look.State),
		Proved: proved, Declared: declared, PendingRestart: verdict.NeedsRestart(),
	}
	for _, knob := range verdict.Knobs {
		if knob.Verdict == v1alpha1.KnobProved || knob.Verdict == v1alpha1.KnobNotApplicable {
			continue
		}
		status.Mismatches = append(status.Mismatches, v1alpha1.KnobMismatch{
			Knob: knob.Name, Verdict: knob.Verdict,
			Wanted: string(knob.Wanted), Found: string(knob.Found), Evidence: knob.Evidence,
		})
	}
	return status
}

// Role is the role of a member as status says it.
func Role(state observed.State) v1alpha1.MemberRole {
	switch state {
	case observed.StatePrimary:
		return v1alpha1.MemberPrimary
	case observed.StateSecondary:
		return v1alpha1.MemberSecondary
	case observed.StateOther, observed.StateUninitiated:
		return v1alpha1.MemberOther
	case observed.StateUnknown:
		return v1alpha1.MemberUnknown
	default:
		return v1alpha1.MemberUnknown
	}
}

// provedMembers counts the members on which everything that is declared was read back.
func provedMembers(members []v1alpha1.MemberStatus) string {
	proved := 0
	for _, member := range members {
		if member.Declared > 0 && member.Proved == member.Declared && len(member.Mismatches) == 0 {
			proved++
		}
	}
	return fmt.Sprintf("%d/%d", proved, len(members))
}
