// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

var (
	shardMembers     = []v1alpha1.Component{v1alpha1.ComponentShardMember}
	allMongod        = []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer}
	everyProcess     = []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer, v1alpha1.ComponentMongos}
	shardsAndRouters = []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentMongos}
	routers          = []v1alpha1.Component{v1alpha1.ComponentMongos}

	always  = LineRange{v42, v80}
	until44 = LineRange{v42, v44}
	from44  = LineRange{v44, v80}
	from70  = LineRange{v70, v80}
)

const (
	mebibyte = float64(1 << 20)
	gibibyte = float64(1 << 30)
)

// measured names the servers on which a statement of a row was tried.
const measured = "measured on mongod 4.2.6 to 6.0.27"

// oppo is the field report most eviction figures come from.
const oppo = "OPPO's million-TPS report"

// Names of knobs, which are the paths of their API fields.
const (
	CacheSizeGB            = "cacheSizeGB"
	CacheSizePercent       = "cacheSizePercent"
	EvictionTarget         = "eviction.targetPercent"
	EvictionTrigger        = "eviction.triggerPercent"
	EvictionDirtyTarget    = "eviction.dirtyTargetPercent"
	EvictionDirtyTrigger   = "eviction.dirtyTriggerPercent"
	EvictionUpdatesTarget  = "eviction.updatesTargetPercent"
	EvictionUpdatesTrigger = "eviction.updatesTriggerPercent"
	EvictionCheckpoint     = "eviction.checkpointTargetPercent"
	EvictionThreadsMin     = "eviction.threadsMin"
	EvictionThreadsMax     = "eviction.threadsMax"

	CheckpointWait    = "checkpoint.waitSeconds"
	CheckpointLogSize = "checkpoint.logSizeGB"

	EnableMajorityReadConcern = "enableMajorityReadConcern"
	SnapshotHistoryWindow     = "snapshotHistoryWindowSeconds"
	FlowControlEnabled        = "flowControl.enabled"
	FlowControlTargetLag      = "flowControl.targetLagSeconds"
	FlowControlThresholdLag   = "flowControl.thresholdLagPercent"
	FlowControlMinTickets     = "flowControl.minTicketsPerSecond"
	OplogSize                 = "oplog.sizeMB"
	OplogMinRetention         = "oplog.minRetentionHours"

	ReadTickets           = "tickets.read"
	WriteTickets          = "tickets.write"
	JournalCommitInterval = "journalCommitIntervalMilliseconds"
	BlockCompressor       = "blockCompressor"

	ServiceExecutor        = "serviceExecutor"
	ThreadingModel         = "initialServiceExecutorThreadingModel"
	MaxIncomingConnections = "maxIncomingConnections"
	NetworkCompressors     = "networkCompressors"

	taskExecutorPoolSize   = "taskExecutorPoolSize"
	poolMinSize            = "connectionPool.minSize"
	poolMaxSize            = "connectionPool.maxSize"
	poolMaxConnecting      = "connectionPool.maxConnecting"
	poolHostTimeout        = "connectionPool.hostTimeoutMilliseconds"
	poolRefreshRequirement = "connectionPool.refreshRequirementMilliseconds"
	poolRefreshTimeout     = "connectionPool.refreshTimeoutMilliseconds"
	poolMatching           = "connectionPool.replicaSetMatching"

	SlowOperationThreshold = "slowOperations.thresholdMilliseconds"
	SlowOperationSample    = "slowOperations.samplePercent"
	Profiler               = "profiler"
	TTLMonitorEnabled      = "ttlMonitor.enabled"
	TTLMonitorSleep        = "ttlMonitor.sleepSeconds"
)

// typedRows holds the rows that have a field of their own, in the order in which people meet them:
// memory, eviction, checkpoints, replication, storage, connections, diagnostics.
var typedRows = slices.Concat(
	cacheRows, evictionRows, checkpointRows, replicationRows, storageRows, connectionRows, routerRows, diagnosticRows,
)

// table holds all rows.
var table = slices.Concat(typedRows, parameterRows())

// Disabled is the word that turns network compression off.
const Disabled Value = "disabled"

// multiple is the pair of translations for a server that counts in another unit: one unit of ours is
// factor units of the server.
func multiple(factor float64) (toServer func(Value) any, fromServer func(any) (Value, bool)) {
	toServer = func(value Value) any {
		number, _ := value.AsFloat()
		return number * factor
	}
	fromServer = func(raw any) (Value, bool) {
		value, ok := valueOf(raw)
		if !ok {
			return "", false
		}
		number, ok := value.AsFloat()
		return rounded(number / factor), ok
	}
	return toServer, fromServer
}
