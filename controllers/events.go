// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	{v1alpha1.ConditionStalled, metav1.ConditionTrue, "Stall"},
	{v1alpha1.ConditionSuspended, metav1.ConditionTrue, "Suspend"},
	{v1alpha1.ConditionReady, metav1.ConditionFalse, "Verify"},
}

// tell writes one event for each condition that turned good or bad. Turns to Unknown are no news, and
// neither is a new wording of the same.
func (r *MongoTuningReconciler) tell(tuning *v1alpha1.MongoTuning, before, after []metav1.Condition) {
	for _, row := range told {
		is := meta.FindStatusCondition(after, row.condition)
		was := meta.FindStatusCondition(before, row.condition)
		if is == nil || is.Status == metav1.ConditionUnknown {
			continue
		}
		if row.condition == v1alpha1.ConditionReady && is.Status == row.bad {
			continue // Stalled says the same
		}
		if was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		if row.condition == v1alpha1.ConditionVerified && is.Status == row.bad && verify.IsBreachReason(is.Reason) {
			continue // told as the breach that it is
		}
		if row.condition == v1alpha1.ConditionAvailable && is.Status == row.bad && (was == nil || was.Status != metav1.ConditionTrue) {
			continue // a cluster that is being built was never available
		}
		kind := corev1.EventTypeNormal
		if is.Status == row.bad {
			kind = corev1.EventTypeWarning
		}
		r.say(tuning, kind, is.Reason, row.action, is.Message)
	}
}

// longestNote is what Kubernetes takes as the text of an event. A longer one is refused, and nobody would
// ever hear of it.
const longestNote = 1024

// say writes one event. The recorder takes events about the same state of an object that differ in their
// text only for one, and keeps the first text; so what is told at the same time goes into one event.
func (r *MongoTuningReconciler) say(tuning *v1alpha1.MongoTuning, kind, reason, action string, notes ...string) {
	if len(notes) == 0 {
		return
	}
	note := strings.Join(notes, "; ")
	if len(note) > longestNote {
		const more = "..."
		note = strings.ToValidUTF8(note[:longestNote-len(more)], "") + more
	}
	r.Recorder.Eventf(tuning, nil, kind, reason, action, "%s", note)
}

// tellBreaches tells which gauges left their range for too long, and which are back.
func (r *MongoTuningReconciler) tellBreaches(tuning *v1alpha1.MongoTuning, before []v1alpha1.Breach, gauges verify.ClusterGauges) {
	after := tuning.Status.Breaches
	same := func(breach v1alpha1.Breach) func(v1alpha1.Breach) bool {
		return func(other v1alpha1.Breach) bool {
			return breach.Limit == other.Limit && breach.Member == other.Member && breach.Since.Equal(&other.Since)
		}
	}
	var reasons []string
	sentences := map[string][]string{}
	for _, breach := range after {
		judgement, known := gauges.Of(breach.Member).Judgement(breach.Limit)
		if known && !slices.ContainsFunc(before, same(breach)) {
			reason := judgement.Reason()
			if sentences[reason] == nil {
				reasons = append(reasons, reason)
			}
			sentences[reason] = append(sentences[reason], judgement.Sentence())
		}
	}
	for _, reason := range reasons {
		r.say(tuning, corev1.EventTypeWarning, reason, "Verify", sentences[reason]...)
	}
	var back []string
	for _, breach := range before {
		if !slices.ContainsFunc(after, same(breach)) {
			back = append(back, fmt.Sprintf("%s of %s is back in its range, or no longer held to limit %s", breach.Gauge, breach.Member, breach.Limit))
		}
	}
	r.say(tuning, corev1.EventTypeNormal, v1alpha1.EventBackInRange, "Verify", back...)
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
func (r *MongoTuningReconciler) tellTurn(tuning *v1alpha1.MongoTuning, facts status.Facts) {
	if facts.Action.Kind != plan.Turn || facts.Stall != nil || facts.Suspended {
		return
	}
	kind := corev1.EventTypeNormal
	if facts.Action.Progress.Rollout.Breach != "" {
		kind = corev1.EventTypeWarning
	}
	r.say(tuning, kind, facts.Action.Reason, facts.Action.Kind.String(), facts.Action.Message)
}

// tellDrift tells what was changed by hand: that it was set back, or that it is left and why. What is
// left is told once, when the condition Verified turns.
func (r *MongoTuningReconciler) tellDrift(tuning *v1alpha1.MongoTuning, before v1alpha1.MongoTuningStatus, facts status.Facts) {
	reason, action, kind := v1alpha1.EventDriftCorrected, "Correct", corev1.EventTypeNormal
	if facts.Suspended || facts.Action.Kind == plan.Nothing {
		if meta.IsStatusConditionFalse(before.Conditions, v1alpha1.ConditionVerified) {
			return
		}
		reason, action, kind = v1alpha1.EventDriftReported, "Leave", corev1.EventTypeWarning
		if facts.Suspended || facts.Action.Reason == v1alpha1.ReasonDriftHeld {
			reason = v1alpha1.EventDriftHeld
		}
	}
	var found []string
	for _, drift := range facts.Action.Drift {
		found = append(found, drift.String())
	}
	r.say(tuning, kind, reason, action, found...)
}
