// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"

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

// HostJob is a Job that is bound to one node.
type HostJob struct {
	// Node it runs on.
	Node string
	// Does is naming.HostJobApply or naming.HostJobRestore.
	Does string
	// Settings it brings; for a restore those of nobody, with the owner whose settings are put back.
	Settings hosttune.Settings
}

// ApplyHost is the Job that brings settings to a node on which members run already.
func (c Cluster) ApplyHost(node string, settings hosttune.Settings) *batchv1ac.JobApplyConfiguration {
	job := c.hostJob(HostJob{Node: node, Does: naming.HostJobApply, Settings: settings})
	job.Spec.Template.Spec.WithServiceAccountName(naming.ServiceAccount(c.Tuning.Name))
	return job.WithOwnerReferences(c.owner())
}

// RestoreHost is the Job that puts a node back. It belongs to nobody and uses no account of the
// MongoTuning: it has to outlive both where an object is deleted together with what it owns.
func (c Cluster) RestoreHost(node string) *batchv1ac.JobApplyConfiguration {
	owner := hosttune.Settings{Owner: HostOwner(c.Tuning)}
	owner.Revision = FileID(HostSettingsFile(owner))
	return c.hostJob(HostJob{Node: node, Does: naming.HostJobRestore, Settings: owner})
}

// HostJobName is the name of the Job that does something to a node with some settings.
func HostJobName(tuning *v1alpha1.MongoTuning, node, does, revision string) string {
	return naming.HostJob(tuning.Name, FileID(node+"|"+does+"|"+revision))
}

func (c Cluster) hostJob(job HostJob) *batchv1ac.JobApplyConfiguration {
	labels := naming.HostJobLabels(c.Tuning.Name, job.Does)
	annotations := map[string]string{
		naming.AnnotationHostNode: job.Node, naming.AnnotationHostRevision: job.Settings.Revision,
	}
	pod := maps.Clone(annotations)
	pod[naming.AnnotationHostSettings] = HostSettingsFile(job.Settings)
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithRestartPolicy(corev1.RestartPolicyNever).
		// Bound without the scheduler, since a node that is cordoned or full is put back all the same.
		WithNodeName(job.Node).
		WithTolerations(corev1ac.Toleration().WithOperator(corev1.TolerationOpExists)).
		WithContainers(c.hostTuneContainer(job.Does)).
		WithVolumes(hostVolumes()...).
		WithVolumes(corev1ac.Volume().WithName(volumeHostSettings).WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().
			WithItems(corev1ac.DownwardAPIVolumeFile().WithPath(hosttune.SettingsKey(job.Node)).
				WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['" + naming.AnnotationHostSettings + "']")))))
	for _, secret := range c.Tuning.Spec.MongoDB.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	return batchv1ac.Job(HostJobName(c.Tuning, job.Node, job.Does, job.Settings.Revision), c.Tuning.Namespace).
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
