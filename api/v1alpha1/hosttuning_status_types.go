// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostTuningStatus is what was done to the nodes of the mongod pods.
type HostTuningStatus struct {
	// nodesTouched are the nodes whose settings may have been changed. A node is written here before
	// anything may be written on it, and leaves the list when it was put back, or is gone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=253
	NodesTouched []string `json:"nodesTouched,omitempty"`

	// nodes are the reports, one for each node that sent one.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=512
	Nodes []HostNodeStatus `json:"nodes,omitempty"`

	// warnings say how the nodes of one shard differ from each other.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	Warnings []string `json:"warnings,omitempty"`
}

// Of is the report of a node; only its name is set when there is none.
func (s HostTuningStatus) Of(node string) HostNodeStatus {
	for _, known := range s.Nodes {
		if known.Name == node {
			return *known.DeepCopy()
		}
	}
	return HostNodeStatus{Name: node}
}

// HostNodeStatus is the report of one node.
type HostNodeStatus struct {
	// name of the node.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// revision names the settings that the report is about.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`

	// reportTime is when the report was given.
	// +optional
	ReportTime *metav1.Time `json:"reportTime,omitempty"`

	// inForce says how many of the declared settings the node has, of how many: "7/8".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	InForce string `json:"inForce,omitempty"`

	// failure says why there is no report of the revision; empty when there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Failure string `json:"failure,omitempty"`

	// settings of the report, the worst result first. A report that was too long for its way lacks the
	// best ones, and inForce counts those it has; with more than 64 nodes only the bad ones are kept.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Settings []HostSettingStatus `json:"settings,omitempty"`

	// facts about the node that its neighbours in a shard are compared with.
	// +optional
	Facts HostFacts `json:"facts,omitempty,omitzero"`
}

// HostFacts are facts about a node.
type HostFacts struct {
	// kernel is the kernel release.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Kernel string `json:"kernel,omitempty"`

	// cpus is their number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CPUs int32 `json:"cpus,omitempty"`

	// memoryMiB is the memory of the node.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MemoryMiB int64 `json:"memoryMiB,omitempty"`

	// writeMiBPerSecond is what the data volume took when it was measured; absent when it was not.
	// +optional
	// +kubebuilder:validation:Minimum=0
	WriteMiBPerSecond int64 `json:"writeMiBPerSecond,omitempty"`
}

// HostSettingStatus is how one setting went on one node.
type HostSettingStatus struct {
	// name of the setting: the name of a sysctl, or the path of a field and the device it was set on.
	// +required
	// +kubebuilder:validation:MaxLength=192
	Name string `json:"name"`

	// result is what became of it.
	// +required
	Result HostResult `json:"result"`

	// scope is what the setting holds for: Node, Pod (the network of one pod), Interface, Device or Process.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Scope string `json:"scope,omitempty"`

	// wanted is the declared value.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Wanted string `json:"wanted,omitempty"`

	// found is the value before, or after a drift the value that somebody else has set.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Found string `json:"found,omitempty"`

	// set is the value that was written, where it is not the declared one.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Set string `json:"set,omitempty"`

	// readBack is the value after it was written, where it is not the declared one.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ReadBack string `json:"readBack,omitempty"`

	// detail says why a result is what it is.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Detail string `json:"detail,omitempty"`
}

// HostResult is what became of a setting on a node.
//
// +kubebuilder:validation:Enum=Refused;Conflict;Differs;Warning;Unreadable;Unsupported;NotNeeded;Restored;Applied;AlreadySet;Checked
type HostResult string

// Results of a setting, the worst first.
const (
	// HostRefused means that the value was not taken, or not tried for a reason.
	HostRefused HostResult = "Refused"
	// HostConflict means that an older MongoTuning holds the setting at another value on this node.
	HostConflict HostResult = "Conflict"
	// HostDiffers means that the value was set and somebody else has changed it since.
	HostDiffers HostResult = "Differs"
	// HostWarning is a check that is not as MongoDB wants it; nothing was to be set.
	HostWarning HostResult = "Warning"
	// HostUnreadable means that the reader in the pod may not see the value.
	HostUnreadable HostResult = "Unreadable"
	// HostUnsupported means that the kernel, the driver or the device has no such setting.
	HostUnsupported HostResult = "Unsupported"
	// HostNotNeeded means that the setting would do nothing on this node.
	HostNotNeeded HostResult = "NotNeeded"
	// HostRestored means that the value found first was put back.
	HostRestored HostResult = "Restored"
	// HostApplied means that the value was written and read back.
	HostApplied HostResult = "Applied"
	// HostAlreadySet means that the node had the value.
	HostAlreadySet HostResult = "AlreadySet"
	// HostChecked is a check that is as MongoDB wants it.
	HostChecked HostResult = "Checked"
)
