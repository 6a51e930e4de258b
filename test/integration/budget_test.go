// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// TestAClosedBudgetIsWaitedFor shows somebody else disturbing the replica set: the budget is used up, and
// the restart waits without being called a failure.
func TestAClosedBudgetIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	w.kubernetes.budgetsClosed = true
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Tuning = small().Executor(v1alpha1.ServiceExecutorAdaptive).Object().Spec.Tuning
	})
	tuning := w.until("waiting for the budget", func(tuning *v1alpha1.MongoTuning) bool {
		reconciling := meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionReconciling)
		return reconciling != nil && strings.Contains(reconciling.Message, "disruption budget")
	})
	if reason := meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionReconciling).Reason; reason != v1alpha1.ReasonWaitingForBudget {
		t.Errorf("the reason is %s", reason)
	}
	for pod, made := range w.outcome().PodsMade {
		if made != 1 {
			t.Errorf("%s was made %d times against the budget", pod, made)
		}
	}
	if slices.ContainsFunc(w.journal.since(0), func(write string) bool { return strings.HasPrefix(write, "delete Pod") }) {
		t.Error("a pod was deleted past the budget")
	}
	w.kubernetes.budgetsClosed = false
	w.untilReady()
}
