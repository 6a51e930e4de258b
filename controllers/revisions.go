// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/revision"
	"github.com/mongotuning/mongotuning/internal/status"
)

// keptRevisions is how many resolved tunings are remembered.
const keptRevisions = 10

// recordRevision keeps the resolved tuning before anything of it is applied, and forgets the oldest.
// The labels are not those of a StatefulSet, whose controller would take the revisions for its own.
func (r *MongoTuningReconciler) recordRevision(ctx context.Context, want wanted) error {
	key := types.NamespacedName{Namespace: want.tuning.Namespace, Name: want.revision}
	if err := r.Get(ctx, key, &appsv1.ControllerRevision{}); err == nil || !apierrors.IsNotFound(err) {
		return client.IgnoreNotFound(err)
	}
	kept, err := r.revisions(ctx, want.tuning)
	if err != nil {
		return err
	}
	newest := int64(0)
	for _, old := range kept {
		newest = max(newest, old.Revision)
	}
	encoded, err := json.Marshal(revision.Of(want.tuning, want.resolved))
	if err != nil {
		return fmt.Errorf("encode revision %s: %w", want.revision, err)
	}
	record := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: want.revision, Namespace: want.tuning.Namespace,
			Labels:          naming.Labels(want.tuning.Name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(want.tuning, v1alpha1.GroupVersion.WithKind("MongoTuning"))},
		},
		Data:     runtime.RawExtension{Raw: encoded},
		Revision: newest + 1,
	}
	if err := r.Create(ctx, record); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("record revision %s: %w", want.revision, err)
	}
	for len(kept) >= keptRevisions {
		if revisions := want.tuning.Status.Revisions; !slices.Contains([]string{revisions.Current, revisions.Verified, revisions.Previous}, kept[0].Name) {
			if err := r.Delete(ctx, &kept[0]); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("forget revision %s: %w", kept[0].Name, err)
			}
		}
		kept = kept[1:]
	}
	return nil
}

// revisions are the recorded ones, oldest first. StatefulSets give their own revisions the labels of
// their pods; those are not ours to count or to delete.
func (r *MongoTuningReconciler) revisions(ctx context.Context, tuning *v1alpha1.MongoTuning) ([]appsv1.ControllerRevision, error) {
	list := &appsv1.ControllerRevisionList{}
	err := r.List(ctx, list, client.InNamespace(tuning.Namespace), client.MatchingLabels(naming.Labels(tuning.Name)))
	if err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(record appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&record, tuning) })
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return list.Items, nil
}

// readRevision reads a recorded revision; found is false when it is gone.
func (r *MongoTuningReconciler) readRevision(ctx context.Context, tuning *v1alpha1.MongoTuning, name string) (content revision.Content, found bool, err error) {
	record := &appsv1.ControllerRevision{}
	err = r.Get(ctx, types.NamespacedName{Namespace: tuning.Namespace, Name: name}, record)
	if apierrors.IsNotFound(err) {
		return content, false, nil
	}
	if err != nil {
		return content, false, fmt.Errorf("get revision %s: %w", name, err)
	}
	content, err = revision.Decode(name, record.Data.Raw)
	return content, err == nil, err
}

// revisionInForce puts the revision that the members run on in the place of a refused spec.
func (r *MongoTuningReconciler) revisionInForce(ctx context.Context, tuning *v1alpha1.MongoTuning, stall *status.Stall) (wanted, error) {
	want := wanted{tuning: tuning, stall: stall, revision: tuning.Status.Revisions.Current}
	if want.revision == "" {
		return want, nil
	}
	content, found, err := r.readRevision(ctx, tuning, want.revision)
	if err != nil || !found {
		return want, err
	}
	inForce := content.LaidOver(tuning)
	// A shard that the refused spec asks for on top has not been built.
	if built := len(tuning.Status.ReplicaSets) - 1; built > 0 {
		inForce.Spec.Shards.Count = min(inForce.Spec.Shards.Count, int32(built)) //nolint:gosec // at most 65
	}
	want.tuning, want.resolved, want.known = inForce, content.Resolved, true
	return want, nil
}
