// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/profiles"
)

// TestSamplesAreTaken applies each sample to a real API server as a person does, with the shipped profiles,
// and lets the operator look: nothing is refused, and all objects of the cluster are made; a suspended
// sample is looked at and left alone.
func TestSamplesAreTaken(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		count++
		t.Run(filepath.Base(file), func(t *testing.T) { takesSample(t, file) })
	}
	if count < 7 {
		t.Errorf("found %d samples only", count)
	}
}

func takesSample(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.applyProfiles()
	sample := &v1alpha1.MongoTuning{}
	w.must(yaml.UnmarshalStrict(content, sample))
	if sample.Kind != "MongoTuning" {
		return // a profile, which the shipped ones stand for
	}
	if sample.Spec.HostTuning != nil {
		// What the sample itself says to do first.
		w.allowPrivilegedPods()
	}
	sample.Namespace = w.namespace
	raw, err := toUnstructured(sample)
	w.must(err)
	delete(raw.Object, "status")
	w.must(w.admin.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(raw), client.FieldOwner("person")))
	w.key.Name = sample.Name
	for range 3 {
		if err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	tuning := w.tuning()
	suspended := sample.Spec.Suspend != nil && *sample.Spec.Suspend
	if conditionIs(tuning, v1alpha1.ConditionStalled, metav1.ConditionTrue) || tuning.Status.ObservedGeneration != tuning.Generation {
		t.Errorf("the sample is refused or was not looked at:\n%s", describe(tuning))
	}
	if conditionIs(tuning, v1alpha1.ConditionSuspended, metav1.ConditionTrue) != suspended {
		t.Errorf("suspended is %v, declared %v:\n%s", !suspended, suspended, describe(tuning))
	}
	sets := &appsv1.StatefulSetList{}
	w.must(w.admin.List(w.ctx, sets, client.InNamespace(w.namespace)))
	want := int(sample.Spec.Shards.Count) + 1
	if suspended {
		want = 0
	}
	if len(sets.Items) != want {
		t.Errorf("%d StatefulSets were made, want %d", len(sets.Items), want)
	}
}

// allowPrivilegedPods lets the namespace take pods that tune their node.
func (w *world) allowPrivilegedPods() {
	w.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`))
	w.must(w.admin.Patch(w.ctx, namespace, patch))
}

// applyProfiles makes the shipped profiles, which are of the whole cluster and so of all tests.
func (w *world) applyProfiles() {
	w.t.Helper()
	all, err := profiles.All()
	w.must(err)
	for _, profile := range all {
		w.must(client.IgnoreAlreadyExists(w.admin.Create(context.Background(), &profile)))
	}
}
