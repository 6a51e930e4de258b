// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MongoTuningStatus is what the operator found and how far it has come. It is written only when
// something changes; live figures are metrics.
type MongoTuningStatus struct {
	// conditions are the answers to fixed questions; see the condition types for what each means.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of spec the conditions speak of; -1 before the first look.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// provedMembers says on how many mongod members every declared value was read back from the
	// running process, of how many: "9/9".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	ProvedMembers string `json:"provedMembers,omitempty"`

	// revisions are the names of the ControllerRevisions that hold resolved tunings.
	// +optional
	Revisions RevisionsStatus `json:"revisions,omitempty,omitzero"`

	// rollout is how far a change has travelled; empty while none is on its way.
	// +optional
	Rollout RolloutStatus `json:"rollout,omitempty,omitzero"`

	// waiting is what is waited for, and since when; empty while something is done or nothing is to do.
	// +optional
	Waiting *WaitStatus `json:"waiting,omitempty"`

	// lastHandledRetry is the value of the retry annotation that was acted on last.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	LastHandledRetry string `json:"lastHandledRetry,omitempty"`

	// replicaSets says of each replica set whether it is built, initiated and part of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=65
	ReplicaSets []ReplicaSetStatus `json:"replicaSets,omitempty"`

	// members says of each mongod how it stands to the declared tuning.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=512
	Members []MemberStatus `json:"members,omitempty"`

	// breaches are the gauges that left their range and have not come back.
	// +optional
	// +listType=map
	// +listMapKey=limit
	// +listMapKey=member
	// +kubebuilder:validation:MaxItems=512
	Breaches []Breach `json:"breaches,omitempty"`

	// hostTuning is what was done to the nodes of the mongod pods.
	// +optional
	HostTuning HostTuningStatus `json:"hostTuning,omitempty,omitzero"`

	// effective is the resolved tuning: every value that is declared, and where it came from.
	// +optional
	// +listType=map
	// +listMapKey=component
	// +listMapKey=knob
	// +kubebuilder:validation:MaxItems=256
	Effective []EffectiveValue `json:"effective,omitempty"`
}

// RevisionsStatus names ControllerRevisions of the resolved tuning.
type RevisionsStatus struct {
	// current is the revision the members are held to.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Current string `json:"current,omitempty"`

	// verified is the revision that was last proved on every member with every gauge in range. A change
	// that breaks a limit is taken back to it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Verified string `json:"verified,omitempty"`

	// previous is the revision that was verified before the verified one. rollout.onSteadyBreach Rollback
	// returns to it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Previous string `json:"previous,omitempty"`

	// failed is the revision that was taken back last.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Failed string `json:"failed,omitempty"`

	// failedProfile is the TuningProfile that the failed revision came from. Other MongoTunings that
	// are about to change to the same profile wait until this one is retried or changed.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	FailedProfile string `json:"failedProfile,omitempty"`
}

// ReplicaSetStatus is one replica set: a shard or the config servers.
type ReplicaSetStatus struct {
	// name of the replica set, which is also the name of its StatefulSet and the shard's id.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// primary is the member that leads, empty while there is none or nobody could be asked.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Primary string `json:"primary,omitempty"`

	// state is Building, Initiating, Adding or Member of the cluster.
	// +required
	State ReplicaSetState `json:"state"`
}

// ReplicaSetState says how far a replica set is on its way into the cluster.
//
// +kubebuilder:validation:Enum=Building;Initiating;Adding;Member
type ReplicaSetState string

// Values of status.replicaSets[].state.
const (
	// ReplicaSetBuilding means that its pods do not all run yet.
	ReplicaSetBuilding ReplicaSetState = "Building"
	// ReplicaSetInitiating means that its pods run and it has no configuration, primary or users yet.
	ReplicaSetInitiating ReplicaSetState = "Initiating"
	// ReplicaSetAdding means that the shard is ready and mongos does not list it yet.
	ReplicaSetAdding ReplicaSetState = "Adding"
	// ReplicaSetMember means that it is part of the sharded cluster.
	ReplicaSetMember ReplicaSetState = "Member"
)

// MemberRole is what a member says it is.
//
// +kubebuilder:validation:Enum=Primary;Secondary;Other;Unknown
type MemberRole string

// Values of status.members[].role.
const (
	MemberPrimary   MemberRole = "Primary"
	MemberSecondary MemberRole = "Secondary"
	// MemberOther is a member in no state to serve: starting, recovering, in initial sync or rollback.
	MemberOther MemberRole = "Other"
	// MemberUnknown is a member that did not answer.
	MemberUnknown MemberRole = "Unknown"
)

// MemberStatus is one mongod.
type MemberStatus struct {
	// name of the pod.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// replicaSet the member belongs to.
	// +required
	// +kubebuilder:validation:MaxLength=63
	ReplicaSet string `json:"replicaSet"`

	// role is what the member says it is.
	// +required
	Role MemberRole `json:"role"`

	// proved is the number of declared knobs whose value was read back from the running process.
	// +required
	// +kubebuilder:validation:Minimum=0
	Proved int32 `json:"proved"`

	// declared is the number of knobs that are declared for the member.
	// +required
	// +kubebuilder:validation:Minimum=0
	Declared int32 `json:"declared"`

	// pendingRestart is true while the member's file holds a value that takes a restart to come into force.
	// +optional
	PendingRestart bool `json:"pendingRestart,omitempty"`

	// mismatches lists the knobs that are not proved, with what was wanted and found.
	// +optional
	// +listType=map
	// +listMapKey=knob
	// +kubebuilder:validation:MaxItems=512
	Mismatches []KnobMismatch `json:"mismatches,omitempty"`
}

// KnobMismatch is one knob whose declared value could not be proved on one member.
type KnobMismatch struct {
	// knob is the path of the field below tuning, for example eviction.dirtyTriggerPercent.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Knob string `json:"knob"`

	// verdict is Mismatch (the process reports another value), PendingRestart (the file is right, the
	// process is older), Unverifiable (this version does not show it) or Unknown (could not be asked).
	// +required
	Verdict KnobVerdict `json:"verdict"`

	// wanted is the declared value.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Wanted string `json:"wanted"`

	// found is the value the process reports, empty when it reports none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Found string `json:"found,omitempty"`

	// evidence says where found was read, or why nothing could be read.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Evidence string `json:"evidence,omitempty"`
}

// KnobVerdict is the judgement over one knob on one member.
//
// +kubebuilder:validation:Enum=Proved;Mismatch;PendingRestart;Unverifiable;NotApplicable;Unknown
type KnobVerdict string

// Verdicts over a knob. Mismatch, PendingRestart and Unknown keep gates closed.
const (
	KnobProved         KnobVerdict = "Proved"
	KnobMismatched     KnobVerdict = "Mismatch"
	KnobPendingRestart KnobVerdict = "PendingRestart"
	KnobUnverifiable   KnobVerdict = "Unverifiable"
	KnobUnknown        KnobVerdict = "Unknown"

	// KnobNotApplicable is a value that no supported server does anything with. It counts neither as
	// proved nor as missing; status.effective says so once in its note.
	KnobNotApplicable KnobVerdict = "NotApplicable"
)

// Component is a kind of process that can be tuned.
//
// +kubebuilder:validation:Enum=ShardMember;ConfigServer;Mongos
type Component string

// The kinds of process.
const (
	ComponentShardMember  Component = "ShardMember"
	ComponentConfigServer Component = "ConfigServer"
	ComponentMongos       Component = "Mongos"
)

// EffectiveValue is one declared value after profile and overrides were laid together.
type EffectiveValue struct {
	// component the value holds for.
	// +required
	Component Component `json:"component"`

	// knob is the path of the field below tuning.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Knob string `json:"knob"`

	// value that is declared.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`

	// source is where the value came from: Override (this object), Profile, or Derived (computed by
	// the operator, for example from the memory limit).
	// +required
	Source ValueSource `json:"source"`

	// note is what has to be known about the value, for example that it has no effect on this version.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Note string `json:"note,omitempty"`
}

// ValueSource says where a declared value came from.
//
// +kubebuilder:validation:Enum=Override;Profile;Derived
type ValueSource string

// Values of status.effective[].source.
const (
	SourceOverride ValueSource = "Override"
	SourceProfile  ValueSource = "Profile"
	SourceDerived  ValueSource = "Derived"
)
