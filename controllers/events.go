// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
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
		if was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		if row.condition == v1alpha1.ConditionAvailable && is.Status == row.bad && (was == nil || was.Status != metav1.ConditionTrue) {
			continue // a cluster that is being built was never available
		}
		kind := corev1.EventTypeNormal
		if is.Status == row.bad {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(tuning, nil, kind, is.Reason, row.action, "%s", is.Message)
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
	r.Recorder.Eventf(tuning, nil, kind, facts.Action.Reason, facts.Action.Kind.String(), "%s", facts.Action.Message)
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
		if facts.Suspended {
			reason = v1alpha1.EventDriftHeld
		}
	}
	for _, drift := range facts.Action.Drift {
		r.Recorder.Eventf(tuning, nil, kind, reason, action, "%s", drift.String())
	}
}
