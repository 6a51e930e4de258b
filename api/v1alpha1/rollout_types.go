// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutSpec says how a change travels: one canary member first, held under watch, then leading its
// shard, then the rest of that shard, the other shards, the config servers and mongos. Nothing here
// restarts anybody by itself; a changed value holds from the next step on.
//
// +kubebuilder:validation:XValidation:rule="!has(self.windows) || self.windows.all(w, self.?canary.soakSeconds.orValue(300) + self.?leadSoakSeconds.orValue(300) <= w.durationMinutes * 60)",fieldPath=".windows",message="must each be at least as long as canary.soakSeconds and leadSoakSeconds together (300 each where unset), so that a change that begins in a window is judged in it"
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

	// allowedWorseningPercent is by how much the mean of a gauge of the canary may be worse over its soak
	// than before the change and than on its twins, the members of its shard in the same role, in the same
	// time. Each gauge may be worse by a small fixed amount besides, so that an idle cluster is not judged
	// by noise. A shard without a twin is held to its limits alone. Percent, 0 to 1000. Default 50.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	AllowedWorseningPercent *int32 `json:"allowedWorseningPercent,omitempty"`

	// maxShardsInParallel is how many shards get a change at the same time once the shard of the canary
	// has it; at most one member of each is disturbed at a time. 1 to 64. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MaxShardsInParallel *int32 `json:"maxShardsInParallel,omitempty"`

	// waitDeadlineSeconds is how long a change may wait at a closed gate before the object is Stalled. It
	// is never forced: it goes on by itself when the cause ends. Seconds, 60 to 86400. Default 1800.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	WaitDeadlineSeconds *int32 `json:"waitDeadlineSeconds,omitempty"`

	// windows are the times in which a change may begin; none means at any time. A change that has begun
	// goes on when its window closes, and a return asks no window. The annotation mongotuning.io/proceed
	// lets a change begin outside of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []RolloutWindow `json:"windows,omitempty"`

	// onSteadyBreach says what follows when a limit breaks while no change is on its way: Report tells it
	// in condition, event and metric; Rollback also returns all members to the revision that was verified
	// before this one, where there is one. Default Report.
	// +optional
	OnSteadyBreach OnSteadyBreach `json:"onSteadyBreach,omitempty"`

	// onBreach says what follows when a changed member breaks a limit or does not come back: Rollback
	// returns every changed member to the last verified revision, Pause stops where it is and keeps the
	// evidence. Default Rollback.
	// +optional
	OnBreach OnBreach `json:"onBreach,omitempty"`
}

// RolloutWindow is a time that comes again, in which a change may begin.
type RolloutWindow struct {
	// cron says when the window opens, in five fields: minute, hour, day of the month, month, day of the
	// week; for example "0 2 * * 1-5".
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z*,/?-]+( +[0-9A-Za-z*,/?-]+){4}$')",message="must be five fields: minute, hour, day of the month, month, day of the week"
	Cron string `json:"cron"`

	// durationMinutes is how long the window stays open. Minutes, 1 to 10080 (a week).
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10080
	DurationMinutes int32 `json:"durationMinutes"`

	// timeZone is the IANA name of the zone that cron is read in, for example "Europe/Berlin". A window
	// that opens in the hour that summer time skips does not open that day. Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$')",message="must be the name of a time zone, for example Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
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

// OnSteadyBreach says what follows a breach outside of a rollout.
//
// +kubebuilder:validation:Enum=Report;Rollback
type OnSteadyBreach string

// Values of rollout.canaryLeads, rollout.onBreach and rollout.onSteadyBreach.
const (
	CanaryLeadsWhenRestarting CanaryLeads = "WhenRestarting"
	CanaryLeadsAlways         CanaryLeads = "Always"
	CanaryLeadsNever          CanaryLeads = "Never"

	OnBreachRollback OnBreach = "Rollback"
	OnBreachPause    OnBreach = "Pause"

	OnSteadyBreachReport   OnSteadyBreach = "Report"
	OnSteadyBreachRollback OnSteadyBreach = "Rollback"
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

	// baseline is what the canary and its twins showed before the change, written with the canary.
	// +optional
	// +listType=map
	// +listMapKey=member
	// +kubebuilder:validation:MaxItems=7
	Baseline []MemberBaseline `json:"baseline,omitempty"`

	// breach says in a sentence what stopped the change; empty while nothing did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Breach string `json:"breach,omitempty"`

	// breachReason is the same as one word that programs may compare: the reason of the limit, for
	// example DirtyCacheAboveLimit, or WorseThanTwins, MemberRefusesConfiguration or MemberSilent.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	BreachReason string `json:"breachReason,omitempty"`
}

// MemberBaseline is what one member showed before a change.
type MemberBaseline struct {
	// member is the pod.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Member string `json:"member"`

	// role that the member had.
	// +required
	Role MemberRole `json:"role"`

	// gauges are means and extremes of the last looks before the change, up to five minutes of them.
	// +optional
	// +listType=map
	// +listMapKey=gauge
	// +kubebuilder:validation:MaxItems=32
	Gauges []GaugeMean `json:"gauges,omitempty"`
}

// GaugeMean is the mean of a gauge over several looks.
type GaugeMean struct {
	// gauge that was measured.
	// +required
	Gauge Gauge `json:"gauge"`

	// mean in the unit of the gauge, as a decimal number.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Mean string `json:"mean"`

	// lowest value of the looks, in the same form.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Lowest string `json:"lowest,omitempty"`

	// highest value of the looks, in the same form. A change that begins while a limit is broken is held to
	// what the gauge came to, not to its mean: it may have risen a moment ago.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Highest string `json:"highest,omitempty"`
}

// WaitStatus is what the operator waits for.
type WaitStatus struct {
	// reason is the reason of the condition Reconciling or Stalled.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// since is when this wait began. It outlives the operator.
	// +required
	Since metav1.Time `json:"since"`
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
