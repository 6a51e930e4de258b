// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// TestAnOldListOfPodsRestartsNobodyTwice shows a member as it was before its restart, pod and server
// alike, to an operator whose cache lags behind: the restart it asks for again names the old pod, and
// hits nobody.
func TestAnOldListOfPodsRestartsNobodyTwice(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	old := &corev1.PodList{}
	w.must(w.admin.List(w.ctx, old, client.InNamespace(w.namespace)))
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Tuning = small().Executor(v1alpha1.ServiceExecutorAdaptive).Object().Spec.Tuning
	})
	evicted := func() []string {
		var evictions []string
		for _, write := range w.journal.since(0) {
			if strings.HasPrefix(write, "eviction") {
				evictions = append(evictions, write)
			}
		}
		return evictions
	}
	for range manySteps {
		if len(evicted()) > 0 {
			break
		}
		w.databases.remember = map[string]observed.Look{}
		w.step()
	}
	before := evicted()
	if len(before) != 1 {
		t.Fatalf("nobody was restarted: %v", before)
	}
	// The pod is made anew, and everything is again as before, but for its UID.
	w.kubernetes.step(w.ctx)
	w.kubernetes.step(w.ctx)
	w.databases.frozen = w.databases.remember
	w.list = func(ctx context.Context, c client.WithWatch, objects client.ObjectList, options ...client.ListOption) error {
		if pods, ok := objects.(*corev1.PodList); ok {
			old.DeepCopyInto(pods)
			return nil
		}
		return c.List(ctx, objects, options...)
	}
	made := w.outcome().PodsMade
	for range 3 {
		if err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	if again := evicted(); len(again) == len(before) {
		t.Error("the old list led to no second try, so this test shows nothing")
	}
	w.list = nil
	w.databases.frozen = nil
	for pod, times := range w.outcome().PodsMade {
		if times != made[pod] {
			t.Errorf("%s was restarted by an operator that saw an old list", pod)
		}
	}
	w.untilReady()
	for pod, times := range w.outcome().PodsMade {
		if strings.Contains(pod, "-shard-") && times != 2 {
			t.Errorf("%s was made %d times, wanted 2", pod, times)
		}
	}
}
