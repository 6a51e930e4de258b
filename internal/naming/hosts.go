// SPDX-License-Identifier: Apache-2.0

package naming

// Annotations of host tuning.
const (
	// AnnotationHostNode on a Job and its pod names the node it is for; node names are longer than labels
	// may be.
	AnnotationHostNode = "mongotuning.io/host-node"
	// AnnotationHostRevision names host settings: on a Job those it brings, on a member's pod those that
	// were written for its node last. Touching it makes the kubelet refresh the mounted ConfigMap at once.
	AnnotationHostRevision = "mongotuning.io/host-revision"
	// AnnotationHostSettings on the pod of a Job is the file with the settings it brings.
	AnnotationHostSettings = "mongotuning.io/host-settings"
)

// LabelHostJob on a Job and its pod says what it does to its node: apply or restore.
const LabelHostJob = "mongotuning.io/host-job"

// Values of LabelHostJob.
const (
	HostJobApply   = "apply"
	HostJobRestore = "restore"
)

// Containers of host tuning.
const (
	// HostTuneContainer is the privileged container that sets host settings, in members and in Jobs.
	HostTuneContainer = "host-tune"
	// HostReaderContainer is the one without privileges that reads them.
	HostReaderContainer = "host-reader"
)

// HostSettings is the ConfigMap with the host settings of each node.
func HostSettings(tuning string) string { return tuning + "-host" }

// HostJob is the name of a Job that sets or restores a node.
func HostJob(tuning, id string) string { return tuning + "-host-" + id }

// HostJobLabels are on a Job that sets or restores a node, and on its pod.
func HostJobLabels(tuning, does string) map[string]string {
	labels := Labels(tuning)
	labels[LabelComponent] = "host-tuning"
	labels[LabelHostJob] = does
	return labels
}
