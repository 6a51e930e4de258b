// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// applyHarmless applies every object whose change restarts no mongod. Files and pod templates of
// members that exist already are left alone: writing them is an action of the plan, at its turn.
func (r *MongoTuningReconciler) applyHarmless(ctx context.Context, goal plan.Wanted) error {
	cluster, routers := goal.Cluster, goal.AtMongos()
	sets := desired.ReplicaSets(cluster.Tuning)
	objects := append(make([]runtime.ApplyConfiguration, 0, 6+2*len(sets)),
		cluster.ServiceAccount(),
		cluster.MemberNetworkPolicy(v1alpha1.ComponentShardMember),
		cluster.MemberNetworkPolicy(v1alpha1.ComponentConfigServer),
		cluster.MongosNetworkPolicy(),
		cluster.MongosService(),
		routers.MongosFiles(),
	)
	for _, set := range sets {
		objects = append(objects, cluster.MemberService(set), cluster.DisruptionBudget(set))
	}
	for _, object := range objects {
		if err := r.apply(ctx, cluster.Tuning, object); err != nil {
			return err
		}
	}
	for _, set := range desired.ReplicaSets(cluster.Tuning) {
		now := goal.At(set)
		if err := r.ensureFiles(ctx, now, set); err != nil {
			return err
		}
		if err := r.ensureStatefulSet(ctx, now, setOf(now, set.Name)); err != nil {
			return err
		}
	}
	return r.applyMongos(ctx, routers)
}

// ensureFiles creates the ConfigMap with one file for each member. Once it exists only the plan
// changes it, one key at a time.
func (r *MongoTuningReconciler) ensureFiles(ctx context.Context, cluster desired.Cluster, set desired.ReplicaSet) error {
	name := naming.ConfigFiles(set.Name)
	live := &corev1.ConfigMap{}
	err := r.Get(ctx, types.NamespacedName{Namespace: cluster.Tuning.Namespace, Name: name}, live)
	if err == nil {
		return r.takeUpFiles(ctx, cluster.Tuning, live)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	files := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: cluster.Tuning.Namespace,
			Labels:          naming.ReplicaSetLabels(cluster.Tuning.Name, set.Name, set.Component),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster.Tuning, v1alpha1.GroupVersion.WithKind("MongoTuning"))},
		},
		Data: map[string]string{},
	}
	for _, pod := range set.Pods() {
		files.Data[naming.ConfigFile(pod)] = desired.MemberConfig(set, cluster.Resolved.Settings[set.Component])
	}
	err = r.Create(ctx, files)
	if !apierrors.IsAlreadyExists(err) {
		return wrap(err, "create ConfigMap "+name)
	}
	if err := r.Uncached.Get(ctx, client.ObjectKeyFromObject(files), files); err != nil {
		return fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return r.takeUpFiles(ctx, cluster.Tuning, files)
}

// takeUpFiles makes the files that an earlier MongoTuning of this name left behind belong to this one,
// as they are. Everything else is taken up by being applied.
func (r *MongoTuningReconciler) takeUpFiles(ctx context.Context, owner *v1alpha1.MongoTuning, files *corev1.ConfigMap) error {
	if metav1.IsControlledBy(files, owner) {
		return nil
	}
	if foreign(files, owner) {
		return &foreignObjectError{kind: "ConfigMap", name: files.Name}
	}
	before := files.DeepCopy()
	files.OwnerReferences = append(files.OwnerReferences, *metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("MongoTuning")))
	return wrap(r.Patch(ctx, files, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})), "take up ConfigMap "+files.Name)
}

// wrap says what failed; nil stays nil.
func wrap(err error, act string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", act, err)
}

// ensureStatefulSet creates the StatefulSet, or keeps it as long as its pod template is the wanted one.
// A template that differs waits for WriteTemplate.
func (r *MongoTuningReconciler) ensureStatefulSet(ctx context.Context, cluster desired.Cluster, set desired.ReplicaSet) error {
	live := &appsv1.StatefulSet{}
	err := r.Get(ctx, types.NamespacedName{Namespace: cluster.Tuning.Namespace, Name: set.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		if err := r.preflightMember(ctx, cluster, set); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("get StatefulSet %s: %w", set.Name, err)
	case live.Annotations[naming.AnnotationTemplateHash] != cluster.TemplateHash(set) && metav1.IsControlledBy(live, cluster.Tuning):
		return nil
	}
	return r.apply(ctx, cluster.Tuning, cluster.StatefulSet(set))
}

// applyMongos applies the Deployment of the routers with the operator image it already has, unless
// something else about the routers changes: an upgrade of the operator alone must not roll them.
func (r *MongoTuningReconciler) applyMongos(ctx context.Context, cluster desired.Cluster) error {
	live := &appsv1.Deployment{}
	name := naming.Mongos(cluster.Tuning.Name)
	err := r.Get(ctx, types.NamespacedName{Namespace: cluster.Tuning.Namespace, Name: name}, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get Deployment %s: %w", name, err)
	}
	if err == nil && live.Annotations[naming.AnnotationTemplateHash] == cluster.MongosTemplateHash() {
		for _, container := range live.Spec.Template.Spec.InitContainers {
			cluster.OperatorImage = container.Image
		}
	}
	return r.apply(ctx, cluster.Tuning, cluster.MongosDeployment())
}

// foreignObjectError says that an object of a name we need belongs to somebody else.
type foreignObjectError struct {
	kind, name string
}

func (e *foreignObjectError) Error() string {
	return fmt.Sprintf("%s %s exists and does not belong to this MongoTuning; delete it, or give the MongoTuning another name", e.kind, e.name)
}

// apply applies one object under our field owner. What was applied and not touched since is not sent
// again. An object that another owner controls is left alone.
func (r *MongoTuningReconciler) apply(ctx context.Context, owner *v1alpha1.MongoTuning, object runtime.ApplyConfiguration) error {
	key, encoded, err := describe(object)
	if err != nil {
		return err
	}
	live, err := r.live(ctx, key)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("get %s %s: %w", key.kind.Kind, key.name.Name, err)
	case r.applied.isCurrent(key, live, encoded):
		return nil
	case foreign(live, owner):
		return &foreignObjectError{kind: key.kind.Kind, name: key.name.Name}
	}
	if err := r.Apply(ctx, object, client.FieldOwner(naming.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", key.kind.Kind, key.name.Name, err)
	}
	answer, _, err := describe(object) // Apply reads the server's answer into the object
	if err != nil {
		return err
	}
	r.applied.remember(key, answer.version, encoded)
	return nil
}

// live reads an object from the cache, and past it when it is not there: the cache holds only what
// carries our labels, and an object of somebody else must not be taken for a missing one.
func (r *MongoTuningReconciler) live(ctx context.Context, key objectKey) (client.Object, error) {
	empty, err := r.Scheme().New(key.kind)
	if err != nil {
		return nil, fmt.Errorf("unknown kind %s: %w", key.kind, err)
	}
	object, ok := empty.(client.Object)
	if !ok {
		return nil, fmt.Errorf("kind %s has no metadata", key.kind)
	}
	if err := r.Get(ctx, key.name, object); !apierrors.IsNotFound(err) {
		return object, err
	}
	return object, r.Uncached.Get(ctx, key.name, object)
}

// foreign tells that an object belongs to somebody else. One that belongs to nobody and carries our
// labels was orphaned by an earlier MongoTuning of this name, and is taken up again.
func foreign(live metav1.Object, owner *v1alpha1.MongoTuning) bool {
	if controller := metav1.GetControllerOf(live); controller != nil {
		return controller.UID != owner.UID
	}
	labels := live.GetLabels()
	return labels[naming.LabelInstance] != owner.Name || labels[naming.LabelManagedBy] != naming.ManagedBy
}

// appliedObjects remembers what was applied, so that a look that changes nothing sends nothing. It is
// only a saving: a forgotten entry costs one request.
type appliedObjects struct {
	mu      sync.Mutex
	entries map[string]appliedObject
}

type appliedObject struct {
	version, encoded string
}

func (a *appliedObjects) isCurrent(key objectKey, live metav1.Object, encoded string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	entry, ok := a.entries[key.String()]
	return ok && entry.encoded == encoded && entry.version == versionOf(live)
}

func (a *appliedObjects) remember(key objectKey, version, encoded string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.entries == nil {
		a.entries = map[string]appliedObject{}
	}
	a.entries[key.String()] = appliedObject{version: version, encoded: encoded}
}

// forget drops what is remembered of a namespace's object names with the given prefix.
func (a *appliedObjects) forget(namespace, prefix string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.entries {
		if hasObjectPrefix(key, namespace, prefix) {
			delete(a.entries, key)
		}
	}
}
