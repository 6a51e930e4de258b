// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
)

// having is a status with conditions, each as "Type=Status Reason".
func having(conditions ...string) v1alpha1.MongoTuningStatus {
	var status v1alpha1.MongoTuningStatus
	for _, text := range conditions {
		name, rest, _ := strings.Cut(text, "=")
		value, reason, _ := strings.Cut(rest, " ")
		status.Conditions = append(status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionStatus(value), Reason: reason, Message: "said"})
	}
	return status
}

// expectTold holds what is told to the events that are wanted, each as "Type Reason text".
func expectTold(t *testing.T, want []string, tell func(*MongoTuningReconciler)) {
	t.Helper()
	recorder := events.NewFakeRecorder(10)
	tell(&MongoTuningReconciler{Recorder: recorder})
	close(recorder.Events)
	var got []string
	for event := range recorder.Events {
		got = append(got, event)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestWhatTurnsOfConditionsAreTold is what makes the events of a change readable: each turn once, and no
// warning about what is as planned.
func TestWhatTurnsOfConditionsAreTold(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after v1alpha1.MongoTuningStatus
		want          []string
	}{
		{"a cluster that is being built is not unavailable", having(), having("Available=False NoPrimary"), nil},
		{"a cluster that was available and is not", having("Available=True AllMembersServe"), having("Available=False NoPrimary"), []string{"Warning NoPrimary said"}},
		{"and is again", having("Available=False NoPrimary"), having("Available=True AllMembersServe"), []string{"Normal AllMembersServe said"}},
		{
			"a value that differs because a change is on its way", having("Verified=True Verified"),
			having("Verified=False KnobMismatch", "Reconciling=True Applying"), nil,
		},
		{"a value that differs and is left", having("Verified=True Verified"), having("Verified=False KnobMismatch"), []string{"Warning KnobMismatch said"}},
		{"and is as declared again", having("Verified=False KnobMismatch"), having("Verified=True Verified"), []string{"Normal Verified said"}},
		{"a breach is told as one", having("Verified=True Verified"), having("Verified=False DirtyCacheAboveLimit"), nil},
		{"and so is its end", having("Verified=False DirtyCacheAboveLimit"), having("Verified=True Verified"), nil},
		{"known again", having("Verified=Unknown MembersUnknown"), having("Verified=True Verified"), nil},
		{
			"a revision that has arrived is told as that", having("Ready=Unknown Verified", "Verified=True Verified"),
			having("Ready=True Verified", "Verified=True Verified"), nil,
		},
		{"a member that was away is back", having("Ready=Unknown WaitingForMembers"), having("Ready=True Verified"), []string{"Normal Verified said"}},
		{"a refused spec", having("Ready=True Verified"), having("Ready=False ProfileNotFound", "Stalled=True ProfileNotFound"), []string{"Warning ProfileNotFound said"}},
		{"a spec that is refused no more", having("Ready=False ProfileNotFound", "Stalled=True ProfileNotFound"), having("Ready=True Verified"), []string{"Normal Verified said"}},
		{"a return is told by its step", having("Ready=Unknown Returning"), having("Ready=False RolledBack", "Stalled=True RolledBack"), nil},
		{"so is a pause", having("Ready=Unknown CanarySoaking"), having("Ready=False Paused", "Stalled=True Paused"), nil},
		{"suspended", having("Ready=True Verified"), having("Ready=True Verified", "Suspended=True SuspendedByUser"), []string{"Warning SuspendedByUser said"}},
		{"resumed", having("Suspended=True SuspendedByUser"), having(), []string{"Normal Resumed changes are made again"}},
		{"a new wording of the same", having("Stalled=True Forbidden"), having("Stalled=True Forbidden"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			expectTold(t, row.want, func(r *MongoTuningReconciler) { r.tell(&v1alpha1.MongoTuning{Status: row.after}, row.before) })
		})
	}
}

// TestEventsNameTheObjectTheyConcern keeps the events of two members apart, which the recorder would
// otherwise take for one and show with the text of the first.
func TestEventsNameTheObjectTheyConcern(t *testing.T) {
	for name, row := range map[string]struct {
		action plan.Action
		want   string
	}{
		"a member":          {plan.Action{Kind: plan.Restart, ReplicaSet: "demo-shard-0", Member: "demo-shard-0-1", PodUID: "1234"}, "*v1.Pod demo-shard-0-1"},
		"a replica set":     {plan.Action{Kind: plan.Initiate, ReplicaSet: "demo-shard-0"}, "*v1.StatefulSet demo-shard-0"},
		"a node":            {plan.Action{Kind: plan.TuneHost, Node: "node-1"}, "*v1.Node node-1"},
		"the whole cluster": {plan.Action{Kind: plan.CreateApp}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := concerned("shop", row.action)
			got := ""
			if named, ok := object.(metav1.Object); ok {
				got = strings.TrimSpace(typeName(object) + " " + named.GetName())
			}
			if got != row.want {
				t.Errorf("concerned is %q, want %q", got, row.want)
			}
		})
	}
}

func typeName(object runtime.Object) string { return fmt.Sprintf("%T", object) }

// TestDriftThatIsLeftIsToldOnce lets somebody change a value by hand while a limit is breached, so that
// Verified has turned before, and while changes are suspended.
func TestDriftThatIsLeftIsToldOnce(t *testing.T) {
	drift := []plan.Drift{{Member: "demo-shard-0-0", Knob: "cacheSizeGB", Wanted: "0.25", Found: "0.5"}}
	breached := having("Verified=False DirtyCacheAboveLimit")
	known := having("Verified=False DirtyCacheAboveLimit")
	known.Members = []v1alpha1.MemberStatus{{Name: "demo-shard-0-0", Mismatches: []v1alpha1.KnobMismatch{{Knob: "cacheSizeGB", Verdict: v1alpha1.KnobMismatched, Wanted: "0.25", Found: "0.5"}}}}
	other := *known.DeepCopy()
	other.Members[0].Mismatches[0].Found = "0.4"
	const told = `cacheSizeGB on demo-shard-0-0: found "0.5", declared is "0.25"`
	held := status.Facts{Action: plan.Action{Kind: plan.Nothing, Reason: v1alpha1.ReasonDriftHeld, Drift: drift}}
	for _, row := range []struct {
		name   string
		before v1alpha1.MongoTuningStatus
		facts  status.Facts
		want   []string
	}{
		{"a value changed while a limit is breached", breached, held, []string{"Warning DriftHeld " + told}},
		{"it is known already", known, held, nil},
		{"it was changed again", other, held, []string{"Warning DriftHeld " + told}},
		{
			"a value changed while changes are suspended", breached,
			status.Facts{Suspended: true, Action: plan.Action{Kind: plan.SetParameters, Drift: drift}}, []string{"Warning DriftHeld " + told},
		},
		{
			"one that driftPolicy leaves", having("Verified=True Verified"),
			status.Facts{Action: plan.Action{Kind: plan.Nothing, Reason: v1alpha1.ReasonDriftReported, Drift: drift}}, []string{"Warning DriftReported " + told},
		},
		{"one that is set back", known, status.Facts{Action: plan.Action{Kind: plan.SetParameters, Drift: drift}}, []string{"Normal DriftCorrected " + told}},
	} {
		t.Run(row.name, func(t *testing.T) {
			expectTold(t, row.want, func(r *MongoTuningReconciler) { r.tellDrift(&v1alpha1.MongoTuning{}, row.before, row.facts) })
		})
	}
}
