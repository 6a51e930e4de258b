// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

func TestDeletion(t *testing.T) {
	for _, policy := range []struct {
		name               string
		deletion           v1alpha1.DeletionPolicy
		retention          v1alpha1.DataRetention
		owned, secretsStay bool
		claims             appsv1.PersistentVolumeClaimRetentionPolicyType
	}{
		{"Delete and Retain leaves the objects to the garbage collector, and keeps Secrets and volumes", v1alpha1.DeletionPolicyDelete, v1alpha1.DataRetentionRetain, true, true, appsv1.RetainPersistentVolumeClaimRetentionPolicyType},
		{"Delete and Delete takes Secrets and volumes as well", v1alpha1.DeletionPolicyDelete, v1alpha1.DataRetentionDelete, true, false, appsv1.DeletePersistentVolumeClaimRetentionPolicyType},
		{"Orphan leaves everything to nobody", v1alpha1.DeletionPolicyOrphan, v1alpha1.DataRetentionRetain, false, true, appsv1.RetainPersistentVolumeClaimRetentionPolicyType},
		{"Orphan keeps the data whatever dataRetention says", v1alpha1.DeletionPolicyOrphan, v1alpha1.DataRetentionDelete, false, true, ""},
	} {
		t.Run(policy.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(small().Change(func(tuning *v1alpha1.MongoTuning) {
				tuning.Spec.DeletionPolicy, tuning.Spec.DataRetention = policy.deletion, policy.retention
			}))
			w.untilReady()
			w.must(w.admin.Delete(w.ctx, w.tuning()))
			for range 3 {
				w.kubernetes.step(w.ctx)
				if err := w.reconcile(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.admin.Get(w.ctx, w.key, &v1alpha1.MongoTuning{}); !apierrors.IsNotFound(err) {
				t.Fatalf("the object is still there: %v", err)
			}
			for _, child := range children() {
				w.get(child)
				if owned := metav1.GetControllerOf(child) != nil; owned != policy.owned {
					t.Errorf("%T %s is owned: %t, wanted %t", child, child.GetName(), owned, policy.owned)
				}
			}
			for _, name := range []string{"demo-keyfile", "demo-operator", "demo-app"} {
				err := w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &corev1.Secret{})
				if stays := err == nil; stays != policy.secretsStay {
					t.Errorf("Secret %s stays: %t, wanted %t (%v)", name, stays, policy.secretsStay, err)
				}
			}
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0"}}
			w.get(set)
			if got := set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted; policy.claims != "" && got != policy.claims {
				t.Errorf("volumes are to be %sd, wanted %s", got, policy.claims)
			}
		})
	}
}

func TestOrphansAreTakenUpAgain(t *testing.T) {
	w := newWorld(t)
	w.create(small().Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan }))
	w.untilReady()
	w.must(w.admin.Delete(w.ctx, w.tuning()))
	w.kubernetes.step(w.ctx)
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	acts := len(w.servers.Acts())
	w.startOperator()
	w.create(small())
	w.untilReady()
	if after := w.servers.Acts()[acts:]; len(after) > 0 {
		t.Errorf("adopting a cluster acted on its servers: %v", after)
	}
	for pod, made := range w.outcome().PodsMade {
		if made != 1 {
			t.Errorf("%s was made %d times", pod, made)
		}
	}
	for _, child := range children() {
		w.get(child)
		if !metav1.IsControlledBy(child, w.tuning()) {
			t.Errorf("%T %s does not belong to the new object", child, child.GetName())
		}
	}
}
