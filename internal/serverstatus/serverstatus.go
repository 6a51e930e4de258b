// SPDX-License-Identifier: Apache-2.0

// Package serverstatus holds the counters of a server as types: internal/mongodb fills them from the answer of
// serverStatus, whatever the version, and internal/verify judges them. The package knows neither driver nor network.
package serverstatus

import "time"

// Status is a server's counters at one moment. A nil figure is one that this version or role does not show.
// Counters count since the process started: two samples are comparable only when Pid is the same and UptimeMillis
// has grown.
type Status struct {
	// Document is the whole answer in plain Go values: numbers are int64 or float64, documents map[string]any.
	Document map[string]any
	// Process is mongod or mongos.
	Process string
	// Version is the server's release.
	Version string
	// Pid of the process in its own namespace.
	Pid *int64
	// UptimeMillis is the age of the process in milliseconds.
	UptimeMillis *int64
	// LocalTime is the server's clock.
	LocalTime *time.Time
	// StorageEngine is its name, nil on mongos.
	StorageEngine *string
	// SupportsCommittedReads is false where enableMajorityReadConcern is.
	SupportsCommittedReads *bool
	// ConfigServers is the address of the config servers, nil until the member belongs to a sharded cluster.
	ConfigServers *string

	Cache         Cache
	Checkpoints   Checkpoints
	History       History
	Journal       Journal
	ReadTickets   Tickets
	WriteTickets  Tickets
	FlowControl   FlowControl
	Reads         Latency
	Writes        Latency
	Commands      Latency
	Connections   Connections
	Executor      Executor
	Network       Network
	Queue         Queue
	ActiveClients Queue
	Replication   Replication
	TTL           TTL
	Queries       Queries
	Operations    Operations
	Replicated    Operations
	Asserts       Asserts
}

// Cache is the WiredTiger cache.
type Cache struct {
	// MaxBytes is the size of the cache; it follows an online change at once.
	MaxBytes *int64
	// UsedBytes and DirtyBytes are what is in it and what of that is not on disk.
	UsedBytes, DirtyBytes *int64
	// UpdatesBytes is what updates take; 4.2 does not tell.
	UpdatesBytes *int64
	// EvictionWorkers is how many background workers are running.
	EvictionWorkers *int64
	// PagesEvictedByClients counts pages that client threads had to evict, DirtyPagesEvictedByClients those of them
	// that had to be written.
	PagesEvictedByClients, DirtyPagesEvictedByClients *int64
	// ClientEvictionMicros and ClientWaitMicros are the microseconds that client threads lost to that, and to waiting
	// for room in the cache.
	ClientEvictionMicros, ClientWaitMicros *int64
	// EvictionGoalsMissed counts passes in which the background could not keep up; gone after 6.0.
	EvictionGoalsMissed *int64
	// ClientReads, ClientReadMicros, ClientWrites and ClientWriteMicros are the page traffic with the disk that client
	// threads did themselves.
	ClientReads, ClientReadMicros, ClientWrites, ClientWriteMicros *int64
	// HistoryStoreBytes is the share of the history store in the cache, HistoryStoreDiskBytes its size on disk; 4.4+.
	HistoryStoreBytes, HistoryStoreDiskBytes *int64
	// BytesWrittenForCheckpoints and BytesWrittenForEviction split what was written by cause; some versions show 0.
	BytesWrittenForCheckpoints, BytesWrittenForEviction *int64
}

// Checkpoints is what the checkpoints cost.
type Checkpoints struct {
	// Count of checkpoints, whoever asked for them.
	Count *int64
	// RecentMillis, MinMillis, MaxMillis and TotalMillis are durations in milliseconds.
	RecentMillis, MinMillis, MaxMillis, TotalMillis *int64
	// IsRunning tells that one is under way.
	IsRunning *bool
}

// History is how much of the past the storage engine has to keep.
type History struct {
	// PinnedSeconds is the age of the oldest version that must be kept, in seconds: it grows with replication lag.
	PinnedSeconds *int64
	// WindowSeconds is the snapshot window that is asked for.
	WindowSeconds *int64
}

// Journal is the write-ahead log.
type Journal struct {
	// BytesWritten, Syncs and SyncMicros count bytes, syncs and the microseconds they took.
	BytesWritten, Syncs, SyncMicros *int64
}

// Tickets is the admission of operations to the storage engine.
type Tickets struct {
	// Out, Available and Total count tickets.
	Out, Available, Total *int64
	// Queued counts operations that wait for one; 8.0+.
	Queued *int64
}

// FlowControl is the throttle of a primary whose majority lags. On secondaries it means nothing.
type FlowControl struct {
	// IsEnabled tells that the throttle may act, IsLagged that it does.
	IsEnabled, IsLagged *bool
	// LaggedCount and LaggedMicros count how often and how long it acted.
	LaggedCount, LaggedMicros *int64
	// AcquiringMicros is how long operations waited for it.
	AcquiringMicros *int64
	// TargetRateLimit is the operations per second it lets through; SustainerRate those the slowest applies.
	TargetRateLimit, SustainerRate *int64
}

// Latency is how many operations of one kind there were and how long they took.
type Latency struct {
	// Operations counts them, TotalMicros adds their microseconds up.
	Operations, TotalMicros *int64
	// Histogram counts them by duration, shortest first.
	Histogram []LatencyBucket
}

// LatencyBucket counts operations that took at least FromMicros microseconds and less than the next bucket's.
type LatencyBucket struct {
	FromMicros, Count int64
}

// Connections is the clients' connections.
type Connections struct {
	// Current are open, Available could be opened still.
	Current, Available *int64
	// TotalCreated counts all since the start; Active run an operation.
	TotalCreated, Active *int64
}

// Executor is what serves the connections.
type Executor struct {
	// Name is passthrough or adaptive; 4.4 and older.
	Name *string
	// ThreadsRunning of that executor.
	ThreadsRunning *int64
	// Dedicated (passthrough) and Borrowed (fixed) are the two executors of 5.0 and 6.0.
	Dedicated, Borrowed Pool
}

// Pool is one executor of 5.0 and 6.0.
type Pool struct {
	// ThreadsRunning are its threads; ClientsInTotal, ClientsRunning and ClientsWaiting its clients.
	ThreadsRunning, ClientsInTotal, ClientsRunning, ClientsWaiting *int64
}

// Network is the traffic with clients and other members.
type Network struct {
	// BytesIn, BytesOut and Requests count since the start.
	BytesIn, BytesOut, Requests *int64
}

// Queue counts operations by what they want of the global lock.
type Queue struct {
	// Readers and Writers add up to Total.
	Readers, Writers, Total *int64
}

// Replication is the stages of replication on a member that copies from another.
type Replication struct {
	// FetchedOperations and FetchedBytes came over the network in GetMores requests. GetMoreMillis includes waiting
	// for something to happen: it is not busy time.
	FetchedOperations, FetchedBytes, GetMores, GetMoreMillis *int64
	// BufferedOperations and BufferBytes wait to be applied; BufferMaxBytes is the room for them.
	BufferedOperations, BufferBytes, BufferMaxBytes *int64
	// AppliedOperations were applied in Batches that took BatchMillis.
	AppliedOperations, Batches, BatchMillis *int64
}

// TTL is the deletion of expired documents. Secondaries count passes and delete nothing.
type TTL struct {
	// DeletedDocuments and Passes count since the start.
	DeletedDocuments, Passes *int64
}

// Queries is how much was looked at for what was returned. Aggregations, updates and the server's own reads
// are in it.
type Queries struct {
	// ScannedObjects and ScannedKeys count documents and index entries; ReturnedDocuments went to clients.
	ScannedObjects, ScannedKeys, ReturnedDocuments *int64
	// CollectionScans counts queries without an index; 4.4+.
	CollectionScans *int64
}

// Asserts counts what the server found wrong, by seriousness; User is the clients' mistakes.
type Asserts struct {
	Regular, Warning, Message, User *int64
}

// Operations counts operations by kind.
type Operations struct {
	Insert, Query, Update, Delete, GetMore, Command *int64
}
