// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Gigabytes is a size in the unit of mongod's cacheSizeGB, which is GiB (2^30 bytes), as a decimal number.
//
// +kubebuilder:validation:Type=number
type Gigabytes float64

// MongodTuning is the tuning of shard members. Every field may be left out: the profile's value holds
// then, or else the server's own default. The tuning reference lists versions, hazards and sources.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cacheSizeGB) && has(self.cacheSizePercent))",fieldPath=".cacheSizePercent",message="must not be set together with cacheSizeGB: declare the cache size once"
type MongodTuning struct {
	// cacheSizeGB is the size of the WiredTiger cache. Set online. Unit GB as mongod counts them
	// (2^30 bytes), 0.25 to 10000, and at most 80 % of the container's memory limit. Replaces
	// cacheSizePercent of the profile. When neither is set, mongod's own formula is applied to the
	// memory limit: half of what is left after 1 GB, at least 0.25. It is always written into the
	// configuration, because servers before 6.0 do not see cgroup v2 limits.
	// +optional
	// +kubebuilder:validation:Minimum=0.25
	// +kubebuilder:validation:Maximum=10000
	CacheSizeGB *Gigabytes `json:"cacheSizeGB,omitempty"`

	// cacheSizePercent is the size of the WiredTiger cache as a share of the container's memory limit,
	// which must be set. Set online. Percent, 5 to 80. Replaces cacheSizeGB of the profile.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=80
	CacheSizePercent *int32 `json:"cacheSizePercent,omitempty"`

	// eviction is when and with how many threads pages leave the cache.
	// +optional
	Eviction *EvictionTuning `json:"eviction,omitempty"`

	// checkpoint is how often the cache is written to disk as a whole.
	// +optional
	Checkpoint *CheckpointTuning `json:"checkpoint,omitempty"`

	// enableMajorityReadConcern set to false stops primaries from keeping history for lagging
	// secondaries. Restarts members. MongoDB 4.2 and 4.4 only: later servers refuse to start with
	// false. It takes away read concern majority, and flow control with it. Default true.
	// +optional
	EnableMajorityReadConcern *bool `json:"enableMajorityReadConcern,omitempty"`

	// serviceExecutor says how connections get threads: synchronous is one thread per connection,
	// adaptive a pool that grows and shrinks. Restarts members. MongoDB 4.2 and 4.4 only: later
	// servers do not know the option. Default synchronous.
	// +optional
	ServiceExecutor *ServiceExecutor `json:"serviceExecutor,omitempty"`

	// initialServiceExecutorThreadingModel says whether a connection has a thread of its own
	// (dedicated) or borrows one of a pool (borrowed). Restarts members. MongoDB 5.0
	// and 6.0 only; dedicated is taken on every version. An internal setting of the server, and not
	// the adaptive executor of 4.4. Default dedicated.
	// +optional
	InitialServiceExecutorThreadingModel *ThreadingModel `json:"initialServiceExecutorThreadingModel,omitempty"`

	// maxIncomingConnections is how many connections a process takes; it turns others away.
	// Restarts members. 5 to 1000000. Each may take 1 MiB; with a memory limit set, a budget
	// that does not hold is reported. The limit of open files cuts the number to 80 % of itself. When
	// unset, that limit and the server's own 65536 decide.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=1000000
	MaxIncomingConnections *int32 `json:"maxIncomingConnections,omitempty"`

	// networkCompressors are offered to clients and other members in this order.
	// Restarts members. snappy, zstd, zlib, or disabled alone. Default snappy, zstd, zlib.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="!self.exists(c, c == 'disabled') || self.size() == 1",message="must name disabled only alone: it turns compression off"
	NetworkCompressors []NetworkCompressor `json:"networkCompressors,omitempty"`

	// flowControl is how the primary slows writes down while secondaries lag.
	// +optional
	FlowControl *FlowControlTuning `json:"flowControl,omitempty"`

	// snapshotHistoryWindowSeconds is how much history is kept for snapshot reads. Set online. Seconds,
	// 0 to 86400. From 5.0 on history of this length always costs cache, and lowering it is what comes
	// nearest to enableMajorityReadConcern false; on 4.2 and 4.4 it is the most that is aimed at.
	// Default 300, and 5 on 4.2 and 4.4.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	SnapshotHistoryWindowSeconds *int32 `json:"snapshotHistoryWindowSeconds,omitempty"`

	// oplog is how much history of operations a member keeps.
	// +optional
	Oplog *OplogTuning `json:"oplog,omitempty"`

	// tickets are how many operations may be in the storage engine at once.
	// +optional
	Tickets *TicketsTuning `json:"tickets,omitempty"`

	// journalCommitIntervalMilliseconds is the longest time between two syncs of the journal. Set
	// online. Milliseconds, 1 to 500. Default 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	JournalCommitIntervalMilliseconds *int32 `json:"journalCommitIntervalMilliseconds,omitempty"`

	// blockCompressor compresses the pages of collections on disk; the cache holds them uncompressed.
	// Restarts members. It holds for collections made from then on: those that exist keep theirs.
	// none, snappy, zlib or zstd. Default snappy.
	// +optional
	BlockCompressor *BlockCompressor `json:"blockCompressor,omitempty"`

	// ttlMonitor deletes expired documents.
	// +optional
	TTLMonitor *TTLMonitorTuning `json:"ttlMonitor,omitempty"`

	// setParameters sets further server parameters, for which there is no field of their own. Set
	// online where the server takes them so, otherwise members are restarted. Only parameters that were
	// seen on a real server of the release line are taken; the tuning reference lists them. What
	// belongs to security or to the operator is refused. Overrides a profile item by item.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	SetParameters []ServerParameter `json:"setParameters,omitempty"`

	// slowOperations says which operations the log calls slow.
	// +optional
	SlowOperations *SlowOperationsTuning `json:"slowOperations,omitempty"`

	// profiler says which operations each database keeps in its collection system.profile
	// (operationProfiling.mode). Restarts members. none, slowOp (those that slowOperations calls slow) or
	// all. Somebody may give one database another level while the server runs; that is left alone.
	// Default none.
	// +optional
	Profiler *Profiler `json:"profiler,omitempty"`
}

// Profiler says which operations databases keep in system.profile.
//
// +kubebuilder:validation:Enum=none;slowOp;all
type Profiler string

// Values of profiler. The server's word for none is off, which YAML takes for false.
const (
	ProfilerNone   Profiler = "none"
	ProfilerSlowOp Profiler = "slowOp"
	ProfilerAll    Profiler = "all"
)

// EvictionTuning is WiredTiger's eviction: background threads start at a target, the threads of clients
// are drafted at a trigger. All of it is set online. Percentages are of the cache size.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targetPercent) || !has(self.triggerPercent) || self.targetPercent < self.triggerPercent",fieldPath=".targetPercent",message="must be less than triggerPercent: mongod does not start otherwise"
// +kubebuilder:validation:XValidation:rule="!has(self.dirtyTargetPercent) || !has(self.dirtyTriggerPercent) || self.dirtyTargetPercent < self.dirtyTriggerPercent",fieldPath=".dirtyTargetPercent",message="must be less than dirtyTriggerPercent: background eviction would start after the clients were drafted"
// +kubebuilder:validation:XValidation:rule="!has(self.dirtyTriggerPercent) || !has(self.triggerPercent) || self.dirtyTriggerPercent <= self.triggerPercent",fieldPath=".dirtyTriggerPercent",message="must be at most triggerPercent: WiredTiger cuts it to that without saying so"
// +kubebuilder:validation:XValidation:rule="!has(self.dirtyTargetPercent) || !has(self.targetPercent) || self.dirtyTargetPercent <= self.targetPercent",fieldPath=".dirtyTargetPercent",message="must be at most targetPercent: WiredTiger cuts it to that without saying so"
// +kubebuilder:validation:XValidation:rule="!has(self.updatesTargetPercent) || !has(self.updatesTriggerPercent) || self.updatesTriggerPercent == 0 || self.updatesTargetPercent < self.updatesTriggerPercent",fieldPath=".updatesTargetPercent",message="must be less than updatesTriggerPercent: background eviction would start after the clients were drafted"
// +kubebuilder:validation:XValidation:rule="!has(self.updatesTriggerPercent) || !has(self.triggerPercent) || self.updatesTriggerPercent <= self.triggerPercent",fieldPath=".updatesTriggerPercent",message="must be at most triggerPercent: WiredTiger cuts it to that without saying so"
// +kubebuilder:validation:XValidation:rule="!has(self.updatesTargetPercent) || !has(self.targetPercent) || self.updatesTargetPercent <= self.targetPercent",fieldPath=".updatesTargetPercent",message="must be at most targetPercent: WiredTiger cuts it to that without saying so"
// +kubebuilder:validation:XValidation:rule="has(self.threadsMin) == has(self.threadsMax)",fieldPath=".threadsMin",message="must be set together with threadsMax: one alone stops mongod from starting"
// +kubebuilder:validation:XValidation:rule="!has(self.threadsMin) || !has(self.threadsMax) || self.threadsMin <= self.threadsMax",fieldPath=".threadsMin",message="must be at most threadsMax"
type EvictionTuning struct {
	// targetPercent is the cache fill at which background eviction starts (eviction_target). Set
	// online. Percent, 10 to 99, below triggerPercent. Default 80.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=99
	TargetPercent *int32 `json:"targetPercent,omitempty"`

	// triggerPercent is the cache fill at which client threads have to evict (eviction_trigger). Set
	// online. Percent, 11 to 100. Default 95.
	// +optional
	// +kubebuilder:validation:Minimum=11
	// +kubebuilder:validation:Maximum=100
	TriggerPercent *int32 `json:"triggerPercent,omitempty"`

	// dirtyTargetPercent is the dirty share of the cache at which background eviction of modified
	// pages starts (eviction_dirty_target). Set online. Percent, 1 to 99, below dirtyTriggerPercent.
	// Default 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	DirtyTargetPercent *int32 `json:"dirtyTargetPercent,omitempty"`

	// dirtyTriggerPercent is the dirty share of the cache at which client threads have to evict
	// (eviction_dirty_trigger). Set online. Percent, 2 to 100, at most triggerPercent. Default 20.
	// Lowering it lowers the trigger for updates too, which is half of it from 4.4 on.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=100
	DirtyTriggerPercent *int32 `json:"dirtyTriggerPercent,omitempty"`

	// updatesTargetPercent is the share of the cache taken by updates that are not yet part of a page
	// image at which background eviction starts (eviction_updates_target). Set online. Percent, 0 to
	// 99, below updatesTriggerPercent; 0 means half of dirtyTargetPercent. MongoDB 4.4 and newer; 0 is
	// taken on every version. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	UpdatesTargetPercent *int32 `json:"updatesTargetPercent,omitempty"`

	// updatesTriggerPercent is the share of the cache taken by such updates at which client threads
	// have to evict (eviction_updates_trigger). Set online. Percent, 0 to 100, at most triggerPercent;
	// 0 means half of dirtyTriggerPercent. MongoDB 4.4 and newer; 0 is taken on every version.
	// Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UpdatesTriggerPercent *int32 `json:"updatesTriggerPercent,omitempty"`

	// checkpointTargetPercent is the dirty share of the cache that is written in the background at the
	// beginning of a checkpoint, before the checkpoint holds its locks (eviction_checkpoint_target). Set
	// online. Percent, 0 to 99; 0 writes nothing before, and a value below dirtyTargetPercent would count
	// as that. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	CheckpointTargetPercent *int32 `json:"checkpointTargetPercent,omitempty"`

	// threadsMin is the least number of background eviction threads. Set online. 1 to 20, at most
	// threadsMax, and only together with it. Default 4.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	ThreadsMin *int32 `json:"threadsMin,omitempty"`

	// threadsMax is the greatest number of background eviction threads. Set online. 1 to 20. Default 4.
	// More than the container has CPUs rarely helps.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	ThreadsMax *int32 `json:"threadsMax,omitempty"`
}

// ConfigServerTuning is the tuning of config servers: small on purpose, since they hold little data and
// the server overrides some settings on them.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cacheSizeGB) && has(self.cacheSizePercent))",fieldPath=".cacheSizePercent",message="must not be set together with cacheSizeGB: declare the cache size once"
type ConfigServerTuning struct {
	// cacheSizeGB is the size of the WiredTiger cache; see tuning.cacheSizeGB. Set online. 0.25 to 10000.
	// +optional
	// +kubebuilder:validation:Minimum=0.25
	// +kubebuilder:validation:Maximum=10000
	CacheSizeGB *Gigabytes `json:"cacheSizeGB,omitempty"`

	// cacheSizePercent is the cache as a share of the container's memory limit; see
	// tuning.cacheSizePercent. Set online. Percent, 5 to 80.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=80
	CacheSizePercent *int32 `json:"cacheSizePercent,omitempty"`

	// serviceExecutor says how connections get threads; see tuning.serviceExecutor. Restarts members.
	// MongoDB 4.2 and 4.4 only. Default synchronous.
	// +optional
	ServiceExecutor *ServiceExecutor `json:"serviceExecutor,omitempty"`

	// maxIncomingConnections is how many connections a process takes; see
	// tuning.maxIncomingConnections. Restarts members. 5 to 1000000. Members of every shard and every
	// mongos connect here.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=1000000
	MaxIncomingConnections *int32 `json:"maxIncomingConnections,omitempty"`
}

// MongosTuning is the tuning of mongos processes.
type MongosTuning struct {
	// serviceExecutor says how connections get threads; see tuning.serviceExecutor. Rolls the mongos
	// Deployment. MongoDB 4.2 and 4.4 only. Default synchronous.
	// +optional
	ServiceExecutor *ServiceExecutor `json:"serviceExecutor,omitempty"`

	// initialServiceExecutorThreadingModel says whether a connection has a thread of its own
	// (dedicated) or borrows one of a pool (borrowed). Rolls the mongos Deployment. MongoDB 5.0
	// and 6.0 only; dedicated is taken on every version. An internal setting of the server, and not
	// the adaptive executor of 4.4. Default dedicated.
	// +optional
	InitialServiceExecutorThreadingModel *ThreadingModel `json:"initialServiceExecutorThreadingModel,omitempty"`

	// maxIncomingConnections is how many connections a process takes; it turns others away.
	// Rolls the mongos Deployment. 5 to 1000000. Each may take 1 MiB; with a memory limit set, a budget
	// that does not hold is reported. The limit of open files cuts the number to 80 % of itself. When
	// unset, that limit and the server's own 65536 decide.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=1000000
	MaxIncomingConnections *int32 `json:"maxIncomingConnections,omitempty"`

	// networkCompressors are offered to clients and other members in this order.
	// Rolls the mongos Deployment. snappy, zstd, zlib, or disabled alone. Default snappy, zstd, zlib.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="!self.exists(c, c == 'disabled') || self.size() == 1",message="must name disabled only alone: it turns compression off"
	NetworkCompressors []NetworkCompressor `json:"networkCompressors,omitempty"`

	// taskExecutorPoolSize is the number of connection pools to the shards, each with a thread of its
	// own. Rolls the mongos Deployment. 1 to 64. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	TaskExecutorPoolSize *int32 `json:"taskExecutorPoolSize,omitempty"`

	// connectionPool describes the pools of connections to the members of the shards.
	// +optional
	ConnectionPool *ConnectionPoolTuning `json:"connectionPool,omitempty"`

	// slowOperations says which operations the log calls slow.
	// +optional
	SlowOperations *SlowOperationsTuning `json:"slowOperations,omitempty"`
}

// ServiceExecutor says how connections get threads.
//
// +kubebuilder:validation:Enum=synchronous;adaptive
type ServiceExecutor string

// Values of serviceExecutor, spelled as mongod spells them.
const (
	ServiceExecutorSynchronous ServiceExecutor = "synchronous"
	ServiceExecutorAdaptive    ServiceExecutor = "adaptive"
)
