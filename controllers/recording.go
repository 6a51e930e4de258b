// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/recording"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// recordings keep what was measured lately on each cluster, and what is recorded of its changes. The former
// is lost with the process; the latter is in an object, and read from there once.
type recordings struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]*keptRecording
}

type keptRecording struct {
	// lead is what was measured in the last minutes, also while nothing travels.
	lead *recording.Recording
	book recording.Book
	// written is when the object was written last, owed tells that it has to be.
	written time.Time
	owed    bool
}

// keepRecording notes what this look has found, and writes it down while a change travels and once at its
// end. On a settled or suspended cluster it writes nothing. A recording is worth nothing to the cluster
// itself, so nothing waits for it: a write that fails is tried again with the next look.
func (r *MongoTuningReconciler) keepRecording(ctx context.Context, tuning *v1alpha1.MongoTuning, facts status.Facts) {
	if len(facts.Cluster.ReplicaSets) == 0 {
		return
	}
	kept, err := r.recordings.of(ctx, r.Client, tuning, facts.Now)
	if err == nil && kept.note(tuning, facts) {
		err = r.writeRecording(ctx, tuning, kept, facts.Now)
	}
	if err != nil {
		log.FromContext(ctx).Info("Could not keep the recording of a change; it is tried again", "why", err.Error())
	}
}

// of is what is kept of a cluster. The first time it is read from the object, so that an operator that was
// restarted goes on where the one before was.
func (k *recordings) of(ctx context.Context, from client.Reader, tuning *v1alpha1.MongoTuning, now time.Time) (*keptRecording, error) {
	key := client.ObjectKeyFromObject(tuning)
	k.mu.Lock()
	kept, known := k.clusters[key]
	k.mu.Unlock()
	if known {
		return kept, nil
	}
	kept = &keptRecording{lead: recording.New(now)}
	object := &corev1.ConfigMap{}
	err := from.Get(ctx, types.NamespacedName{Namespace: tuning.Namespace, Name: naming.Recording(tuning.Name)}, object)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", naming.Recording(tuning.Name), err)
	}
	if err == nil && !foreign(object, tuning) && isOfTuning(object, tuning) {
		kept.book = bookOf(ctx, object)
		// One that was orphaned is taken up, with its history: the same tuning is the same revision.
		kept.owed = len(object.OwnerReferences) == 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clusters == nil {
		k.clusters = map[types.NamespacedName]*keptRecording{}
	}
	k.clusters[key] = kept
	return kept, nil
}

// isOfTuning tells that the object belongs to this MongoTuning, or to nobody since an earlier one of its name
// was orphaned.
func isOfTuning(object *corev1.ConfigMap, tuning *v1alpha1.MongoTuning) bool {
	isOwner := func(owner metav1.OwnerReference) bool { return owner.UID == tuning.UID }
	return len(object.OwnerReferences) == 0 || slices.ContainsFunc(object.OwnerReferences, isOwner)
}

// bookOf reads the object. What cannot be read is begun anew: it may have been changed by hand.
func bookOf(ctx context.Context, object *corev1.ConfigMap) recording.Book {
	var book recording.Book
	history, err := recording.DecodeHistory(object.Data[naming.RecordingHistory])
	if err != nil {
		log.FromContext(ctx).Info("Could not read the history of changes and begins a new one", "object", object.Name, "why", err.Error())
	}
	book.History = history
	if encoded := object.BinaryData[naming.RecordingGauges]; len(encoded) > 0 {
		if book.Last, err = recording.Decode(encoded); err != nil {
			log.FromContext(ctx).Info("Could not read the recording of the last change", "object", object.Name, "why", err.Error())
		}
	}
	return book
}

// forget drops what is kept of a cluster.
func (k *recordings) forget(key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.clusters, key)
}

// note takes a look into the recording, and tells whether it has to be written now.
func (k *keptRecording) note(tuning *v1alpha1.MongoTuning, facts status.Facts) bool {
	values := figuresOf(facts.Cluster.Gauges)
	k.lead.AddRecent(facts.Now, values)
	// What stalls shows nothing new, and an object that is left alone is to be quiet.
	stands := facts.Stall != nil || facts.Suspended || facts.Action.Kind == plan.Stall
	if stands && k.book.Last.IsOpen() == isTravelling(tuning.Status) {
		return false
	}
	if k.book.Turn(travelOf(tuning, facts), k.lead, facts.Now) {
		k.owed = true
	}
	if !k.book.Last.IsOpen() || stands {
		return k.owed
	}
	k.book.Last.Add(facts.Now, values)
	if action := facts.Action; action.IsAct() && action.Kind != plan.Turn {
		k.book.Last.Mark(recording.Mark{At: facts.Now, Kind: recording.MarkAct, Name: action.Kind.String(), Member: action.Member, Text: action.Message})
	}
	return k.owed || facts.Now.Sub(k.written) >= k.book.Last.Interval()
}

// isTravelling tells that a change is on its way, forward or back.
func isTravelling(found v1alpha1.MongoTuningStatus) bool {
	step := found.Rollout.Step
	return step != "" && step != v1alpha1.StepReturned && (found.Rollout.Breach == "" || step == v1alpha1.StepReturning)
}

// travelOf is how a change stands by the status that was written.
func travelOf(tuning *v1alpha1.MongoTuning, facts status.Facts) recording.State {
	found := tuning.Status
	state := recording.State{
		Step: string(found.Rollout.Step), Revision: found.Rollout.Revision, Canary: found.Rollout.Canary, Breach: found.Rollout.Breach,
		Returning: found.Rollout.Step == v1alpha1.StepReturning, Returned: found.Rollout.Step == v1alpha1.StepReturned,
		Verified: found.Revisions.Verified, Failed: found.Revisions.Failed, Profile: facts.Profile,
	}
	if facts.Action.Kind == plan.Turn {
		state.Message = facts.Action.Message
	}
	return state
}

// figuresOf are all figures of a look, and what they are held to.
func figuresOf(gauges verify.ClusterGauges) []recording.Value {
	var values []recording.Value
	for _, member := range gauges.Members {
		lowIsBad := map[v1alpha1.Gauge]bool{}
		for _, judgement := range member.Judgements {
			lowIsBad[judgement.Gauge] = judgement.IsMin
			values = append(values, recording.Value{
				Key:  recording.Key{Member: member.Member, Gauge: string(judgement.Gauge), Limit: judgement.Name},
				Keep: recording.KeepLatest, IsMin: judgement.IsMin, Number: judgement.Bound,
			})
		}
		for _, measurement := range member.Measurements {
			if !measurement.HasValue {
				continue
			}
			keep := recording.KeepHighest
			if lowIsBad[measurement.Gauge] {
				keep = recording.KeepLowest
			}
			values = append(values, recording.Value{
				Key: recording.Key{Member: member.Member, Gauge: string(measurement.Gauge)}, Keep: keep, Number: measurement.Value,
			})
		}
	}
	return values
}

// writeRecording puts history and recording into their object. It belongs to the MongoTuning and goes with
// it, but does not control it: a write must not wake the reconciler.
func (r *MongoTuningReconciler) writeRecording(ctx context.Context, tuning *v1alpha1.MongoTuning, kept *keptRecording, now time.Time) error {
	history, err := recording.EncodeHistory(kept.book.History)
	if err != nil {
		return err
	}
	name := naming.Recording(tuning.Name)
	object := corev1ac.ConfigMap(name, tuning.Namespace).
		WithLabels(naming.Labels(tuning.Name)).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("MongoTuning").WithName(tuning.Name).WithUID(tuning.UID)).
		WithData(map[string]string{naming.RecordingHistory: history})
	if kept.book.Last != nil {
		encoded, err := kept.book.Last.Encode()
		if err != nil {
			return err
		}
		object.WithBinaryData(map[string][]byte{naming.RecordingGauges: encoded})
	}
	live := &corev1.ConfigMap{}
	err = r.Get(ctx, types.NamespacedName{Namespace: tuning.Namespace, Name: name}, live)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("get ConfigMap %s: %w", name, err)
	case foreign(live, tuning):
		return &foreignObjectError{kind: "ConfigMap", name: name}
	}
	if err := r.Apply(ctx, object, client.FieldOwner(naming.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply ConfigMap %s: %w", name, err)
	}
	kept.written, kept.owed = now, false
	return nil
}
