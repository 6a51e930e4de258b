// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// finalize carries out the deletion policy and lets the object go. With Delete the garbage collector
// removes what the object owns; with Orphan nothing is owned any more and all of it stays. Volumes and
// Secrets have no owner and stay, unless dataRetention asks for their removal.
func (r *MongoTuningReconciler) finalize(ctx context.Context, tuning *v1alpha1.MongoTuning) error {
	if !controllerutil.ContainsFinalizer(tuning, v1alpha1.Finalizer) {
		return nil
	}
	switch {
	case tuning.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan:
		if err := r.orphan(ctx, tuning); err != nil {
			return err
		}
	case tuning.Spec.DataRetention == v1alpha1.DataRetentionDelete:
		if err := r.deleteSecrets(ctx, tuning); err != nil {
			return err
		}
	}
	r.Databases.Forget(ctx, client.ObjectKeyFromObject(tuning).String(), nil)
	r.applied.forget(tuning.Namespace, tuning.Name)
	r.gauges.forget(client.ObjectKeyFromObject(tuning))
	r.watches.forget(client.ObjectKeyFromObject(tuning))
	before := tuning.DeepCopy()
	controllerutil.RemoveFinalizer(tuning, v1alpha1.Finalizer)
	if err := r.Patch(ctx, tuning, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("remove finalizer: %w", err))
	}
	return nil
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
	if !ok || !metav1.IsControlledBy(object, tuning) {
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
