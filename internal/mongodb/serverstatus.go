// SPDX-License-Identifier: Apache-2.0

package mongodb

import "github.com/mongotuning/mongotuning/internal/serverstatus"

// pinnedSecondsShift turns a difference of timestamps into seconds: they are in its upper half.
const pinnedSecondsShift = 32

func serverStatusOf(d document) serverstatus.Status {
	engine, asserts := d.section("storageEngine"), d.section("asserts")
	lock := d.section("globalLock")
	read, write := ticketsOf(d)
	latencies := d.section("opLatencies")
	return serverstatus.Status{
		Document:               d,
		Process:                d.word("process"),
		Version:                d.word("version"),
		Pid:                    d.number("pid"),
		UptimeMillis:           d.number("uptimeMillis"),
		LocalTime:              d.moment("localTime"),
		StorageEngine:          engine.text("name"),
		SupportsCommittedReads: engine.flag("supportsCommittedReads"),
		ConfigServers:          d.section("sharding").text("configsvrConnectionString"),
		Cache:                  cacheOf(d.section("wiredTiger")),
		Checkpoints:            checkpointsOf(d.section("wiredTiger")),
		History:                historyOf(d.section("wiredTiger")),
		Journal:                journalOf(d.section("wiredTiger", "log")),
		ReadTickets:            read,
		WriteTickets:           write,
		FlowControl:            flowControlOf(d.section("flowControl")),
		Reads:                  latencyOf(latencies.section("reads")),
		Writes:                 latencyOf(latencies.section("writes")),
		Commands:               latencyOf(latencies.section("commands")),
		Connections:            connectionsOf(d.section("connections")),
		Executor:               executorOf(d.section("network")),
		Network:                networkOf(d.section("network")),
		Queue:                  queueOf(lock.section("currentQueue")),
		ActiveClients:          queueOf(lock.section("activeClients")),
		Replication:            replicationOf(d.section("metrics", "repl")),
		TTL:                    ttlOf(d.section("metrics", "ttl")),
		Queries:                queriesOf(d.section("metrics")),
		Operations:             operationsOf(d.section("opcounters")),
		Replicated:             operationsOf(d.section("opcountersRepl")),
		Asserts: serverstatus.Asserts{
			Regular: asserts.number("regular"),
			Warning: asserts.number("warning"),
			Message: asserts.number("msg"),
			User:    asserts.number("user"),
		},
	}
}

func cacheOf(engine document) serverstatus.Cache {
	cache, yield, capacity := engine.section("cache"), engine.section("thread-yield"), engine.section("capacity")
	return serverstatus.Cache{
		MaxBytes:                   cache.number("maximum bytes configured"),
		UsedBytes:                  cache.number("bytes currently in the cache"),
		DirtyBytes:                 cache.number("tracked dirty bytes in the cache"),
		UpdatesBytes:               cache.number("bytes allocated for updates"),
		EvictionWorkers:            cache.number("eviction worker thread active"),
		PagesEvictedByClients:      cache.number("pages evicted by application threads"),
		DirtyPagesEvictedByClients: cache.number("modified pages evicted by application threads"),
		// 8.0 moved the first of these two to the cache.
		ClientEvictionMicros:       either(yield, cache, "application thread time evicting (usecs)"),
		ClientWaitMicros:           either(yield, cache, "application thread time waiting for cache (usecs)"),
		EvictionGoalsMissed:        cache.number("eviction server unable to reach eviction goal"),
		ClientReads:                cache.number("application threads page read from disk to cache count"),
		ClientReadMicros:           cache.number("application threads page read from disk to cache time (usecs)"),
		ClientWrites:               cache.number("application threads page write from cache to disk count"),
		ClientWriteMicros:          cache.number("application threads page write from cache to disk time (usecs)"),
		HistoryStoreBytes:          cache.number("bytes belonging to the history store table in the cache"),
		HistoryStoreDiskBytes:      cache.number("history store table on-disk size"),
		BytesWrittenForCheckpoints: capacity.number("bytes written for checkpoint"),
		BytesWrittenForEviction:    capacity.number("bytes written for eviction"),
	}
}

// checkpointsOf reads the figures where they are up to 7.0, or where 8.0 has them.
func checkpointsOf(engine document) serverstatus.Checkpoints {
	if checkpoint := engine.section("checkpoint"); checkpoint.number("total succeed number of checkpoints") != nil {
		return serverstatus.Checkpoints{
			Count:        checkpoint.number("total succeed number of checkpoints"),
			RecentMillis: checkpoint.number("most recent time (msecs)"),
			MinMillis:    checkpoint.number("min time (msecs)"),
			MaxMillis:    checkpoint.number("max time (msecs)"),
			TotalMillis:  checkpoint.number("total time (msecs)"),
			IsRunning:    checkpoint.flag("progress state"),
		}
	}
	transaction := engine.section("transaction")
	return serverstatus.Checkpoints{
		Count:        transaction.number("transaction checkpoints"),
		RecentMillis: transaction.number("transaction checkpoint most recent time (msecs)"),
		MinMillis:    transaction.number("transaction checkpoint min time (msecs)"),
		MaxMillis:    transaction.number("transaction checkpoint max time (msecs)"),
		TotalMillis:  transaction.number("transaction checkpoint total time (msecs)"),
		IsRunning:    transaction.flag("transaction checkpoint currently running"),
	}
}

func historyOf(engine document) serverstatus.History {
	window := engine.section("snapshot-window-settings")
	history := serverstatus.History{WindowSeconds: window.number("minimum target snapshot window size in seconds")}
	if history.WindowSeconds == nil {
		// So 4.4 and older call it.
		history.WindowSeconds = window.number("target available snapshots window size in seconds")
	}
	if pinned := engine.section("transaction").number("transaction range of timestamps currently pinned"); pinned != nil {
		seconds := *pinned >> pinnedSecondsShift
		history.PinnedSeconds = &seconds
	}
	return history
}

func journalOf(log document) serverstatus.Journal {
	return serverstatus.Journal{
		BytesWritten: log.number("log bytes written"),
		Syncs:        log.number("log sync operations"),
		SyncMicros:   log.number("log sync time duration (usecs)"),
	}
}

// ticketsOf reads the layout of 8.0 where it is there, and that of 7.0 and older otherwise.
func ticketsOf(d document) (read, write serverstatus.Tickets) {
	tickets := d.section("queues", "execution")
	if tickets == nil {
		tickets = d.section("wiredTiger", "concurrentTransactions")
	}
	one := func(tickets document) serverstatus.Tickets {
		return serverstatus.Tickets{
			Out:       tickets.number("out"),
			Available: tickets.number("available"),
			Total:     tickets.number("totalTickets"),
			Queued:    tickets.number("queueLength"),
		}
	}
	return one(tickets.section("read")), one(tickets.section("write"))
}

func flowControlOf(d document) serverstatus.FlowControl {
	return serverstatus.FlowControl{
		IsEnabled:       d.flag("enabled"),
		IsLagged:        d.flag("isLagged"),
		LaggedCount:     d.number("isLaggedCount"),
		LaggedMicros:    d.number("isLaggedTimeMicros"),
		AcquiringMicros: d.number("timeAcquiringMicros"),
		TargetRateLimit: d.number("targetRateLimit"),
		SustainerRate:   d.number("sustainerRate"),
	}
}

func latencyOf(d document) serverstatus.Latency {
	latency := serverstatus.Latency{Operations: d.number("ops"), TotalMicros: d.number("latency")}
	for _, bucket := range d.list("histogram") {
		latency.Histogram = append(latency.Histogram, serverstatus.LatencyBucket{
			FromMicros: value(bucket.number("micros")),
			Count:      value(bucket.number("count")),
		})
	}
	return latency
}

func connectionsOf(d document) serverstatus.Connections {
	return serverstatus.Connections{
		Current:      d.number("current"),
		Available:    d.number("available"),
		TotalCreated: d.number("totalCreated"),
		Active:       d.number("active"),
	}
}

func executorOf(network document) serverstatus.Executor {
	old, pools := network.section("serviceExecutorTaskStats"), network.section("serviceExecutors")
	pool := func(d document) serverstatus.Pool {
		return serverstatus.Pool{
			ThreadsRunning: d.number("threadsRunning"),
			ClientsInTotal: d.number("clientsInTotal"),
			ClientsRunning: d.number("clientsRunning"),
			ClientsWaiting: d.number("clientsWaitingForData"),
		}
	}
	return serverstatus.Executor{
		Name:           old.text("executor"),
		ThreadsRunning: old.number("threadsRunning"),
		Dedicated:      pool(pools.section("passthrough")),
		Borrowed:       pool(pools.section("fixed")),
	}
}

func networkOf(d document) serverstatus.Network {
	return serverstatus.Network{BytesIn: d.number("bytesIn"), BytesOut: d.number("bytesOut"), Requests: d.number("numRequests")}
}

func queueOf(d document) serverstatus.Queue {
	return serverstatus.Queue{Readers: d.number("readers"), Writers: d.number("writers"), Total: d.number("total")}
}

func replicationOf(d document) serverstatus.Replication {
	network, apply, buffer := d.section("network"), d.section("apply"), d.section("buffer")
	if inner := buffer.section("apply"); inner != nil {
		// 8.0 splits the buffer in two; this is the stage that older versions have.
		buffer = inner
	}
	return serverstatus.Replication{
		FetchedOperations:  network.number("ops"),
		FetchedBytes:       network.number("bytes"),
		GetMores:           network.section("getmores").number("num"),
		GetMoreMillis:      network.section("getmores").number("totalMillis"),
		BufferedOperations: buffer.number("count"),
		BufferBytes:        buffer.number("sizeBytes"),
		BufferMaxBytes:     buffer.number("maxSizeBytes"),
		AppliedOperations:  apply.number("ops"),
		Batches:            apply.section("batches").number("num"),
		BatchMillis:        apply.section("batches").number("totalMillis"),
	}
}

func ttlOf(d document) serverstatus.TTL {
	return serverstatus.TTL{DeletedDocuments: d.number("deletedDocuments"), Passes: d.number("passes")}
}

func queriesOf(metrics document) serverstatus.Queries {
	executor := metrics.section("queryExecutor")
	return serverstatus.Queries{
		ScannedObjects:    executor.number("scannedObjects"),
		ScannedKeys:       executor.number("scanned"),
		ReturnedDocuments: metrics.section("document").number("returned"),
		CollectionScans:   executor.section("collectionScans").number("total"),
	}
}

func operationsOf(d document) serverstatus.Operations {
	return serverstatus.Operations{
		Insert:  d.number("insert"),
		Query:   d.number("query"),
		Update:  d.number("update"),
		Delete:  d.number("delete"),
		GetMore: d.number("getmore"),
		Command: d.number("command"),
	}
}

// either is a figure that versions keep in one of two places.
func either(first, second document, key string) *int64 {
	if figure := first.number(key); figure != nil {
		return figure
	}
	return second.number(key)
}
