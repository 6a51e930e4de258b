// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutSpec says how a change travels: one canary member first, held under watch, then leading its
// shard, then the rest of that shard, the other shards, the config servers and mongos. Nothing here
// restarts anybody by itself; a changed value holds from the next step on.
type RolloutSpec struct {
	// canary is the member that gets a change first.
	// +optional
	Canary *CanarySpec `json:"canary,omitempty"`

	// canaryLeads says when the canary has to lead its shard before the change spreads: WhenRestarting
	// (the change restarts members, so the lead has to move anyway), Always or Never. Default
	// WhenRestarting.
	// +optional
	CanaryLeads CanaryLeads `json:"canaryLeads,omitempty"`

	// leadSoakSeconds is how long the canary leads under watch before the change spreads. Seconds, 0 to
	// 2592000 (30 days). Default 300; OPPO's team took weeks.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	LeadSoakSeconds *int32 `json:"leadSoakSeconds,omitempty"`

	// onBreach says what follows when a changed member breaks a limit or does not come back: Rollback
	// returns every changed member to the last verified revision, Pause stops where it is and keeps the
	// evidence. Default Rollback.
	// +optional
	OnBreach OnBreach `json:"onBreach,omitempty"`
}

// CanarySpec chooses the first member of a change.
type CanarySpec struct {
	// shardIndex is the shard whose secondary goes first, 0 to 63, below shards.count. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	ShardIndex *int32 `json:"shardIndex,omitempty"`

	// soakSeconds is how long the canary is held under watch before anything else follows. It starts
	// anew when the operator starts, since nobody watched in between. Seconds, 0 to 2592000 (30 days).
	// Default 300; OPPO's team took a week.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	SoakSeconds *int32 `json:"soakSeconds,omitempty"`
}

// CanaryLeads says when the canary has to lead its shard.
//
// +kubebuilder:validation:Enum=WhenRestarting;Always;Never
type CanaryLeads string

// OnBreach says what follows a breach during a rollout.
//
// +kubebuilder:validation:Enum=Rollback;Pause
type OnBreach string

// Values of rollout.canaryLeads and rollout.onBreach.
const (
	CanaryLeadsWhenRestarting CanaryLeads = "WhenRestarting"
	CanaryLeadsAlways         CanaryLeads = "Always"
	CanaryLeadsNever          CanaryLeads = "Never"

	OnBreachRollback OnBreach = "Rollback"
	OnBreachPause    OnBreach = "Pause"
)

// RolloutStatus is how far a change has travelled. It is written before the step it names disturbs
// anybody, so that an operator that dies and comes back goes on where it was.
type RolloutStatus struct {
	// revision that travels.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// step the change has reached.
	// +optional
	Step RolloutStep `json:"step,omitempty"`

	// canary is the member that got the change first.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Canary string `json:"canary,omitempty"`

	// since is when the step began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// breachedBefore are the names of the limits that were broken when the change began. They do not stop
	// it, since it may be the cure; but a restart then needs the proceed annotation.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	BreachedBefore []string `json:"breachedBefore,omitempty"`

	// breach says in a sentence what stopped the change; empty while nothing did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Breach string `json:"breach,omitempty"`
}

// RolloutStep is one step of a change on its way.
//
// +kubebuilder:validation:Enum=Canary;CanarySoak;CanaryLeads;LeadSoak;RestOfShard;OtherShards;ConfigServers;Mongos;Verifying;Returning;Returned
type RolloutStep string

// The steps, in the order in which a change takes them. Returning and Returned come after a breach.
const (
	// StepCanary brings the change to the canary.
	StepCanary RolloutStep = "Canary"
	// StepCanarySoak holds the canary under watch as a secondary.
	StepCanarySoak RolloutStep = "CanarySoak"
	// StepCanaryLeads hands the lead of its shard to the canary.
	StepCanaryLeads RolloutStep = "CanaryLeads"
	// StepLeadSoak holds the canary under watch as the primary.
	StepLeadSoak RolloutStep = "LeadSoak"
	// StepRestOfShard brings the change to the other members of the canary's shard.
	StepRestOfShard RolloutStep = "RestOfShard"
	// StepOtherShards brings it to the other shards, one after the other.
	StepOtherShards RolloutStep = "OtherShards"
	// StepConfigServers brings it to the config servers.
	StepConfigServers RolloutStep = "ConfigServers"
	// StepMongos rolls the routers.
	StepMongos RolloutStep = "Mongos"
	// StepVerifying waits until every member is proved and in range.
	StepVerifying RolloutStep = "Verifying"
	// StepReturning brings the changed members back to the last verified revision.
	StepReturning RolloutStep = "Returning"
	// StepReturned means that all are back; the revision is not tried again until the spec changes or
	// the retry annotation is set.
	StepReturned RolloutStep = "Returned"
)
