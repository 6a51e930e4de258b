// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// children are one object of each kind that the operator applies.
func children() []client.Object {
	return []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-mongos"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "demo-mongodb"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "demo-mongos-files"}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "demo-mongos"}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard"}},
	}
}

func (w *world) get(object client.Object) {
	w.t.Helper()
	w.must(w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: object.GetName()}, object))
}

func TestLabelsOfPeopleAreKept(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	for _, child := range children() {
		w.get(child)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"payments"},"annotations":{"example.org/note":"kept"}}}`))
		w.must(w.admin.Patch(w.ctx, child, patch))
	}
	for range 3 {
		w.step()
	}
	for _, child := range children() {
		w.get(child)
		if child.GetLabels()["team"] != "payments" || child.GetAnnotations()["example.org/note"] != "kept" {
			t.Errorf("%T %s lost what people wrote on it", child, child.GetName())
		}
		if child.GetLabels()[naming.LabelManagedBy] != naming.ManagedBy {
			t.Errorf("%T %s lost the operator's label", child, child.GetName())
		}
	}
	w.isQuiet()
}

func TestWhatIsEditedOrDeletedByHandIsPutBack(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-mongos"}}
	w.get(service)
	service.Spec.Selector = map[string]string{"app": "something-else"}
	service.Labels[naming.LabelComponent] = "something-else"
	w.must(w.admin.Update(w.ctx, service))
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0", Namespace: w.namespace}}
	w.must(w.admin.Delete(w.ctx, budget))
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard", Namespace: w.namespace}}
	w.must(w.admin.Delete(w.ctx, policy))
	w.step()
	w.get(service)
	if service.Spec.Selector[naming.LabelComponent] != "mongos" || service.Labels[naming.LabelComponent] != "mongos" {
		t.Errorf("the Service was not put back: %v, %v", service.Spec.Selector, service.Labels)
	}
	w.get(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0"}})
	w.get(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard"}})
	w.isQuiet()
}

// TestSpecBelongsToPeople holds the operator to its place: it owns the status and its finalizer, and no
// field of what a GitOps tool applies.
func TestSpecBelongsToPeople(t *testing.T) {
	w := newWorld(t)
	object := small().WithoutLimits().In(w.namespace).Object()
	object.UID = ""
	content, err := toUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(content.Object, "status")
	unstructured.RemoveNestedField(content.Object, "metadata", "creationTimestamp")
	w.must(unstructured.SetNestedField(content.Object, "2000m", "spec", "shards", "resources", "limits", "cpu"))
	apply := func() {
		t.Helper()
		w.must(w.admin.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(content.DeepCopy()), client.FieldOwner("git")))
	}
	apply()
	tuning := w.untilReady()
	for _, entry := range tuning.ManagedFields {
		if entry.Manager == "git" {
			continue
		}
		if strings.Contains(entry.FieldsV1.GetRawString(), `"f:spec"`) {
			t.Errorf("%s owns fields of spec: %s", entry.Manager, entry.FieldsV1.GetRawString())
		}
	}
	if got := tuning.Spec.Shards.Resources.Limits.CPU.String(); got != "2" {
		t.Errorf("the typed reading of 2000m is %q", got)
	}
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MongoTuning"))
	w.must(w.admin.Get(w.ctx, w.key, raw))
	cpu, _, err := unstructured.NestedString(raw.Object, "spec", "shards", "resources", "limits", "cpu")
	if err != nil || cpu != "2000m" {
		t.Errorf("what people wrote as 2000m is now %q (%v)", cpu, err)
	}
	generation := tuning.Generation
	apply()
	if got := w.tuning(); got.Generation != generation || got.ResourceVersion != tuning.ResourceVersion {
		t.Error("applying the same from Git again changed the object")
	}
	w.isQuiet()
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-mongos", Namespace: w.namespace, Labels: map[string]string{"app": "theirs"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "theirs"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.must(w.admin.Create(w.ctx, foreign))
	w.create(small())
	tuning := w.untilStalled(v1alpha1.ReasonForeignObject)
	if text := describe(tuning); !strings.Contains(text, "Service demo-mongos") {
		t.Errorf("the foreign object is not named:\n%s", text)
	}
	after := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-mongos"}}
	w.get(after)
	if after.ResourceVersion != foreign.ResourceVersion {
		t.Error("the foreign object was touched")
	}
	w.must(w.admin.Delete(w.ctx, foreign))
	w.untilReady()
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0-files", Namespace: w.namespace}, Data: map[string]string{"theirs": "kept"}}
	w.must(w.admin.Create(w.ctx, foreign))
	w.create(small())
	w.untilStalled(v1alpha1.ReasonForeignObject)
	after := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0-files"}}
	w.get(after)
	if after.ResourceVersion != foreign.ResourceVersion {
		t.Error("the foreign ConfigMap was touched")
	}
}

func TestOnlyTenRevisionsAreKept(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	for percent := range int32(14) {
		w.change(func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Tuning.Eviction = &v1alpha1.EvictionTuning{DirtyTriggerPercent: new(21 + percent)}
		})
		w.step()
	}
	tuning := w.untilReady()
	list := &appsv1.ControllerRevisionList{}
	w.must(w.admin.List(w.ctx, list, client.InNamespace(w.namespace)))
	names := map[string]bool{}
	for _, revision := range list.Items {
		names[revision.Name] = true
	}
	if len(list.Items) > 11 || len(list.Items) < 10 {
		t.Errorf("%d revisions are kept, wanted 10 and at most one in force besides", len(list.Items))
	}
	if !names[tuning.Status.Revisions.Current] || !names[tuning.Status.Revisions.Verified] {
		t.Errorf("the revision in force is not among the kept ones: %+v", tuning.Status.Revisions)
	}
	w.isQuiet()
}

func toUnstructured(object *v1alpha1.MongoTuning) (*unstructured.Unstructured, error) {
	converted := &unstructured.Unstructured{}
	converted.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Kind: "MongoTuning"})
	if err := shared.scheme.Convert(object, converted, nil); err != nil {
		return nil, fmt.Errorf("convert %s: %w", object.Name, err)
	}
	return converted, nil
}
