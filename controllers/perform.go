// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// perform carries out one action. Every one of them is safe to repeat, and hits only the pod that was
// seen: a successor of the same name is left alone.
func (r *MongoTuningReconciler) perform(ctx context.Context, goal plan.Wanted, as secrets, action plan.Action) error {
	log.FromContext(ctx).Info("Performing", "action", action.Kind.String(), "replicaSet", action.ReplicaSet, "member", action.Member, "why", action.Message)
	ctx, cancel := context.WithTimeout(ctx, actDeadline)
	defer cancel()
	cluster := goal.Cluster
	if set := setOf(cluster, action.ReplicaSet); set.Name != "" {
		cluster = goal.At(set)
	}
	var err error
	switch action.Kind {
	case plan.StartTrial:
		err = r.apply(ctx, cluster.Tuning, cluster.TrialJob(setOf(cluster, action.ReplicaSet), action.File))
	case plan.WriteConfig:
		err = r.writeConfig(ctx, cluster, action)
	case plan.WriteTemplate:
		err = r.writeTemplate(ctx, cluster, action)
	case plan.Restart, plan.Recreate:
		err = r.replacePod(ctx, cluster, action)
	case plan.ReplaceKeyFile:
		err = r.replaceKeyFile(ctx, cluster, action)
	case plan.TuneHost, plan.RestoreHost:
		err = r.performOnHost(ctx, cluster, action)
	case plan.Initiate, plan.CreateUsers, plan.CreateApp, plan.AddShard, plan.SetParameters, plan.StepDown:
		err = r.performOnServer(ctx, cluster, as, action)
	case plan.Nothing, plan.Wait, plan.Stall, plan.Turn:
		return nil // a turn is taken by writing the status
	}
	if err != nil {
		return fmt.Errorf("%s: %w", action.Message, err)
	}
	r.Metrics.Performed(client.ObjectKeyFromObject(cluster.Tuning), action.Kind.String())
	r.tellAct(cluster.Tuning, action)
	return nil
}

// performOnServer carries out an action that a server has to do.
func (r *MongoTuningReconciler) performOnServer(ctx context.Context, cluster desired.Cluster, as secrets, action plan.Action) error {
	pods, err := r.pods(ctx, cluster.Tuning)
	if err != nil {
		return err
	}
	if action.Kind == plan.AddShard {
		routers := mongosServers(pods)
		if len(routers) == 0 {
			return fmt.Errorf("no mongos is ready")
		}
		return r.Databases.AddShard(ctx, routers[0], as, action.ReplicaSet, cluster.Hosts(setOf(cluster, action.ReplicaSet)))
	}
	pod := pods[action.Member]
	server, ok := serverOf(pod)
	if !ok || server.PodUID != action.PodUID {
		return nil // another pod by now: look again
	}
	switch action.Kind {
	case plan.Initiate:
		set := setOf(cluster, action.ReplicaSet)
		return r.Databases.Initiate(ctx, server, as, InitiateRequest{
			Name: set.Name, Hosts: cluster.Hosts(set), ConfigServer: set.Component == v1alpha1.ComponentConfigServer,
		})
	case plan.CreateUsers:
		return r.Databases.CreateOperator(ctx, server, as)
	case plan.CreateApp:
		return r.Databases.CreateApp(ctx, server, as)
	case plan.SetParameters:
		return r.Databases.Set(ctx, server, as, action.Changes)
	case plan.StepDown:
		return r.Databases.StepDown(ctx, server, as, action.StayAway)
	default:
		return fmt.Errorf("no server does %s", action.Kind)
	}
}

func setOf(cluster desired.Cluster, name string) desired.ReplicaSet {
	sets := desired.ReplicaSets(cluster.Tuning)
	i := slices.IndexFunc(sets, func(set desired.ReplicaSet) bool { return set.Name == name })
	if i < 0 {
		return desired.ReplicaSet{}
	}
	return sets[i]
}

// writeConfig writes one member's file, under the condition that nobody wrote the ConfigMap since it was
// seen, and tells the kubelet to refresh the mounted copy now rather than within its minute.
func (r *MongoTuningReconciler) writeConfig(ctx context.Context, cluster desired.Cluster, action plan.Action) error {
	live := &corev1.ConfigMap{}
	key := types.NamespacedName{Namespace: cluster.Tuning.Namespace, Name: naming.ConfigFiles(action.ReplicaSet)}
	if err := r.Get(ctx, key, live); err != nil {
		return fmt.Errorf("get ConfigMap %s: %w", key.Name, err)
	}
	changed := live.DeepCopy()
	if changed.Data == nil {
		changed.Data = map[string]string{}
	}
	changed.Data[naming.ConfigFile(action.Member)] = action.File
	if err := r.Patch(ctx, changed, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", key.Name, err)
	}
	switch {
	case action.PodUID == "":
		return nil
	case action.Recreate:
		return r.deletePod(ctx, cluster, action.Member, action.PodUID)
	}
	return r.touch(ctx, cluster, action)
}

// touch changes an annotation of the pod that was seen; the kubelet then syncs its volumes at once.
func (r *MongoTuningReconciler) touch(ctx context.Context, cluster desired.Cluster, action plan.Action) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         action.PodUID,
		"annotations": map[string]string{naming.AnnotationConfigFile: desired.FileID(action.File)},
	}})
	if err != nil {
		return fmt.Errorf("encode annotation: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Tuning.Namespace, Name: action.Member}}
	err = r.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone or another one by now; its successor mounts the new file
	}
	if err != nil {
		return fmt.Errorf("touch pod %s: %w", action.Member, err)
	}
	return nil
}

func (r *MongoTuningReconciler) writeTemplate(ctx context.Context, cluster desired.Cluster, action plan.Action) error {
	set := setOf(cluster, action.ReplicaSet)
	if err := r.preflightMember(ctx, cluster, set); err != nil {
		return err
	}
	return r.apply(ctx, cluster.Tuning, cluster.StatefulSet(set))
}

// replacePod takes a pod away, so that its StatefulSet makes it anew, if Kubernetes would let that be done.
func (r *MongoTuningReconciler) replacePod(ctx context.Context, cluster desired.Cluster, action plan.Action) error {
	if err := r.preflightMember(ctx, cluster, setOf(cluster, action.ReplicaSet)); err != nil {
		return err
	}
	if action.Kind == plan.Recreate {
		return r.deletePod(ctx, cluster, action.Member, action.PodUID)
	}
	return r.evict(ctx, cluster, action)
}

// evict asks for the pod to be taken away. A budget that does not allow it now is a reason to look
// again, not an error: somebody else is disturbing the set.
func (r *MongoTuningReconciler) evict(ctx context.Context, cluster desired.Cluster, action plan.Action) error {
	uid := types.UID(action.PodUID)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Tuning.Namespace, Name: action.Member}}
	err := r.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: cluster.Tuning.Namespace, Name: action.Member},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	case apierrors.IsTooManyRequests(err):
		return errBudgetClosed
	}
	return err
}

// errBudgetClosed tells that a disruption budget does not allow an eviction now.
var errBudgetClosed = errors.New("its disruption budget does not allow it now")

// waitForBudget is what is done instead of an act that a budget does not allow.
func waitForBudget(action plan.Action) plan.Action {
	action.Kind, action.Reason = plan.Wait, v1alpha1.ReasonWaitingForBudget
	action.Message = action.Member + " has to restart and waits: " + errBudgetClosed.Error()
	return action
}

// waitForSecondary is what is done instead of a step down that the primary refused: it stays, and nothing
// is forced.
func waitForSecondary(action plan.Action) plan.Action {
	action.Kind, action.Reason = plan.Wait, v1alpha1.ReasonStepDownRefused
	action.Message = "primary " + action.Member + " refused to step down, since no electable secondary was caught up in time"
	return action
}

func (r *MongoTuningReconciler) deletePod(ctx context.Context, cluster desired.Cluster, name, uid string) error {
	precondition := types.UID(uid)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Tuning.Namespace, Name: name}}
	err := r.Delete(ctx, pod, client.Preconditions{UID: &precondition})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// replaceKeyFile makes every pod of a replica set anew that still has a lost key file.
func (r *MongoTuningReconciler) replaceKeyFile(ctx context.Context, cluster desired.Cluster, action plan.Action) error {
	if err := r.apply(ctx, cluster.Tuning, cluster.StatefulSet(setOf(cluster, action.ReplicaSet))); err != nil {
		return err
	}
	pods, err := r.pods(ctx, cluster.Tuning)
	if err != nil {
		return err
	}
	for _, name := range setOf(cluster, action.ReplicaSet).Pods() {
		pod := pods[name]
		if pod == nil || pod.Annotations[naming.AnnotationKeyFile] == cluster.KeyFileID {
			continue
		}
		if err := r.deletePod(ctx, cluster, name, string(pod.UID)); err != nil {
			return err
		}
	}
	return nil
}
