// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// TestOneMissedLookIsNoNews lets a member that is ready in Kubernetes miss looks: one leaves everything as
// it is written, two are told.
func TestOneMissedLookIsNoNews(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	w.isQuiet()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0-1"}}
	w.get(pod)
	before := w.journal.count()
	w.databases.frozen[string(pod.UID)] = observed.Look{Error: "it does not answer"}
	w.step()
	clear(w.databases.frozen)
	for range 3 {
		w.step()
	}
	if written := w.journal.since(before); len(written) > 0 {
		t.Errorf("one missed look was written: %v", written)
	}
	w.databases.frozen[string(pod.UID)] = observed.Look{Error: "it does not answer"}
	w.step()
	w.step()
	if !conditionIs(w.tuning(), v1alpha1.ConditionReady, metav1.ConditionUnknown) {
		t.Errorf("two missed looks are not told:\n%s", describe(w.tuning()))
	}
	clear(w.databases.frozen)
	w.untilReady()
}
