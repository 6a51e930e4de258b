// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// told are the conditions whose turns are told as events, in the order in which they are told. The acts
// in between are told by perform.
var told = []struct {
	condition string
	bad       metav1.ConditionStatus
	action    string
}{
	{v1alpha1.ConditionAvailable, metav1.ConditionFalse, "Observe"},
	{v1alpha1.ConditionVerified, metav1.ConditionFalse, "Verify"},
	{v1alpha1.ConditionHostTuned, metav1.ConditionFalse, "TuneHost"},
	{v1alpha1.ConditionStalled, metav1.ConditionTrue, "Stall"},
	{v1alpha1.ConditionSuspended, metav1.ConditionTrue, "Suspend"},
	{v1alpha1.ConditionReady, metav1.ConditionFalse, "Verify"},
}

// tell writes one event for each condition that turned good or bad. Turns to Unknown are no news, and
// neither is a new wording of the same, nor what another event has told already.
func (r *MongoTuningReconciler) tell(tuning *v1alpha1.MongoTuning, before v1alpha1.MongoTuningStatus) {
	after := tuning.Status
	for _, row := range told {
		is := meta.FindStatusCondition(after.Conditions, row.condition)
		was := meta.FindStatusCondition(before.Conditions, row.condition)
		if is == nil || is.Status == metav1.ConditionUnknown || was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		if is.Status == row.bad {
			if !isBadToldElsewhere(*is, was, after) {
				r.say(tuning, corev1.EventTypeWarning, is.Reason, row.action, is.Message)
			}
		} else if !isGoodToldElsewhere(*is, was, after) {
			r.say(tuning, corev1.EventTypeNormal, is.Reason, row.action, is.Message)
		}
	}
	if isSuspendedIn(before) && !isSuspendedIn(after) {
		r.say(tuning, corev1.EventTypeNormal, v1alpha1.EventResumed, "Resume", "changes are made again")
	}
}

func isSuspendedIn(status v1alpha1.MongoTuningStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionSuspended)
}

// isBadToldElsewhere tells that the turn of a condition to the bad needs no event of its own.
func isBadToldElsewhere(is metav1.Condition, was *metav1.Condition, after v1alpha1.MongoTuningStatus) bool {
	switch is.Type {
	case v1alpha1.ConditionReady:
		return true // Stalled says the same
	case v1alpha1.ConditionStalled:
		// Told by the step that the change went to.
		return is.Reason == v1alpha1.ReasonRolledBack || is.Reason == v1alpha1.ReasonPaused
	case v1alpha1.ConditionVerified:
		// A breach is told as the breach that it is. While work is under way values differ as planned, and
		// drift is told as it is corrected.
		return verify.IsBreachReason(is.Reason) || meta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionReconciling)
	case v1alpha1.ConditionAvailable:
		return was == nil || was.Status != metav1.ConditionTrue // a cluster that is being built was never available
	default:
		return false
	}
}

// isGoodToldElsewhere tells that the turn of a condition to the good needs no event of its own.
func isGoodToldElsewhere(is metav1.Condition, was *metav1.Condition, after v1alpha1.MongoTuningStatus) bool {
	switch is.Type {
	case v1alpha1.ConditionVerified:
		// Good news only where bad news was told.
		isUnderWay := meta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionReconciling)
		return isUnderWay || was == nil || was.Status != metav1.ConditionFalse || verify.IsBreachReason(was.Reason)
	case v1alpha1.ConditionReady:
		// The arrival of a revision is told as that; Ready follows with the next look.
		return was != nil && was.Status == metav1.ConditionUnknown && was.Reason == v1alpha1.ReasonVerified
	default:
		return false
	}
}

// longestNote is what Kubernetes takes as the text of an event. A longer one is refused, and nobody would
// ever hear of it.
const longestNote = 1024

// say writes one event. The recorder takes events about the same state of an object that differ in their
// text only for one, and keeps the first text; so what is told at the same time goes into one event.
func (r *MongoTuningReconciler) say(tuning *v1alpha1.MongoTuning, kind, reason, action string, notes ...string) {
	if len(notes) > 0 {
		r.Recorder.Eventf(tuning, nil, kind, reason, action, "%s", fitting(strings.Join(notes, "; ")))
	}
}

// tellAct tells an act that was carried out, with the object it concerned. Events about different objects are
// never taken for one, so that each member of a change has its own.
func (r *MongoTuningReconciler) tellAct(tuning *v1alpha1.MongoTuning, action plan.Action) {
	related := concerned(tuning.Namespace, action)
	r.Recorder.Eventf(tuning, related, corev1.EventTypeNormal, actReason(action), action.Kind.String(), "%s", fitting(action.Message))
}

// fitting is a text that an event can hold.
func fitting(note string) string {
	if len(note) <= longestNote {
		return note
	}
	const more = "..."
	return strings.ToValidUTF8(note[:longestNote-len(more)], "") + more
}

// concerned is the object that an act is about besides the MongoTuning: a pod, a StatefulSet or a node;
// nil when it is about the whole cluster.
func concerned(namespace string, action plan.Action) runtime.Object {
	switch {
	case action.Member != "":
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: action.Member, UID: types.UID(action.PodUID)}}
	case action.Node != "":
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: action.Node}}
	case action.ReplicaSet != "":
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: action.ReplicaSet}}
	default:
		return nil
	}
}

// tellBreaches tells which gauges left their range for too long, and which are back.
func (r *MongoTuningReconciler) tellBreaches(tuning *v1alpha1.MongoTuning, before []v1alpha1.Breach, gauges verify.ClusterGauges) {
	began := map[string][]string{}
	for _, breach := range newBreaches(before, tuning.Status.Breaches) {
		if judgement, known := gauges.Of(breach.Member).Judgement(breach.Limit); known {
			began[judgement.Reason()] = append(began[judgement.Reason()], judgement.Sentence())
		}
	}
	over := newBreaches(tuning.Status.Breaches, before)
	ended := make([]string, 0, len(over))
	for _, breach := range over {
		ended = append(ended, fmt.Sprintf("%s of %s is back in its range, or no longer held to limit %s", breach.Gauge, breach.Member, breach.Limit))
	}
	for _, reason := range slices.Sorted(maps.Keys(began)) {
		r.say(tuning, corev1.EventTypeWarning, reason, "Verify", began[reason]...)
	}
	r.say(tuning, corev1.EventTypeNormal, v1alpha1.EventBackInRange, "Verify", ended...)
}

// newBreaches are those of after that are not in before.
func newBreaches(before, after []v1alpha1.Breach) []v1alpha1.Breach {
	return slices.DeleteFunc(slices.Clone(after), func(breach v1alpha1.Breach) bool {
		return slices.ContainsFunc(before, func(other v1alpha1.Breach) bool {
			return breach.Limit == other.Limit && breach.Member == other.Member && breach.Since.Equal(&other.Since)
		})
	})
}

// tellWarnings tells what to know about a tuning that was declared anew although it can be declared.
func (r *MongoTuningReconciler) tellWarnings(tuning *v1alpha1.MongoTuning, before v1alpha1.MongoTuningStatus, facts status.Facts) {
	if facts.Stall != nil || before.Revisions.Current == tuning.Status.Revisions.Current {
		return
	}
	for _, warning := range facts.Resolved.Warnings {
		r.Recorder.Eventf(tuning, nil, corev1.EventTypeWarning, v1alpha1.EventTuningWarning, "Resolve", "%s", warning)
	}
}

// tellTurn tells that a change went to its next step, once that is written.
func (r *MongoTuningReconciler) tellTurn(tuning *v1alpha1.MongoTuning, before v1alpha1.MongoTuningStatus, facts status.Facts) {
	if facts.Action.Kind != plan.Turn || facts.Stall != nil || facts.Suspended {
		return
	}
	kind := corev1.EventTypeNormal
	if facts.Action.Progress.Rollout.Breach != "" {
		kind = corev1.EventTypeWarning
	}
	r.say(tuning, kind, turnReason(before, tuning.Status), facts.Action.Kind.String(), facts.Action.Message)
}

// tellDrift tells what was changed by hand: that it was set back, or that it is left and why. What is left
// is told once, when it is found.
func (r *MongoTuningReconciler) tellDrift(tuning *v1alpha1.MongoTuning, before v1alpha1.MongoTuningStatus, facts status.Facts) {
	reason, action, kind := v1alpha1.EventDriftCorrected, "Correct", corev1.EventTypeNormal
	isLeft := facts.Suspended || facts.Action.Kind == plan.Nothing
	if isLeft {
		reason, action, kind = v1alpha1.EventDriftReported, "Leave", corev1.EventTypeWarning
		if facts.Suspended || facts.Action.Reason == v1alpha1.ReasonDriftHeld {
			reason = v1alpha1.EventDriftHeld
		}
	}
	var found []string
	for _, drift := range facts.Action.Drift {
		if !isLeft || !isKnown(before.Members, drift) {
			found = append(found, drift.String())
		}
	}
	r.say(tuning, kind, reason, action, found...)
}

// isKnown tells that a status has the drift already.
func isKnown(members []v1alpha1.MemberStatus, drift plan.Drift) bool {
	for _, member := range members {
		for _, mismatch := range member.Mismatches {
			if member.Name == drift.Member && mismatch.Knob == drift.Knob && mismatch.Found == string(drift.Found) {
				return true
			}
		}
	}
	return false
}
