// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VerificationSpec says how often the members are looked at and which limits their gauges are held to.
// Nothing here changes a member.
type VerificationSpec struct {
	// periodSeconds is the time between two looks at every member, spread by a tenth so that many
	// objects do not look at once. Rates and means are those of the time between two looks. Seconds, 5
	// to 300. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=300
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`

	// limits are added to the built-in ones. A limit with the name of a built-in one replaces it; the
	// reference of limits lists their names and values.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Limits []Limit `json:"limits,omitempty"`
}

// Limit is a bound that a gauge is held to. A value on the bound is in range.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) != has(self.min)",message="exactly one of max and min must be set: two bounds are two limits"
type Limit struct {
	// name of the limit: letters, digits and dashes. Built-in names are dirty-cache, cache-fill,
	// application-thread-evictions, replication-lag, majority-lag, oplog-window, tickets, connections,
	// pinned-history and checkpoint-duration.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower case letters, digits and dashes, with a letter or digit at both ends"
	Name string `json:"name"`

	// gauge is what is measured; its name ends in its unit.
	// +required
	Gauge Gauge `json:"gauge"`

	// max is the greatest value that is in range, in the unit of the gauge.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000
	Max *int64 `json:"max,omitempty"`

	// min is the least value that is in range, in the unit of the gauge.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000
	Min *int64 `json:"min,omitempty"`

	// forSeconds is how long the gauge has to stay out of range before that is a breach, and back in
	// range before the breach is over. Seconds, 0 to 86400; 0 judges every look by itself. Default 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	ForSeconds *int32 `json:"forSeconds,omitempty"`

	// scope says which members are held to the limit: ShardMembers, Primaries or Secondaries (of the
	// shards), ConfigServers, or AllMembers (shards and config servers). Default ShardMembers.
	// +optional
	Scope LimitScope `json:"scope,omitempty"`

	// enforcement says what a breach means: with Enforce the condition Verified is False, values changed
	// by hand are left alone and no change spreads; with Report it is told in status, event and metric
	// only; Off does not judge. Default Enforce.
	// +optional
	Enforcement Enforcement `json:"enforcement,omitempty"`
}

// Gauge is something that is measured on a running member.
//
// +kubebuilder:validation:Enum=DirtyCachePercent;CacheFillPercent;ApplicationThreadEvictionsPerSecond;ReplicationLagSeconds;MajorityLagSeconds;OplogWindowSeconds;FlowControlLaggedPercent;CheckpointDurationSeconds;CheckpointIntervalSeconds;TicketsAvailable;QueuedOperations;SlowOperationsPerSecond;ReadLatencyMilliseconds;WriteLatencyMilliseconds;CommandLatencyMilliseconds;PinnedHistorySeconds;ConnectionsUsedPercent;MemoryBudgetPercent
type Gauge string

// The gauges. Each name ends in its unit; counts have none.
const (
	// GaugeDirtyCache is the share of the WiredTiger cache that is not on disk yet.
	GaugeDirtyCache Gauge = "DirtyCachePercent"
	// GaugeCacheFill is the share of the WiredTiger cache that is in use.
	GaugeCacheFill Gauge = "CacheFillPercent"
	// GaugeApplicationThreadEvictions is how many pages per second client threads had to evict.
	GaugeApplicationThreadEvictions Gauge = "ApplicationThreadEvictionsPerSecond"
	// GaugeReplicationLag is how far a member is behind its primary.
	GaugeReplicationLag Gauge = "ReplicationLagSeconds"
	// GaugeMajorityLag is how far the majority is behind the primary; primaries only.
	GaugeMajorityLag Gauge = "MajorityLagSeconds"
	// GaugeOplogWindow is how long a member may be away and still catch up from this one.
	GaugeOplogWindow Gauge = "OplogWindowSeconds"
	// GaugeFlowControlLagged is the share of the time in which flow control slowed writes; primaries only.
	GaugeFlowControlLagged Gauge = "FlowControlLaggedPercent"
	// GaugeCheckpointDuration is how long the last checkpoint took.
	GaugeCheckpointDuration Gauge = "CheckpointDurationSeconds"
	// GaugeCheckpointInterval is the time from one checkpoint to the next.
	GaugeCheckpointInterval Gauge = "CheckpointIntervalSeconds"
	// GaugeTicketsAvailable is the lesser of the read and the write tickets that are left.
	GaugeTicketsAvailable Gauge = "TicketsAvailable"
	// GaugeQueuedOperations is how many operations wait for a lock or a ticket.
	GaugeQueuedOperations Gauge = "QueuedOperations"
	// GaugeSlowOperations is how many reads and writes per second took at least the slow operation threshold.
	GaugeSlowOperations Gauge = "SlowOperationsPerSecond"
	// GaugeReadLatency is the mean duration of reads in the time between two looks.
	GaugeReadLatency Gauge = "ReadLatencyMilliseconds"
	// GaugeWriteLatency is the mean duration of writes in the time between two looks.
	GaugeWriteLatency Gauge = "WriteLatencyMilliseconds"
	// GaugeCommandLatency is the mean duration of commands in the time between two looks.
	GaugeCommandLatency Gauge = "CommandLatencyMilliseconds"
	// GaugePinnedHistory is the age of the oldest version of data that has to be kept.
	GaugePinnedHistory Gauge = "PinnedHistorySeconds"
	// GaugeConnectionsUsed is the share of the possible connections that is open.
	GaugeConnectionsUsed Gauge = "ConnectionsUsedPercent"
	// GaugeMemoryBudget is the share of the memory limit that cache, connections and a reserve come to.
	GaugeMemoryBudget Gauge = "MemoryBudgetPercent"
)

// LimitScope says which members are held to a limit.
//
// +kubebuilder:validation:Enum=ShardMembers;Primaries;Secondaries;ConfigServers;AllMembers
type LimitScope string

// Enforcement says what a breach of a limit means.
//
// +kubebuilder:validation:Enum=Enforce;Report;Off
type Enforcement string

// Values of verification.limits[].scope and verification.limits[].enforcement.
const (
	ScopeShardMembers  LimitScope = "ShardMembers"
	ScopePrimaries     LimitScope = "Primaries"
	ScopeSecondaries   LimitScope = "Secondaries"
	ScopeConfigServers LimitScope = "ConfigServers"
	ScopeAllMembers    LimitScope = "AllMembers"

	EnforcementEnforce Enforcement = "Enforce"
	EnforcementReport  Enforcement = "Report"
	EnforcementOff     Enforcement = "Off"
)

// Breach is a gauge that left its range on one member and has not come back.
type Breach struct {
	// limit is the name of the limit.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Limit string `json:"limit"`

	// member is the pod.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Member string `json:"member"`

	// gauge that left its range.
	// +required
	Gauge Gauge `json:"gauge"`

	// found is the value with which the gauge left its range, with its unit.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Found string `json:"found"`

	// bound is what the gauge was held to at that time, with its unit.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Bound string `json:"bound"`

	// enforcement of the limit: Enforce or Report.
	// +required
	Enforcement Enforcement `json:"enforcement"`

	// since is when the gauge left its range.
	// +required
	Since metav1.Time `json:"since"`
}

// Reasons of the condition Verified when a gauge is out of range. They name the gauge, so that alerts
// and programs can tell them apart.
const (
	// ReasonDirtyCacheAboveLimit surfaces when too much of the cache is dirty.
	ReasonDirtyCacheAboveLimit = "DirtyCacheAboveLimit"
	// ReasonCacheFillAboveLimit surfaces when the cache is too full.
	ReasonCacheFillAboveLimit = "CacheFillAboveLimit"
	// ReasonApplicationThreadsEvicting surfaces when client threads evict too many pages.
	ReasonApplicationThreadsEvicting = "ApplicationThreadsEvicting"
	// ReasonReplicationLagAboveLimit surfaces when a member is too far behind its primary.
	ReasonReplicationLagAboveLimit = "ReplicationLagAboveLimit"
	// ReasonMajorityLagAboveLimit surfaces when the majority is too far behind the primary.
	ReasonMajorityLagAboveLimit = "MajorityLagAboveLimit"
	// ReasonOplogWindowBelowLimit surfaces when the oplog does not reach back far enough.
	ReasonOplogWindowBelowLimit = "OplogWindowBelowLimit"
	// ReasonFlowControlAboveLimit surfaces when flow control slows writes for too much of the time.
	ReasonFlowControlAboveLimit = "FlowControlAboveLimit"
	// ReasonCheckpointTooLong surfaces when a checkpoint takes too long.
	ReasonCheckpointTooLong = "CheckpointTooLong"
	// ReasonCheckpointIntervalOutOfRange surfaces when checkpoints come too seldom or too often.
	ReasonCheckpointIntervalOutOfRange = "CheckpointIntervalOutOfRange"
	// ReasonTicketsBelowLimit surfaces when too few tickets are left.
	ReasonTicketsBelowLimit = "TicketsBelowLimit"
	// ReasonQueuedOperationsAboveLimit surfaces when too many operations wait.
	ReasonQueuedOperationsAboveLimit = "QueuedOperationsAboveLimit"
	// ReasonSlowOperationsAboveLimit surfaces when too many operations are slow.
	ReasonSlowOperationsAboveLimit = "SlowOperationsAboveLimit"
	// ReasonReadLatencyAboveLimit surfaces when reads take too long.
	ReasonReadLatencyAboveLimit = "ReadLatencyAboveLimit"
	// ReasonWriteLatencyAboveLimit surfaces when writes take too long.
	ReasonWriteLatencyAboveLimit = "WriteLatencyAboveLimit"
	// ReasonCommandLatencyAboveLimit surfaces when commands take too long.
	ReasonCommandLatencyAboveLimit = "CommandLatencyAboveLimit"
	// ReasonPinnedHistoryAboveLimit surfaces when too old history has to be kept.
	ReasonPinnedHistoryAboveLimit = "PinnedHistoryAboveLimit"
	// ReasonConnectionsAboveLimit surfaces when too many of the possible connections are open.
	ReasonConnectionsAboveLimit = "ConnectionsAboveLimit"
	// ReasonMemoryBudgetAboveLimit surfaces when cache, connections and a reserve do not fit the memory limit.
	ReasonMemoryBudgetAboveLimit = "MemoryBudgetAboveLimit"
	// ReasonGaugeOutOfRange surfaces when a gauge is on the unusual side of its limit: a minimum of what
	// is better low, a maximum of what is better high.
	ReasonGaugeOutOfRange = "GaugeOutOfRange"
	// ReasonGaugeUnknown surfaces when a gauge with a limit could not be measured.
	ReasonGaugeUnknown = "GaugeUnknown"
	// ReasonFirstSample surfaces while only one sample of a counter is there, so that no rate is known.
	ReasonFirstSample = "FirstSample"
	// ReasonDriftHeld surfaces when values were changed by hand and are left alone while a limit is breached.
	ReasonDriftHeld = "DriftHeld"
)

// EventBackInRange tells that a gauge that was out of range is in range again.
const EventBackInRange = "BackInRange"
