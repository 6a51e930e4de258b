// SPDX-License-Identifier: Apache-2.0

package desired

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mongotuning/mongotuning/internal/naming"
)

const (
	// trialKeptSeconds is how long a finished trial is remembered. Afterwards a file that is still to be
	// written is tried again, which costs a few seconds, and gives one that failed for a passing reason
	// (no room on a node, no image) another chance.
	trialKeptSeconds = int32(600)
	// trialDeadlineSeconds ends a trial whose pod cannot start at all.
	trialDeadlineSeconds = int64(300)

	volumeTrial = "trial"
	trialFile   = "trial.conf"
)

// TrialJob starts a server once with a newly rendered file, before any member gets it: servers accept
// settings at run time, and in a file, that they refuse at their next start. The file travels in an
// annotation of the pod, so that nothing else has to be cleaned up.
func (c Cluster) TrialJob(set ReplicaSet, file string) *batchv1ac.JobApplyConfiguration {
	id := FileID(file)
	labels := naming.TrialLabels(c.Tuning.Name, id)
	spec := c.podSpec(set.Placement, labels)
	spec.TopologySpreadConstraints = nil
	spec.Volumes = nil
	spec.InitContainers = nil
	container := c.databaseContainer("mongod", trialFile, set.Resources)
	// The builders of apply configurations append, so what differs from a member's container goes first.
	container.Command, container.VolumeMounts, container.Ports = nil, nil, nil
	container.StartupProbe, container.ReadinessProbe = nil, nil
	container.WithName(naming.TrialContainer).
		WithCommand(binaryPath, "member", "trial", "--", "mongod", "--config", trialPath+"/"+trialFile).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeTrial).WithMountPath(trialPath).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeBinary).WithMountPath(binaryDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeTemporary).WithMountPath(temporaryPath))
	spec.WithRestartPolicy(corev1.RestartPolicyNever).
		WithInitContainers(c.binaryContainer()).
		WithContainers(container).
		WithVolumes(
			corev1ac.Volume().WithName(volumeBinary).WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
			corev1ac.Volume().WithName(volumeTemporary).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
				WithSizeLimit(resource.MustParse("2Gi"))),
			corev1ac.Volume().WithName(volumeTrial).WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().
				WithItems(corev1ac.DownwardAPIVolumeFile().WithPath(trialFile).
					WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['"+naming.AnnotationTrialFile+"']")))))
	return batchv1ac.Job(naming.Trial(c.Tuning.Name, id), c.Tuning.Namespace).
		WithLabels(labels).
		WithOwnerReferences(c.owner()).
		WithSpec(batchv1ac.JobSpec().
			WithBackoffLimit(0).
			WithCompletionMode(batchv1.NonIndexedCompletion).
			WithActiveDeadlineSeconds(trialDeadlineSeconds).
			WithTTLSecondsAfterFinished(trialKeptSeconds).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithAnnotations(map[string]string{naming.AnnotationTrialFile: file}).
				WithSpec(spec)))
}

// binaryContainer copies only the binary: a trial has no key file.
func (c Cluster) binaryContainer() *corev1ac.ContainerApplyConfiguration {
	container := c.prepareContainer()
	container.Args, container.VolumeMounts = nil, nil
	return container.
		WithArgs("member", "prepare", "--binary-to="+binaryPath).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(volumeBinary).WithMountPath(binaryDir))
}
