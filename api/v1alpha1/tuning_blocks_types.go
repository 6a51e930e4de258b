// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CheckpointTuning is how often the cache is written to disk as a whole.
type CheckpointTuning struct {
	// waitSeconds is the time between two checkpoints (storage.syncPeriodSecs). Restarts members: a
	// running server takes another value and does nothing with it. Seconds, 1 to 3600. Default 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	WaitSeconds *int32 `json:"waitSeconds,omitempty"`

	// logSizeGB has no effect: MongoDB since 3.6 drives checkpoints by time only. It is taken, so that
	// settings written for other servers can be carried over, and reported as not applicable. GB (2^30
	// bytes), 0 to 2. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2
	LogSizeGB *int32 `json:"logSizeGB,omitempty"`
}

// FlowControlTuning is how the primary slows writes down while the majority commit point lags.
type FlowControlTuning struct {
	// enabled turns flow control on. Set online. It is without effect while enableMajorityReadConcern
	// is false. Default true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// targetLagSeconds is the lag that flow control holds the majority commit point to. Set online.
	// Seconds, 1 to 3600. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TargetLagSeconds *int32 `json:"targetLagSeconds,omitempty"`

	// thresholdLagPercent is the share of targetLagSeconds at which slowing down starts
	// (flowControlThresholdLagPercentage). Set online. Percent, 0 to 100. Default 50.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ThresholdLagPercent *int32 `json:"thresholdLagPercent,omitempty"`

	// minTicketsPerSecond is the rate of writes that is never slowed down. Set online. Tickets per
	// second, 1 to 1000000000. Default 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	MinTicketsPerSecond *int32 `json:"minTicketsPerSecond,omitempty"`
}

// OplogTuning is how much history of operations a member keeps: how long another may be away and still
// catch up.
type OplogTuning struct {
	// sizeMB is the size of the oplog. Set online; it outlives the process, and is not undone by
	// leaving the field out again. MB (2^20 bytes), 990 to 1073741824. When unset, the server takes 5 %
	// of the disk once, when the member is made.
	// +optional
	// +kubebuilder:validation:Minimum=990
	// +kubebuilder:validation:Maximum=1073741824
	SizeMB *int32 `json:"sizeMB,omitempty"`

	// minRetentionHours is how long operations are kept even when the oplog grows beyond its size. Set
	// online. Hours, 0 to 8760; 0 keeps by size only. MongoDB 4.4 and newer; 0 is taken on every
	// version. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8760
	MinRetentionHours *int32 `json:"minRetentionHours,omitempty"`
}

// TicketsTuning is how many operations may be in the storage engine at once. From 7.0 on the server finds
// the numbers by itself until one is declared.
type TicketsTuning struct {
	// read is the number of reading operations. Set online. 5 to 1000. Default 128 up to 6.0.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=1000
	Read *int32 `json:"read,omitempty"`

	// write is the number of writing operations. Set online. 5 to 1000. Default 128 up to 6.0.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=1000
	Write *int32 `json:"write,omitempty"`
}

// SlowOperationsTuning says which operations the log calls slow.
type SlowOperationsTuning struct {
	// thresholdMilliseconds is the duration from which on an operation is slow. Set online on members,
	// rolls the mongos Deployment on mongos. Milliseconds, 0 to 3600000; 0 logs every operation.
	// Default 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600000
	ThresholdMilliseconds *int32 `json:"thresholdMilliseconds,omitempty"`

	// samplePercent is the share of slow operations that is logged (slowOpSampleRate). Set online on
	// members, rolls the mongos Deployment on mongos. Percent, 0 to 100. Default 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SamplePercent *int32 `json:"samplePercent,omitempty"`
}

// TTLMonitorTuning is about the thread that deletes expired documents.
type TTLMonitorTuning struct {
	// enabled lets expired documents be deleted. Set online. Default true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// sleepSeconds is the time between two passes. Set online; a pass that sleeps already finishes its
	// old sleep first. Seconds, 1 to 86400. Default 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	SleepSeconds *int32 `json:"sleepSeconds,omitempty"`
}

// ServerParameter is one server parameter and its value.
type ServerParameter struct {
	// name of the parameter, as the server spells it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`

	// value of the parameter in text: "5000", "true", "0.5".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`
}

// ConnectionPoolTuning describes the pools of connections that a mongos holds to each member of the
// shards. Pools are built when the process starts, so every change rolls the mongos Deployment.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minSize) || !has(self.maxSize) || self.minSize <= self.maxSize",fieldPath=".minSize",message="must be at most maxSize: a pool cannot keep more connections than it may have"
type ConnectionPoolTuning struct {
	// minSize is the number of connections that a pool keeps. Rolls the mongos Deployment. 1 to 32767.
	// Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32767
	MinSize *int32 `json:"minSize,omitempty"`

	// maxSize is the number of connections that a pool may have. Rolls the mongos Deployment. 1 to
	// 32767. Default 32767.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32767
	MaxSize *int32 `json:"maxSize,omitempty"`

	// maxConnecting is the number of connections that a pool makes at once. Rolls the mongos
	// Deployment. 1 to 32767. Default 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32767
	MaxConnecting *int32 `json:"maxConnecting,omitempty"`

	// hostTimeoutMilliseconds is how long a pool lives that nobody asks. Rolls the mongos Deployment.
	// Milliseconds, 1 to 86400000, more than the two refresh times together. Default 300000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400000
	HostTimeoutMilliseconds *int32 `json:"hostTimeoutMilliseconds,omitempty"`

	// refreshRequirementMilliseconds is how long a connection may be idle before it is tried. Rolls the
	// mongos Deployment. Milliseconds, 1 to 86400000. Default 60000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400000
	RefreshRequirementMilliseconds *int32 `json:"refreshRequirementMilliseconds,omitempty"`

	// refreshTimeoutMilliseconds is how long a tried or new connection may take to answer. Rolls the
	// mongos Deployment. Milliseconds, 1 to 86400000. Default 20000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400000
	RefreshTimeoutMilliseconds *int32 `json:"refreshTimeoutMilliseconds,omitempty"`

	// replicaSetMatching says which member's pool sets the size of the others, so that they are ready
	// for an election. Rolls the mongos Deployment. disabled, matchPrimaryNode, matchBusiestNode, or,
	// from 5.0 on, automatic. Default automatic, and matchPrimaryNode on 4.2 and 4.4.
	// +optional
	ReplicaSetMatching *ReplicaSetMatching `json:"replicaSetMatching,omitempty"`
}

// ThreadingModel says whether a connection has a thread of its own.
//
// +kubebuilder:validation:Enum=dedicated;borrowed
type ThreadingModel string

// BlockCompressor compresses the pages of collections on disk.
//
// +kubebuilder:validation:Enum=none;snappy;zlib;zstd
type BlockCompressor string

// NetworkCompressor compresses messages.
//
// +kubebuilder:validation:Enum=snappy;zstd;zlib;disabled
type NetworkCompressor string

// ReplicaSetMatching says which member's pool sets the size of the others.
//
// +kubebuilder:validation:Enum=disabled;matchPrimaryNode;matchBusiestNode;automatic
type ReplicaSetMatching string

// Values of these fields, spelled as the servers spell them.
const (
	ThreadingModelDedicated ThreadingModel = "dedicated"
	ThreadingModelBorrowed  ThreadingModel = "borrowed"

	BlockCompressorNone   BlockCompressor = "none"
	BlockCompressorSnappy BlockCompressor = "snappy"
	BlockCompressorZlib   BlockCompressor = "zlib"
	BlockCompressorZstd   BlockCompressor = "zstd"

	NetworkCompressorSnappy   NetworkCompressor = "snappy"
	NetworkCompressorZstd     NetworkCompressor = "zstd"
	NetworkCompressorZlib     NetworkCompressor = "zlib"
	NetworkCompressorDisabled NetworkCompressor = "disabled"

	ReplicaSetMatchingDisabled         ReplicaSetMatching = "disabled"
	ReplicaSetMatchingMatchPrimaryNode ReplicaSetMatching = "matchPrimaryNode"
	ReplicaSetMatchingMatchBusiestNode ReplicaSetMatching = "matchBusiestNode"
	ReplicaSetMatchingAutomatic        ReplicaSetMatching = "automatic"
)
