// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
)

func TestWaitsAreToldWithTheirBeginning(t *testing.T) {
	at := func(now time.Time, kind plan.Kind, reason, message string) status.Facts {
		facts := facts(inForce())
		facts.Now, facts.Action = now, plan.Action{Kind: kind, Reason: reason, Message: message}
		return facts
	}
	old := v1alpha1.MongoTuningStatus{}
	waits := status.Compute(old, at(noon, plan.Wait, v1alpha1.ReasonWaitingForMembers, "a is 11 s behind"))
	if waits.Waiting == nil || waits.Waiting.Reason != v1alpha1.ReasonWaitingForMembers || !waits.Waiting.Since.Time.Equal(noon) {
		t.Fatalf("waiting is %+v", waits.Waiting)
	}
	later := status.Compute(waits, at(evening, plan.Wait, v1alpha1.ReasonWaitingForMembers, "a is 30 s behind"))
	if !later.Waiting.Since.Time.Equal(noon) {
		t.Errorf("the same wait began at %s", later.Waiting.Since)
	}
	other := status.Compute(later, at(evening, plan.Wait, v1alpha1.ReasonWaitingForOplog, "the oplog is short"))
	if !other.Waiting.Since.Time.Equal(evening) {
		t.Errorf("another wait began at %s", other.Waiting.Since)
	}
	overdue := at(evening, plan.Wait, v1alpha1.ReasonWaitingForMembers, "a is 30 s behind")
	overdue.Action = plan.Overdue(overdue.Action, later.Waiting, evening, time.Hour)
	stalled := status.Compute(later, overdue)
	if line(stalled.Conditions, v1alpha1.ConditionStalled) != "True WaitingForMembers" || !stalled.Waiting.Since.Time.Equal(noon) {
		t.Errorf("a wait that lasts is %q since %+v", line(stalled.Conditions, v1alpha1.ConditionStalled), stalled.Waiting)
	}
	on := status.Compute(stalled, at(evening, plan.Restart, v1alpha1.ReasonRestarting, "restarting a"))
	if on.Waiting != nil || line(on.Conditions, v1alpha1.ConditionStalled) != "" {
		t.Errorf("what goes on still waits: %+v, %q", on.Waiting, line(on.Conditions, v1alpha1.ConditionStalled))
	}
	if settled := status.Compute(on, facts(inForce())); settled.Waiting != nil {
		t.Errorf("a settled cluster waits for %+v", settled.Waiting)
	}
	if held := status.Compute(waits, suspended(at(evening, plan.Wait, v1alpha1.ReasonWaitingForMembers, ""))); held.Waiting != nil {
		t.Errorf("a suspended cluster waits for %+v", held.Waiting)
	}
}
