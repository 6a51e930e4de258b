// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// lookDeadline bounds one look at all servers of a cluster. A server that needs longer is one that
// could not be asked.
const lookDeadline = 3 * time.Second

// observe takes one snapshot: the objects from the cache, then every server at once.
func (r *MongoTuningReconciler) observe(ctx context.Context, cluster desired.Cluster, as secrets) (observed.Cluster, error) {
	pods, err := r.pods(ctx, cluster.Tuning)
	if err != nil {
		return observed.Cluster{}, err
	}
	seen := observed.Cluster{Now: r.Clock.Now()}
	for _, set := range desired.ReplicaSets(cluster.Tuning) {
		observedSet, err := r.observeObjects(ctx, cluster, set, pods)
		if err != nil {
			return observed.Cluster{}, err
		}
		seen.ReplicaSets = append(seen.ReplicaSets, observedSet)
	}
	if seen.Mongos, err = r.observeMongosObjects(ctx, cluster.Tuning); err != nil {
		return observed.Cluster{}, err
	}
	r.ask(ctx, cluster, &seen, pods, as)
	r.askForApp(ctx, cluster.Tuning, &seen, pods, as)
	r.explainExits(ctx, cluster.Tuning.Namespace, &seen, as)
	if seen.Trials, err = r.observeTrials(ctx, cluster.Tuning, pods); err != nil {
		return observed.Cluster{}, err
	}
	if seen.Hosts, err = r.observeHosts(ctx, cluster.Tuning, pods); err != nil {
		return observed.Cluster{}, err
	}
	r.Databases.Forget(ctx, client.ObjectKeyFromObject(cluster.Tuning).String(), liveUIDs(pods))
	return seen, nil
}

func (r *MongoTuningReconciler) explainExits(ctx context.Context, namespace string, seen *observed.Cluster, as secrets) {
	for i := range seen.ReplicaSets {
		for j := range seen.ReplicaSets[i].Members {
			r.ExitLogs.explain(ctx, namespace, &seen.ReplicaSets[i].Members[j], as)
		}
	}
}

// pods are all database pods of a MongoTuning by name.
func (r *MongoTuningReconciler) pods(ctx context.Context, tuning *v1alpha1.MongoTuning) (map[string]*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := r.List(ctx, list, client.InNamespace(tuning.Namespace), client.MatchingLabels(naming.Labels(tuning.Name))); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	return pods, nil
}

func liveUIDs(pods map[string]*corev1.Pod) map[string]bool {
	live := map[string]bool{}
	for _, pod := range pods {
		live[string(pod.UID)] = true
	}
	return live
}

func (r *MongoTuningReconciler) observeObjects(ctx context.Context, cluster desired.Cluster, set desired.ReplicaSet, pods map[string]*corev1.Pod) (observed.ReplicaSet, error) {
	seen := observed.ReplicaSet{Name: set.Name, Component: set.Component, Files: map[string]string{}}
	statefulSet := &appsv1.StatefulSet{}
	key := types.NamespacedName{Namespace: cluster.Tuning.Namespace, Name: set.Name}
	if err := r.Get(ctx, key, statefulSet); client.IgnoreNotFound(err) != nil {
		return seen, fmt.Errorf("get StatefulSet %s: %w", set.Name, err)
	}
	seen.TemplateHash = statefulSet.Annotations[naming.AnnotationTemplateHash]
	files := &corev1.ConfigMap{}
	key.Name = naming.ConfigFiles(set.Name)
	if err := r.Get(ctx, key, files); client.IgnoreNotFound(err) != nil {
		return seen, fmt.Errorf("get ConfigMap %s: %w", key.Name, err)
	}
	for _, name := range set.Pods() {
		if file, written := files.Data[naming.ConfigFile(name)]; written {
			seen.Files[name] = file
		}
		seen.Members = append(seen.Members, observed.Member{Name: name, Pod: observePod(pods[name])})
	}
	return seen, nil
}

func observePod(pod *corev1.Pod) observed.Pod {
	if pod == nil {
		return observed.Pod{}
	}
	seen := observed.Pod{
		Exists:       true,
		UID:          string(pod.UID),
		Terminating:  !pod.DeletionTimestamp.IsZero(),
		TemplateHash: pod.Annotations[naming.AnnotationTemplateHash],
		KeyFileID:    pod.Annotations[naming.AnnotationKeyFile],
		FileID:       pod.Annotations[naming.AnnotationConfigFile],
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			seen.Ready = condition.Status == corev1.ConditionTrue
		}
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			seen.Trouble = "not scheduled: " + condition.Message
		}
	}
	for _, container := range pod.Spec.Containers {
		if limit, ok := container.Resources.Limits[corev1.ResourceMemory]; ok && container.Name == desired.ContainerMember {
			seen.MemoryLimit = limit.Value()
		}
	}
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, container := range statuses {
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "PodInitializing" && waiting.Reason != "ContainerCreating" {
			seen.Trouble = fmt.Sprintf("container %s waits: %s %s", container.Name, waiting.Reason, waiting.Message)
		}
		ended := container.LastTerminationState.Terminated
		if ended != nil && container.Name == desired.ContainerMember {
			seen.Exited = &observed.Exit{Code: ended.ExitCode, Restarts: container.RestartCount}
		}
	}
	return seen
}

func (r *MongoTuningReconciler) observeMongosObjects(ctx context.Context, tuning *v1alpha1.MongoTuning) (observed.Mongos, error) {
	seen := observed.Mongos{Wanted: tuning.Spec.Mongos.Replicas, Error: "no mongos is ready"}
	deployment := &appsv1.Deployment{}
	name := naming.Mongos(tuning.Name)
	if err := r.Get(ctx, types.NamespacedName{Namespace: tuning.Namespace, Name: name}, deployment); client.IgnoreNotFound(err) != nil {
		return seen, fmt.Errorf("get Deployment %s: %w", name, err)
	}
	seen.Ready = deployment.Status.ReadyReplicas
	if deployment.Status.ObservedGeneration == deployment.Generation {
		seen.Updated = deployment.Status.UpdatedReplicas
	}
	return seen, nil
}

// ask puts every question to every server at once, under one deadline.
func (r *MongoTuningReconciler) ask(ctx context.Context, cluster desired.Cluster, seen *observed.Cluster, pods map[string]*corev1.Pod, as secrets) {
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	var wait sync.WaitGroup
	for i := range seen.ReplicaSets {
		for j := range seen.ReplicaSets[i].Members {
			member := &seen.ReplicaSets[i].Members[j]
			server, ok := serverOf(pods[member.Name])
			if !ok {
				continue
			}
			server.Line, server.WantsOplog = cluster.Resolved.Version.Line(), r.gauges.wantsOplog(server.PodUID, seen.Now)
			server.WantsMigrations = seen.ReplicaSets[i].Component == v1alpha1.ComponentConfigServer
			settings := cluster.Resolved.Settings[seen.ReplicaSets[i].Component]
			server.WantsOplogSize = settings.Declares(catalog.OplogSize)
			server.WantsSlowOperations = settings.Declares(catalog.SlowOperationThreshold) || settings.Declares(catalog.SlowOperationSample)
			wait.Go(func() { member.Look = r.Databases.Look(ctx, server, as) })
		}
	}
	wait.Go(func() { r.askMongos(ctx, &seen.Mongos, pods, as) })
	wait.Wait()
	for i := range seen.ReplicaSets {
		set := &seen.ReplicaSets[i]
		set.Listed = set.Component == v1alpha1.ComponentConfigServer || slices.Contains(seen.Mongos.Shards, set.Name)
	}
}

// askMongos asks the ready routers one after the other until one answers.
func (r *MongoTuningReconciler) askMongos(ctx context.Context, seen *observed.Mongos, pods map[string]*corev1.Pod, as secrets) {
	for _, server := range mongosServers(pods) {
		shards, err := r.Databases.LookAtMongos(ctx, server, as)
		if err == nil {
			seen.Answered, seen.Error, seen.Shards = true, "", shards
			return
		}
		seen.Error = err.Error()
	}
}

// mongosServers are the routers that are ready, always in the same order.
func mongosServers(pods map[string]*corev1.Pod) []Server {
	var servers []Server
	for _, pod := range pods {
		if pod.Labels[naming.LabelComponent] != naming.ComponentLabel(v1alpha1.ComponentMongos) || !observePod(pod).Ready {
			continue
		}
		if server, ok := serverOf(pod); ok {
			servers = append(servers, server)
		}
	}
	slices.SortFunc(servers, func(a, b Server) int { return strings.Compare(a.PodUID, b.PodUID) })
	return servers
}

// serverOf is the address of a pod's server, by IP: names of pods resolve late and lie after a restart.
func serverOf(pod *corev1.Pod) (Server, bool) {
	if pod == nil || pod.Status.PodIP == "" {
		return Server{}, false
	}
	return Server{PodUID: string(pod.UID), Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.Port))}, true
}

// askForApp finds out whether the application's password is in force. It is asked again only when its
// Secret or the config servers' primary is another one: a SCRAM exchange is made to be slow.
func (r *MongoTuningReconciler) askForApp(ctx context.Context, tuning *v1alpha1.MongoTuning, seen *observed.Cluster, pods map[string]*corev1.Pod, as secrets) {
	config := seen.ReplicaSets[len(seen.ReplicaSets)-1]
	primary := config.Primary()
	if primary == nil || primary.Look.LockedOut {
		return
	}
	key := client.ObjectKeyFromObject(tuning)
	state := as.appVersion + "/" + primary.Pod.UID
	if r.apps.isKnown(key, state) {
		seen.AppKnown = true
		return
	}
	server, ok := serverOf(pods[primary.Name])
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	known, err := r.Databases.KnowsApp(ctx, server, as)
	if err != nil {
		seen.AppError = err.Error()
		return
	}
	if seen.AppKnown = known; known {
		r.apps.remember(key, state)
	}
	seen.AppUnknown = !known
}

// knownApps remembers for which Secret and primary the application's password was proved.
type knownApps struct {
	mu    sync.Mutex
	known map[types.NamespacedName]string
}

func (k *knownApps) isKnown(key types.NamespacedName, state string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[key] == state
}

func (k *knownApps) remember(key types.NamespacedName, state string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[types.NamespacedName]string{}
	}
	k.known[key] = state
}

// tuningOfPod wakes the MongoTuning whose label a pod carries.
func tuningOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	labels := pod.GetLabels()
	if labels[naming.LabelManagedBy] != naming.ManagedBy || labels[naming.LabelInstance] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: labels[naming.LabelInstance]}}}
}
