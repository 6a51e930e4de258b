// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// finalize puts the nodes back, carries out the deletion policy and lets the object go. With Delete the garbage collector
// removes what the object owns; with Orphan nothing is owned any more and all of it stays. Volumes and
// Secrets have no owner and stay, unless dataRetention asks for their removal.
func (r *MongoTuningReconciler) finalize(ctx context.Context, tuning *v1alpha1.MongoTuning) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(tuning, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if done, err := r.restoreHosts(ctx, tuning); err != nil || !done {
		return ctrl.Result{RequeueAfter: waitPeriod}, err
	}
	if tuning.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan {
		if err := r.orphan(ctx, tuning); err != nil {
			return ctrl.Result{}, err
		}
	} else if done, err := r.settleData(ctx, tuning); err != nil || !done {
		return ctrl.Result{RequeueAfter: waitPeriod}, err
	}
	r.Databases.Forget(ctx, client.ObjectKeyFromObject(tuning).String(), nil)
	r.applied.forget(tuning.Namespace, tuning.Name)
	r.Metrics.Forget(client.ObjectKeyFromObject(tuning))
	r.gauges.forget(client.ObjectKeyFromObject(tuning))
	r.slots.forget(client.ObjectKeyFromObject(tuning))
	r.watches.forget(client.ObjectKeyFromObject(tuning))
	r.recordings.forget(client.ObjectKeyFromObject(tuning))
	before := tuning.DeepCopy()
	controllerutil.RemoveFinalizer(tuning, v1alpha1.Finalizer)
	if err := r.Patch(ctx, tuning, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("remove finalizer: %w", err))
	}
	return ctrl.Result{}, nil
}

// orphan takes the owner away from everything the object owns but its revisions, which say nothing
// without its status.
func (r *MongoTuningReconciler) orphan(ctx context.Context, tuning *v1alpha1.MongoTuning) error {
	for _, list := range []client.ObjectList{
		&appsv1.StatefulSetList{}, &appsv1.DeploymentList{},
		&corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{},
		&policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
	} {
		if err := r.List(ctx, list, client.InNamespace(tuning.Namespace), client.MatchingLabels(naming.Labels(tuning.Name))); err != nil {
			return fmt.Errorf("list objects to orphan: %w", err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error { return r.disown(ctx, tuning, item) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *MongoTuningReconciler) disown(ctx context.Context, tuning *v1alpha1.MongoTuning, item runtime.Object) error {
	object, ok := item.(client.Object)
	isOwner := func(owner metav1.OwnerReference) bool { return owner.UID == tuning.UID }
	if !ok || !slices.ContainsFunc(object.GetOwnerReferences(), isOwner) {
		return nil
	}
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	var others []metav1.OwnerReference
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID != tuning.UID {
			others = append(others, owner)
		}
	}
	object.SetOwnerReferences(others)
	if err := r.Patch(ctx, object, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("orphan %s: %w", object.GetName(), err)
	}
	return nil
}

// settlingPatience is how long the removal of data waits for the StatefulSets' controller: a deletion
// that never ends is worse than volumes that stay. Keeping data waits for as long as it takes.
const settlingPatience = time.Minute

// settleData makes sure that volumes and Secrets will share the lot that dataRetention says, also when
// it was changed a moment before the deletion. It is false while the StatefulSets' controller has not
// seen it yet.
func (r *MongoTuningReconciler) settleData(ctx context.Context, tuning *v1alpha1.MongoTuning) (bool, error) {
	sets := &appsv1.StatefulSetList{}
	if err := r.List(ctx, sets, client.InNamespace(tuning.Namespace), client.MatchingLabels(naming.Labels(tuning.Name))); err != nil {
		return false, fmt.Errorf("list StatefulSets to settle their volumes: %w", err)
	}
	removes := tuning.Spec.DataRetention == v1alpha1.DataRetentionDelete
	done := true
	for i := range sets.Items {
		set := &sets.Items[i]
		if !metav1.IsControlledBy(set, tuning) {
			continue
		}
		if err := r.retainVolumes(ctx, set, desired.VolumeRetention(tuning)); err != nil {
			return false, err
		}
		// A set that its controller never saw owns no volume, so that none can be lost with it.
		seen := set.Status.ObservedGeneration
		done = done && (seen >= set.Generation || !removes && seen == 0)
	}
	if !removes {
		return done, nil
	}
	if !done && r.Clock.Since(tuning.DeletionTimestamp.Time) < settlingPatience {
		return false, nil
	}
	return true, r.deleteSecrets(ctx, tuning)
}

// retainVolumes says in a StatefulSet what becomes of its volumes when it is deleted.
func (r *MongoTuningReconciler) retainVolumes(ctx context.Context, set *appsv1.StatefulSet, whenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType) error {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy != nil && policy.WhenDeleted == whenDeleted {
		return nil
	}
	before := set.DeepCopy()
	if policy == nil {
		policy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType}
	}
	policy.WhenDeleted = whenDeleted
	set.Spec.PersistentVolumeClaimRetentionPolicy = policy
	if err := r.Patch(ctx, set, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("settle the volumes of StatefulSet %s: %w", set.Name, err)
	}
	return nil
}

func (r *MongoTuningReconciler) deleteSecrets(ctx context.Context, tuning *v1alpha1.MongoTuning) error {
	for _, name := range []string{
		naming.KeyFileSecret(tuning.Name), naming.OperatorSecret(tuning.Name), naming.AppSecret(tuning.Name),
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tuning.Namespace, Name: name}}
		if err := r.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Secret %s: %w", name, err)
		}
	}
	return nil
}
