// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// playedHosts are the sysctls of the nodes of a test.
type playedHosts struct {
	// values of the node now, and those found first of what was set.
	values, originals map[string]string
	// refuses are settings that the kernel does not take.
	refuses map[string]bool
	// stuck lets Jobs never end.
	stuck bool
	// writers are daemons that write settings by themselves.
	writers []string
	// starting are the servers of pods whose init container waits, by the UID of the pod.
	starting map[string]func()

	now time.Time
}

func newPlayedHosts() *playedHosts {
	return &playedHosts{
		values:    map[string]string{"vm.swappiness": "60", "vm.max_map_count": "65530"},
		originals: map[string]string{}, refuses: map[string]bool{}, starting: map[string]func(){},
		now: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC),
	}
}

// apply is a run of host-tune.
func (h *playedHosts) apply(settings hosttune.Settings) hosttune.Report {
	report := hosttune.Report{Revision: settings.Revision, Facts: hosttune.Facts{Kernel: "6.1.0", CPUs: 8, MemoryMiB: 32000}}
	wanted := map[string]bool{}
	for _, sysctl := range settings.Sysctls {
		wanted[sysctl.Name] = true
		line := hosttune.Line{Setting: sysctl.Name, Scope: hosttune.ScopeNode, Found: h.values[sysctl.Name], Wanted: sysctl.Value}
		switch {
		case h.refuses[sysctl.Name]:
			line.Result, line.Errno = hosttune.Refused, "EPERM"
		case line.Found == sysctl.Value:
			line.Result = hosttune.AlreadySet
		default:
			if _, known := h.originals[sysctl.Name]; !known {
				h.originals[sysctl.Name] = line.Found
			}
			h.values[sysctl.Name] = sysctl.Value
			line.Result, line.Set, line.ReadBack = hosttune.Applied, sysctl.Value, sysctl.Value
		}
		report.Lines = append(report.Lines, line)
	}
	for name, original := range h.originals {
		if !wanted[name] {
			h.values[name] = original
			delete(h.originals, name)
			report.Lines = append(report.Lines, hosttune.Line{Setting: name, Scope: hosttune.ScopeNode, Result: hosttune.Restored, Set: original})
		}
	}
	return report
}

// ended is a container that has just ended with a report.
func (h *playedHosts) ended(name string, report hosttune.Report) corev1.ContainerStatus {
	h.now = h.now.Add(time.Minute)
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		FinishedAt: metav1.NewTime(h.now), Message: hosttune.Encode(report, hosttune.MessageLimit),
	}}}
}

func tunesHost(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(container corev1.Container) bool { return container.Name == naming.HostTuneContainer })
}

// runHostTune lets init containers tune the node once its settings are there, and their servers start.
func (k *kubernetes) runHostTune(ctx context.Context) {
	k.t.Helper()
	for _, pod := range k.pods(ctx) {
		start := k.hosts.starting[string(pod.UID)]
		settings, cleared := k.settings(ctx, pod)
		if start == nil || !cleared || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		k.mustBeRecorded(ctx, pod)
		delete(k.hosts.starting, string(pod.UID))
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{k.hosts.ended(naming.HostTuneContainer, k.hosts.apply(settings))}
		k.must(k.client.Status().Update(ctx, pod))
		start()
	}
}

// settings are those that the ConfigMap has for the node of a pod.
func (k *kubernetes) settings(ctx context.Context, pod *corev1.Pod) (settings hosttune.Settings, found bool) {
	k.t.Helper()
	files := &corev1.ConfigMap{}
	name := naming.HostSettings(pod.Labels[naming.LabelInstance])
	if err := k.client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: name}, files); err != nil {
		k.must(client.IgnoreNotFound(err))
		return settings, false
	}
	file, found := files.Data[hosttune.SettingsKey(pod.Spec.NodeName)]
	if found {
		k.must(json.Unmarshal([]byte(file), &settings))
	}
	return settings, found
}

// mustBeRecorded fails when something is written on a node that status does not list.
func (k *kubernetes) mustBeRecorded(ctx context.Context, pod *corev1.Pod) {
	k.t.Helper()
	tuning := &v1alpha1.MongoTuning{}
	k.must(k.client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: pod.Labels[naming.LabelInstance]}, tuning))
	if !slices.Contains(tuning.Status.HostTuning.NodesTouched, pod.Spec.NodeName) {
		k.t.Errorf("%s writes on node %s, which status does not list: %v", pod.Name, pod.Spec.NodeName, tuning.Status.HostTuning.NodesTouched)
	}
}

func (k *kubernetes) runHostJob(ctx context.Context, job *batchv1.Job) {
	k.t.Helper()
	if k.hosts.stuck {
		return
	}
	pod := k.podOf(job.Spec.Template, job.Name+"-pod", job, "Job")
	pod.Labels[batchv1.JobNameLabel] = job.Name
	if !k.create(ctx, pod) {
		return
	}
	k.mustBeRecorded(ctx, pod)
	var settings hosttune.Settings
	k.must(json.Unmarshal([]byte(pod.Annotations[naming.AnnotationHostSettings]), &settings))
	if job.Labels[naming.LabelHostJob] == naming.HostJobRestore && len(settings.Sysctls) > 0 {
		k.t.Errorf("Job %s restores and brings settings", job.Name)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{k.hosts.ended(naming.HostTuneContainer, k.hosts.apply(settings))}
	k.must(k.client.Status().Update(ctx, pod))
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
	for _, condition := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now})
	}
	k.must(k.client.Status().Update(ctx, job))
}

// forgetHostJobs is what Kubernetes does to Jobs some minutes after they ended.
func (k *kubernetes) forgetHostJobs(ctx context.Context) {
	k.t.Helper()
	for _, list := range []client.Object{&batchv1.Job{}, &corev1.Pod{}} {
		k.must(k.client.DeleteAllOf(ctx, list, client.InNamespace(k.namespace), client.HasLabels{naming.LabelHostJob},
			client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
}

// playedReaders answer for the readers in the pods.
type playedReaders struct {
	kubernetes *kubernetes
}

// Read compares the values of the node with the settings that the pod at the address has.
func (r *playedReaders) Read(ctx context.Context, address string) (hosttune.Reading, error) {
	k := r.kubernetes
	pods := &corev1.PodList{}
	if err := k.client.List(ctx, pods, client.InNamespace(k.namespace)); err != nil {
		return hosttune.Reading{}, err
	}
	for i := range pods.Items {
		settings, found := k.settings(ctx, &pods.Items[i])
		if pods.Items[i].Status.PodIP != address || !found {
			continue
		}
		reading := hosttune.Reading{Revision: settings.Revision, Writers: k.hosts.writers}
		for _, sysctl := range settings.Sysctls {
			line := hosttune.Line{Setting: sysctl.Name, Scope: hosttune.ScopeNode, Found: k.hosts.values[sysctl.Name], Wanted: sysctl.Value, Result: hosttune.AlreadySet}
			if line.Found != line.Wanted {
				line.Result = hosttune.Differs
			}
			reading.Lines = append(reading.Lines, line)
		}
		return reading, nil
	}
	return hosttune.Reading{}, errors.New("there is no pod at this address")
}
