// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// StorageSpec is a data volume.
//
// +kubebuilder:validation:XValidation:rule="has(self.className) == has(oldSelf.className) && (!has(self.className) || self.className == oldSelf.className)",fieldPath=".className",message="must stay as it was made, set or unset: moving data to another class is not supported yet"
type StorageSpec struct {
	// size of the volume, at least 1Gi. Immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Gi')) >= 0",message="must be at least 1Gi: the journal and the oplog of an empty member do not fit into less"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) == 0",message="must stay as it was made: resizing volumes is not supported yet"
	Size resource.Quantity `json:"size"`

	// className is the StorageClass of the volume. Immutable. Unset: the cluster's default class.
	// Use a class with the mount option noatime and the XFS file system for MongoDB.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName *string `json:"className,omitempty"`
}

// Resources are the compute resources of one container.
//
// +kubebuilder:validation:XValidation:rule="!self.?requests.?cpu.hasValue() || !self.?limits.?cpu.hasValue() || quantity(string(self.requests.cpu)).compareTo(quantity(string(self.limits.cpu))) <= 0",fieldPath=".requests.cpu",message="must be at most limits.cpu: Kubernetes refuses the pods otherwise"
// +kubebuilder:validation:XValidation:rule="!self.?requests.?memory.hasValue() || !self.?limits.?memory.hasValue() || quantity(string(self.requests.memory)).compareTo(quantity(string(self.limits.memory))) <= 0",fieldPath=".requests.memory",message="must be at most limits.memory: Kubernetes refuses the pods otherwise"
type Resources struct {
	// requests is what the scheduler reserves.
	// +optional
	Requests ComputeQuantities `json:"requests,omitempty,omitzero"`

	// limits is what the container may use at most. limits.memory is what cacheSizePercent and the
	// 80 % rule of cacheSizeGB count from.
	// +optional
	Limits ComputeQuantities `json:"limits,omitempty,omitzero"`
}

// ComputeQuantities are an amount of CPU and memory.
type ComputeQuantities struct {
	// cpu in cores or millicores, for example "2" or "500m".
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="must be more than zero"
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory in bytes, for example "4Gi", at least 256Mi: less than that does not hold the smallest
	// cache mongod takes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('256Mi')) >= 0",message="must be at least 256Mi: less does not hold the smallest cache mongod takes"
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// Spread says how strictly pods of one kind are kept apart.
//
// +kubebuilder:validation:Enum=Preferred;Required;None
type Spread string

// Values of placement.nodeSpread and placement.zoneSpread.
const (
	// SpreadPreferred keeps pods apart where there is room and puts them together where there is not.
	SpreadPreferred Spread = "Preferred"
	// SpreadRequired leaves a pod pending rather than put two together.
	SpreadRequired Spread = "Required"
	// SpreadNone does not look where the others are.
	SpreadNone Spread = "None"
)

// Placement says on which nodes pods may run.
type Placement struct {
	// nodeSpread keeps the members of one replica set (or the mongos pods) on different nodes.
	// Default Preferred.
	// +optional
	// +kubebuilder:default=Preferred
	NodeSpread Spread `json:"nodeSpread,omitempty"`

	// zoneSpread keeps them in different zones (label topology.kubernetes.io/zone). Default Preferred.
	// +optional
	// +kubebuilder:default=Preferred
	ZoneSpread Spread `json:"zoneSpread,omitempty"`

	// nodeSelector is the set of labels a node must have.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.size() <= 317 && self[key].size() <= 63)",message="must hold labels: keys of at most 317 characters, values of at most 63"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations let pods run on tainted nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// priorityClassName of the pods.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// Toleration lets a pod run on a node with a matching taint; the fields are those of a pod's toleration.
//
// +kubebuilder:validation:XValidation:rule="(has(self.key) && self.key.size() > 0) || (has(self.operator) && self.operator == 'Exists')",fieldPath=".key",message="must be set unless operator is Exists"
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value.size() == 0",fieldPath=".value",message="must be left out when operator is Exists"
// +kubebuilder:validation:XValidation:rule="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",fieldPath=".tolerationSeconds",message="must be left out unless effect is NoExecute"
type Toleration struct {
	// key of the taint. Unset matches every key and needs operator Exists.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key,omitempty"`

	// operator is Equal (key and value must match) or Exists (the key must). Unset means Equal.
	// +optional
	// +kubebuilder:validation:Enum=Equal;Exists
	Operator string `json:"operator,omitempty"`

	// value of the taint, for operator Equal.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// effect of the taint. Unset matches all effects.
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect string `json:"effect,omitempty"`

	// tolerationSeconds is how long a pod stays on a node tainted NoExecute. Unset: for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}
