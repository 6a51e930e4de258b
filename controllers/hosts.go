// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=create

// HostReaders asks the readers in the pods what host settings they see.
type HostReaders interface {
	// Read asks the reader at an IP address.
	Read(ctx context.Context, address string) (hosttune.Reading, error)
}

// observeHosts reads where members run, what was written for their nodes, what their init containers and
// Jobs said, and what their readers see now. Without host tuning there is nothing to ask for.
func (r *MongoTuningReconciler) observeHosts(ctx context.Context, tuning *v1alpha1.MongoTuning, pods map[string]*corev1.Pod) (observed.Hosts, error) {
	seen := observed.Hosts{}
	concerned := len(tuning.Status.HostTuning.NodesTouched) > 0
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if pods[name].Labels[naming.LabelReplicaSet] != "" && pods[name].Labels[naming.LabelTrial] == "" {
			pod := observeHostPod(pods[name])
			concerned = concerned || pod.Tunes
			seen.Pods = append(seen.Pods, pod)
		}
	}
	if !concerned {
		return observed.Hosts{}, nil
	}
	var err error
	if seen.Files, err = r.hostFiles(ctx, tuning); err != nil {
		return seen, err
	}
	if seen.Jobs, err = r.observeHostJobs(ctx, tuning, pods); err != nil {
		return seen, err
	}
	if seen.Gone, err = r.goneNodes(ctx, tuning, seen.Pods); err != nil {
		return seen, err
	}
	r.askReaders(ctx, seen.Pods, pods)
	return seen, nil
}

func observeHostPod(pod *corev1.Pod) observed.HostPod {
	seen := observed.HostPod{Name: pod.Name, UID: string(pod.UID), Node: pod.Spec.NodeName, Revision: pod.Annotations[naming.AnnotationHostRevision]}
	for _, container := range pod.Spec.InitContainers {
		seen.Tunes = seen.Tunes || container.Name == naming.HostTuneContainer
	}
	seen.Waits = seen.Tunes
	for _, container := range pod.Status.InitContainerStatuses {
		if container.Name != naming.HostTuneContainer {
			continue
		}
		ended := container.State.Terminated
		seen.Waits = ended == nil
		if ended == nil {
			ended = container.LastTerminationState.Terminated
		}
		seen.Report = reportOf(ended)
	}
	return seen
}

// reportOf reads the last words of a container; nil when it has not ended, or said nothing.
func reportOf(ended *corev1.ContainerStateTerminated) *observed.HostReport {
	if ended == nil || ended.Message == "" {
		return nil
	}
	return &observed.HostReport{Report: hosttune.Decode(ended.Message), At: ended.FinishedAt.Time}
}

// hostFiles are the settings of each node as they lie in the ConfigMap.
func (r *MongoTuningReconciler) hostFiles(ctx context.Context, tuning *v1alpha1.MongoTuning) (map[string]string, error) {
	written := &corev1.ConfigMap{}
	name := naming.HostSettings(tuning.Name)
	err := r.Get(ctx, types.NamespacedName{Namespace: tuning.Namespace, Name: name}, written)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	files := map[string]string{}
	for key, file := range written.Data {
		if node, isSettings := strings.CutSuffix(key, hosttune.SettingsKey("")); isSettings {
			files[node] = file
		}
	}
	return files, nil
}

func (r *MongoTuningReconciler) observeHostJobs(ctx context.Context, tuning *v1alpha1.MongoTuning, pods map[string]*corev1.Pod) ([]observed.HostJob, error) {
	list := &batchv1.JobList{}
	err := r.List(ctx, list, client.InNamespace(tuning.Namespace), client.MatchingLabels(naming.Labels(tuning.Name)), client.HasLabels{naming.LabelHostJob})
	if err != nil {
		return nil, fmt.Errorf("list Jobs of nodes: %w", err)
	}
	var jobs []observed.HostJob
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			jobs = append(jobs, observeHostJob(&list.Items[i], pods))
		}
	}
	return jobs, nil
}

func observeHostJob(job *batchv1.Job, pods map[string]*corev1.Pod) observed.HostJob {
	seen := observed.HostJob{
		Name: job.Name, Node: job.Annotations[naming.AnnotationHostNode], Does: job.Labels[naming.LabelHostJob],
		Revision: job.Annotations[naming.AnnotationHostRevision],
	}
	words := ""
	for _, pod := range pods {
		if pod.Labels[batchv1.JobNameLabel] != job.Name {
			continue
		}
		words = observePod(pod).Trouble
		for _, container := range pod.Status.ContainerStatuses {
			if report := reportOf(container.State.Terminated); report != nil {
				seen.Report = report
			}
		}
	}
	trial := trialOf(job, words)
	seen.State, seen.Message = trial.State, words
	for _, condition := range job.Status.Conditions {
		if words == "" && condition.Type == batchv1.JobFailed {
			seen.Message = condition.Message
		}
	}
	return seen
}

// goneNodes are the touched nodes without members that do not exist any more. Only those are asked for.
func (r *MongoTuningReconciler) goneNodes(ctx context.Context, tuning *v1alpha1.MongoTuning, pods []observed.HostPod) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, node := range tuning.Status.HostTuning.NodesTouched {
		if slices.ContainsFunc(pods, func(pod observed.HostPod) bool { return pod.Node == node && pod.Tunes }) {
			continue
		}
		is, err := r.isGone(ctx, node)
		if err != nil {
			return nil, err
		}
		gone[node] = is
	}
	return gone, nil
}

func (r *MongoTuningReconciler) isGone(ctx context.Context, node string) (bool, error) {
	err := r.Uncached.Get(ctx, types.NamespacedName{Name: node}, &corev1.Node{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, wrap(err, "get node "+node)
}

// askReaders asks every reader at once, under one deadline.
func (r *MongoTuningReconciler) askReaders(ctx context.Context, seen []observed.HostPod, pods map[string]*corev1.Pod) {
	if r.HostReaders == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	var wait sync.WaitGroup
	for i := range seen {
		pod := &seen[i]
		address := pods[pod.Name].Status.PodIP
		if !pod.Tunes || pod.Waits || address == "" {
			continue
		}
		wait.Go(func() {
			reading, err := r.HostReaders.Read(ctx, address)
			if err != nil {
				pod.ReadingError = err.Error()
				return
			}
			pod.Reading = &reading
		})
	}
	wait.Wait()
}

// admitHosts writes the settings of nodes that were recorded and have none, which lets the members on
// them go on, and takes away those of nodes that were left. Settings that are there already are changed
// by an action of the plan.
func (r *MongoTuningReconciler) admitHosts(ctx context.Context, tuning *v1alpha1.MongoTuning, goal plan.Wanted, hosts []plan.Host) error {
	if len(hosts) == 0 {
		return nil
	}
	before, err := r.hostFiles(ctx, tuning)
	if err != nil {
		return err
	}
	files := map[string]string{}
	var recorded []string
	for _, host := range hosts {
		file := before[host.Name]
		switch {
		case !host.IsRecorded || host.IsLeft:
			continue
		case file == "":
			if recorded == nil {
				// The cached object may lack what was just taken away again; what is written on a node has to
				// be recorded now.
				if recorded, err = r.recordedNodes(ctx, tuning); err != nil {
					return err
				}
			}
			if !slices.Contains(recorded, host.Name) {
				continue
			}
			file = desired.HostSettingsFile(host.Target)
		}
		files[host.Name] = file
	}
	if err := r.writeHostFiles(ctx, goal.Cluster, before, files); err != nil {
		return err
	}
	for _, host := range hosts {
		if err := r.touchHostPods(ctx, tuning, host.Pods, files[host.Name]); err != nil {
			return err
		}
	}
	return nil
}

func (r *MongoTuningReconciler) recordedNodes(ctx context.Context, tuning *v1alpha1.MongoTuning) ([]string, error) {
	live := &v1alpha1.MongoTuning{}
	if err := r.Uncached.Get(ctx, client.ObjectKeyFromObject(tuning), live); err != nil {
		return nil, fmt.Errorf("get MongoTuning %s: %w", tuning.Name, err)
	}
	if live.UID != tuning.UID || !live.DeletionTimestamp.IsZero() {
		return []string{}, nil
	}
	return live.Status.HostTuning.NodesTouched, nil
}

func (r *MongoTuningReconciler) writeHostFiles(ctx context.Context, cluster desired.Cluster, before, files map[string]string) error {
	if maps.Equal(before, files) {
		return nil
	}
	return r.apply(ctx, cluster.Tuning, cluster.HostSettingsFiles(files))
}

// touchHostPods tells the pods of a node that their settings are other ones, so that the kubelet brings
// them the file now rather than within its minute.
func (r *MongoTuningReconciler) touchHostPods(ctx context.Context, tuning *v1alpha1.MongoTuning, pods []observed.HostPod, file string) error {
	var settings hosttune.Settings
	if err := json.Unmarshal([]byte(file), &settings); err != nil {
		return nil //nolint:nilerr // no settings, nothing to tell
	}
	for _, pod := range pods {
		if pod.Revision == settings.Revision {
			continue
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": pod.UID, "annotations": map[string]string{naming.AnnotationHostRevision: settings.Revision},
		}})
		if err != nil {
			return fmt.Errorf("encode annotation: %w", err)
		}
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: tuning.Namespace, Name: pod.Name}}
		err = r.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("touch pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// performOnHost carries out an action that concerns one node.
func (r *MongoTuningReconciler) performOnHost(ctx context.Context, cluster desired.Cluster, action plan.Action) error {
	since := cluster.Tuning.Status.HostTuning.Of(action.Node)
	if action.Kind == plan.RestoreHost {
		return r.startHostJob(ctx, cluster, cluster.RestoreHost(since))
	}
	var settings hosttune.Settings
	if err := json.Unmarshal([]byte(action.File), &settings); err != nil {
		return fmt.Errorf("read host settings: %w", err)
	}
	before, err := r.hostFiles(ctx, cluster.Tuning)
	if err != nil {
		return err
	}
	files := maps.Clone(before)
	files[action.Node] = action.File
	if err := r.writeHostFiles(ctx, cluster, before, files); err != nil {
		return err
	}
	pods, err := r.pods(ctx, cluster.Tuning)
	if err != nil {
		return err
	}
	running := map[string]string{}
	for name, pod := range pods {
		if seen := observeHostPod(pod); seen.Tunes && seen.Node == action.Node {
			running[name] = seen.UID
		}
	}
	return r.startHostJob(ctx, cluster, cluster.ApplyHost(since, settings, running))
}
