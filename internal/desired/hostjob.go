// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
)

const (
	// hostJobKeptSeconds is how long a finished Job is remembered. The same settings are not brought to
	// the same node again before that: whoever writes them back is not fought every few seconds.
	hostJobKeptSeconds = int32(120)
	// hostJobDeadlineSeconds ends a Job whose pod cannot start; setting and restoring take a second.
	hostJobDeadlineSeconds = int64(90)
)

// ApplyHost is the Job that brings settings to a node on which members run already, the UIDs of whose
// pods are given by name: settings of the network hold for one pod. Since is the report of the node that
// it follows.
func (c Cluster) ApplyHost(since v1alpha1.HostNodeStatus, settings hosttune.Settings, pods map[string]string) *batchv1ac.JobApplyConfiguration {
	arguments := append(make([]string, 0, 2+len(pods)), settingsArgument, dataArgument)
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		arguments = append(arguments, "--pod="+name+"="+pods[name])
	}
	job := c.hostJob(since, naming.HostJobApply, settings, arguments...)
	job.Spec.Template.Spec.WithServiceAccountName(naming.ServiceAccount(c.Tuning.Name))
	return job.WithOwnerReferences(c.owner())
}

// RestoreHost is the Job that puts a node back. It belongs to nobody and uses no account of the
// MongoTuning: it has to outlive both where an object is deleted together with what it owns.
func (c Cluster) RestoreHost(since v1alpha1.HostNodeStatus) *batchv1ac.JobApplyConfiguration {
	return c.hostJob(since, naming.HostJobRestore, hosttune.Settings{Owner: HostOwner(c.Tuning)}, "--owner="+string(c.Tuning.UID))
}

// HostJobName is the name of the Job that does something to a node with some settings. It holds for one
// state of the node: after the next report the same settings make another Job, so that a remembered one
// is not taken for one that was just made.
func HostJobName(tuning *v1alpha1.MongoTuning, since v1alpha1.HostNodeStatus, does, revision string) string {
	state := ""
	if since.ReportTime != nil {
		state = since.ReportTime.UTC().Format(time.RFC3339Nano)
	}
	return naming.HostJob(tuning.Name, FileID(strings.Join([]string{string(tuning.UID), since.Name, does, revision, state}, "|")))
}

func (c Cluster) hostJob(since v1alpha1.HostNodeStatus, does string, settings hosttune.Settings, arguments ...string) *batchv1ac.JobApplyConfiguration {
	labels := naming.HostJobLabels(c.Tuning.Name, does)
	annotations := map[string]string{
		naming.AnnotationHostNode: since.Name, naming.AnnotationHostRevision: settings.Revision,
	}
	pod := maps.Clone(annotations)
	pod[naming.AnnotationHostSettings] = HostSettingsFile(settings)
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithRestartPolicy(corev1.RestartPolicyNever).
		// Bound without the scheduler, since a node that is cordoned or full is put back all the same.
		WithNodeName(since.Name).
		WithTolerations(corev1ac.Toleration().WithOperator(corev1.TolerationOpExists)).
		WithContainers(c.hostTuneContainer(does, arguments...)).
		WithVolumes(hostVolumes()...).
		WithVolumes(corev1ac.Volume().WithName(volumeHostSettings).WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().
			WithItems(corev1ac.DownwardAPIVolumeFile().WithPath(hosttune.SettingsKey(since.Name)).
				WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['" + naming.AnnotationHostSettings + "']")))))
	for _, secret := range c.Tuning.Spec.MongoDB.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	return batchv1ac.Job(HostJobName(c.Tuning, since, does, settings.Revision), c.Tuning.Namespace).
		WithLabels(labels).
		WithAnnotations(annotations).
		WithSpec(batchv1ac.JobSpec().
			WithBackoffLimit(0).
			WithCompletionMode(batchv1.NonIndexedCompletion).
			WithActiveDeadlineSeconds(hostJobDeadlineSeconds).
			WithTTLSecondsAfterFinished(hostJobKeptSeconds).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithAnnotations(pod).
				WithSpec(spec)))
}
