// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MongoTuning declares one tuned, sharded MongoDB cluster: the operator builds it, applies the tuning
// and proves every declared value from the running processes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mtune,categories=mongodb
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the declared tuning is in force and proved"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="What the operator is doing, or why it waits"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.mongodb.version`,description="Declared MongoDB version"
// +kubebuilder:printcolumn:name="Proved",type=string,JSONPath=`.status.provedMembers`,description="Members on which every declared value was read back, of all members"
// +kubebuilder:printcolumn:name="Profile",type=string,JSONPath=`.spec.profileRef.name`,priority=1,description="Profile the values start from"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="The same in one sentence"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 40 characters that starts with a letter, because the names of pods and Services are built from it"
type MongoTuning struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the cluster and the tuning that are wanted.
	// +required
	Spec MongoTuningSpec `json:"spec"`

	// status is what the operator found, and how far it has come.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status MongoTuningStatus `json:"status,omitempty,omitzero"`
}

// MongoTuningList is a list of MongoTuning.
//
// +kubebuilder:object:root=true
type MongoTuningList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MongoTuning `json:"items"`
}

// MongoTuningSpec is the cluster and the tuning that are wanted. The name spec.tls is reserved.
//
// +kubebuilder:validation:XValidation:rule="!self.?tuning.?cacheSizeGB.hasValue() || !self.shards.?resources.?limits.?memory.hasValue() || self.tuning.cacheSizeGB * 1073741824.0 <= 0.8 * quantity(string(self.shards.resources.limits.memory)).asApproximateFloat()",fieldPath=".tuning.cacheSizeGB",message="must be at most 80 % of shards.resources.limits.memory: connections, sorts and the file system cache need the rest"
// +kubebuilder:validation:XValidation:rule="!self.?tuning.?cacheSizePercent.hasValue() || self.shards.?resources.?limits.?memory.hasValue()",fieldPath=".tuning.cacheSizePercent",message="must be set only together with shards.resources.limits.memory: the cache is a share of that limit"
// +kubebuilder:validation:XValidation:rule="!self.?rollout.?canary.?shardIndex.hasValue() || self.rollout.canary.shardIndex < self.shards.count",fieldPath=".rollout.canary.shardIndex",message="must be less than shards.count: the shards are counted from 0"
type MongoTuningSpec struct {
	// mongodb says which server software runs, for every component.
	// +required
	MongoDB MongoDBSpec `json:"mongodb"`

	// shards describes the shards; all of them are alike.
	// +required
	Shards ShardsSpec `json:"shards"`

	// configServers describes the config server replica set.
	// +required
	ConfigServers ConfigServersSpec `json:"configServers"`

	// mongos describes the query routers.
	// +required
	Mongos MongosSpec `json:"mongos"`

	// profileRef names the TuningProfile whose values are the base; fields of tuning,
	// configServers.tuning and mongos.tuning override it one by one. Unset: no base values, only what
	// is declared here. Referring to another profile is a change like any other: online where the
	// server can take it, by restarts where it cannot.
	// +optional
	ProfileRef *ProfileReference `json:"profileRef,omitempty"`

	// tuning is the tuning of the shard members, laid over the profile field by field.
	// +optional
	Tuning *MongodTuning `json:"tuning,omitempty"`

	// hostTuning is what the nodes of the mongod pods are set to. Unset: nodes are left alone.
	// +optional
	HostTuning *HostTuningSpec `json:"hostTuning,omitempty"`

	// verification says how often the members are looked at and which limits their gauges are held to.
	// Unset: the built-in limits and the defaults of its fields.
	// +optional
	Verification *VerificationSpec `json:"verification,omitempty"`

	// rollout says how a change of tuning or resources travels from member to member once a first
	// revision was verified. Unset: the defaults of its fields.
	// +optional
	Rollout *RolloutSpec `json:"rollout,omitempty"`

	// driftPolicy says what happens to a value that was proved and then changed by hand on a running
	// member: Correct sets it back and tells so in an event, Report only tells, in an event and in the
	// condition Verified. While the object is suspended nothing is corrected. Default Correct.
	// +optional
	// +kubebuilder:default=Correct
	DriftPolicy DriftPolicy `json:"driftPolicy,omitempty"`

	// deletionPolicy says what deleting this object does to the running cluster: Delete removes its
	// StatefulSets, Services and the mongos Deployment, Orphan leaves them running and unmanaged.
	// Volumes and Secrets follow dataRetention. Default Delete.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// dataRetention says whether the volumes and Secrets outlive this object: Retain keeps them, so
	// that an object made anew under the same name takes up the data where it was; Delete removes
	// them together with the cluster. Not considered when deletionPolicy is Orphan. Default Retain.
	// +optional
	// +kubebuilder:default=Retain
	DataRetention DataRetention `json:"dataRetention,omitempty"`

	// suspend set to true stops every change to the cluster; looking, judging and metrics go on.
	// The annotation mongotuning.io/suspend: "true" does the same without a change of spec.
	// Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// DriftPolicy says what happens to values that were changed by hand.
//
// +kubebuilder:validation:Enum=Correct;Report
type DriftPolicy string

// DeletionPolicy says what deleting a MongoTuning does to the cluster it describes.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// DataRetention says whether volumes and Secrets outlive a MongoTuning.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DataRetention string

// Values of spec.driftPolicy, spec.deletionPolicy and spec.dataRetention; the fields say what they do.
const (
	DriftPolicyCorrect DriftPolicy = "Correct"
	DriftPolicyReport  DriftPolicy = "Report"

	DeletionPolicyDelete DeletionPolicy = "Delete"
	DeletionPolicyOrphan DeletionPolicy = "Orphan"

	DataRetentionRetain DataRetention = "Retain"
	DataRetentionDelete DataRetention = "Delete"
)

// MongoDBSpec says which server software runs.
type MongoDBSpec struct {
	// version is the MongoDB version of the image, as the server itself reports it, for example
	// "6.0.27": 4.2, 4.4, 5.0, 6.0, 7.0 or 8.0 with a patch number. It decides which knobs exist. The
	// patch number may change (members restart one by one); major.minor is refused for now. When the
	// servers answer with another version, the object stalls and says so.
	// +required
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:XValidation:rule="self.matches('^(4[.][24]|[5678][.]0)[.][0-9]+$')",message="must be a full version of a supported line: 4.2.x, 4.4.x, 5.0.x, 6.0.x, 7.0.x or 8.0.x"
	// +kubebuilder:validation:XValidation:rule="self.startsWith(oldSelf.substring(0, oldSelf.lastIndexOf('.') + 1))",message="must keep its major.minor: only the patch number may change, because upgrades between lines are not supported yet"
	Version string `json:"version"`

	// image is the container image with mongod and mongos on its PATH, runnable as user 999. A change
	// restarts members one by one. Default docker.io/library/mongo:<version>.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// imagePullSecrets are Secrets of this namespace with registry credentials. A change takes
	// effect when a pod is made anew.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []SecretReference `json:"imagePullSecrets,omitempty"`
}

// SecretReference names a Secret in the namespace of the MongoTuning.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ProfileReference names a TuningProfile.
type ProfileReference struct {
	// name of the TuningProfile (cluster-scoped).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// ShardsSpec describes the shards; all of them are alike.
type ShardsSpec struct {
	// count is the number of shards, 1 to 64. It may grow: the new shard is built, initiated and added.
	// It cannot shrink, because draining a shard moves data and is not done here.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="must not be lowered: removing a shard has to drain its data first, which is not supported yet"
	Count int32 `json:"count"`

	// members is the number of members of each shard, all of them voting: 1, 3, 5 or 7. Immutable.
	// With one member every restart is an outage of that shard.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:validation:XValidation:rule="self % 2 == 1",message="must be odd (1, 3, 5 or 7): an even number of voting members tolerates no more failures and can lose its majority to a tie"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="must stay as it was made: adding or removing members is not supported yet"
	Members int32 `json:"members"`

	// storage is the data volume of each member.
	// +required
	Storage StorageSpec `json:"storage"`

	// resources of the mongod container of each member. A change restarts members one by one.
	// +optional
	Resources Resources `json:"resources,omitempty,omitzero"`

	// placement of the members on nodes. A change restarts members one by one.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`
}

// ConfigServersSpec describes the config server replica set.
//
// +kubebuilder:validation:XValidation:rule="!self.?tuning.?cacheSizeGB.hasValue() || !self.?resources.?limits.?memory.hasValue() || self.tuning.cacheSizeGB * 1073741824.0 <= 0.8 * quantity(string(self.resources.limits.memory)).asApproximateFloat()",fieldPath=".tuning.cacheSizeGB",message="must be at most 80 % of configServers.resources.limits.memory: connections, sorts and the file system cache need the rest"
// +kubebuilder:validation:XValidation:rule="!self.?tuning.?cacheSizePercent.hasValue() || self.?resources.?limits.?memory.hasValue()",fieldPath=".tuning.cacheSizePercent",message="must be set only together with configServers.resources.limits.memory: the cache is a share of that limit"
type ConfigServersSpec struct {
	// members is the number of config servers, all of them voting: 1, 3, 5 or 7. Immutable.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:validation:XValidation:rule="self % 2 == 1",message="must be odd (1, 3, 5 or 7): an even number of voting members tolerates no more failures and can lose its majority to a tie"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="must stay as it was made: adding or removing members is not supported yet"
	Members int32 `json:"members"`

	// storage is the data volume of each config server.
	// +required
	Storage StorageSpec `json:"storage"`

	// resources of the mongod container of each config server. A change restarts members one by one.
	// +optional
	Resources Resources `json:"resources,omitempty,omitzero"`

	// placement of the config servers on nodes. A change restarts members one by one.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`

	// tuning is the config servers' own small tuning; nothing of spec.tuning applies to them.
	// +optional
	Tuning *ConfigServerTuning `json:"tuning,omitempty"`
}

// MongosSpec describes the query routers.
type MongosSpec struct {
	// replicas is the number of mongos pods, 1 to 256. Stress tests found throughput to follow the CPU
	// given to mongos and the number of them: four gave four times the throughput of one.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Replicas int32 `json:"replicas"`

	// resources of the mongos container. A change rolls the Deployment.
	// +optional
	Resources Resources `json:"resources,omitempty,omitzero"`

	// placement of the mongos pods on nodes. A change rolls the Deployment.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`

	// tuning of the mongos processes. A change rolls the Deployment.
	// +optional
	Tuning *MongosTuning `json:"tuning,omitempty"`
}
