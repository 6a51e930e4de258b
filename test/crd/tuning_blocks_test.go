// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
)

// memberBlockBounds are the bounds of what only shard members have.
func memberBlockBounds(kind, members string) []bound {
	return []bound{
		number(kind, members+".eviction.updatesTargetPercent", 0, 99, 1),
		number(kind, members+".eviction.updatesTriggerPercent", 0, 100, 1),
		number(kind, members+".eviction.checkpointTargetPercent", 0, 99, 1),
		values(kind, members+".profiler", "none", "slowOp", "all"),
		number(kind, members+".checkpoint.waitSeconds", 1, 3600, 1),
		number(kind, members+".checkpoint.logSizeGB", 0, 2, 1),
		number(kind, members+".flowControl.targetLagSeconds", 1, 3600, 1),
		number(kind, members+".flowControl.thresholdLagPercent", 0, 100, 1),
		number(kind, members+".flowControl.minTicketsPerSecond", 1, 1000000000, 1),
		number(kind, members+".snapshotHistoryWindowSeconds", 0, 86400, 1),
		number(kind, members+".oplog.sizeMB", 990, 1073741824, 1),
		number(kind, members+".oplog.minRetentionHours", 0, 8760, 1),
		number(kind, members+".tickets.read", 5, 1000, 1),
		number(kind, members+".tickets.write", 5, 1000, 1),
		number(kind, members+".journalCommitIntervalMilliseconds", 1, 500, 1),
		values(kind, members+".blockCompressor", "none", "snappy", "zlib", "zstd"),
		number(kind, members+".ttlMonitor.sleepSeconds", 1, 86400, 1),
		ofKind(kind, items(members+".setParameters", 64, func(i int) any {
			return fields{"name": fmt.Sprint("parameter", i), "value": "1"}
		})),
		ofKind(kind, itemLength(members+".setParameters", "name", 1, 100, fields{"value": "1"})),
		ofKind(kind, itemLength(members+".setParameters", "value", 1, 256, fields{"name": "cursorTimeoutMillis"})),
	}
}

// processBounds are the bounds of what shard members and mongos have alike.
func processBounds(kind, process string) []bound {
	compressors := process + ".networkCompressors"
	return []bound{
		values(kind, process+".initialServiceExecutorThreadingModel", "dedicated", "borrowed"),
		number(kind, process+".maxIncomingConnections", 5, 1000000, 1),
		{
			kind: kind, path: compressors, limit: "items",
			accepted: []any{[]any{"zstd"}, []any{"snappy", "zstd", "zlib"}},
			refused:  []any{[]any{}, []any{"snappy", "zstd", "zlib", "snappy"}}, says: "items",
		},
		{
			kind: kind, path: compressors + "[0]", limit: "values",
			accepted: []any{[]any{"snappy"}, []any{"zstd"}, []any{"zlib"}, []any{"disabled"}},
			refused:  []any{[]any{"lz4"}}, says: "supported values",
		},
		number(kind, process+".slowOperations.thresholdMilliseconds", 0, 3600000, 1),
		number(kind, process+".slowOperations.samplePercent", 0, 100, 1),
	}
}

func routerBounds(kind, mongos string) []bound {
	pool := mongos + ".connectionPool"
	const day = 86400000
	return []bound{
		number(kind, mongos+".taskExecutorPoolSize", 1, 64, 1),
		number(kind, pool+".minSize", 1, 32767, 1),
		number(kind, pool+".maxSize", 1, 32767, 1),
		number(kind, pool+".maxConnecting", 1, 32767, 1),
		number(kind, pool+".hostTimeoutMilliseconds", 1, day, 1),
		number(kind, pool+".refreshRequirementMilliseconds", 1, day, 1),
		number(kind, pool+".refreshTimeoutMilliseconds", 1, day, 1),
		values(kind, pool+".replicaSetMatching", "disabled", "matchPrimaryNode", "matchBusiestNode", "automatic"),
	}
}

func ofKind(kind string, b bound) bound {
	b.kind = kind
	return b
}

// blockBounds are the bounds of the blocks of knobs, which are the same in a profile.
func blockBounds(kind, members, configServers, mongos string) []bound {
	return slices.Concat(
		memberBlockBounds(kind, members),
		processBounds(kind, members),
		processBounds(kind, mongos),
		routerBounds(kind, mongos),
		[]bound{number(kind, configServers+".maxIncomingConnections", 5, 1000000, 1)},
	)
}

// blockRules are the rules of the blocks of knobs, which are the same in a profile.
func blockRules(kind, members, mongos string) []rule {
	eviction := members + ".eviction"
	target, trigger := eviction+".updatesTargetPercent", eviction+".updatesTriggerPercent"
	below := belowRule(kind, target, trigger,
		"must be less than updatesTriggerPercent: background eviction would start after the clients were drafted")
	below.accepted = append(below.accepted,
		change{name: "a derived trigger is compared when it is known", after: fields{target: 5, trigger: 0}})
	return []rule{
		below,
		atMostRule(kind, trigger, eviction+".triggerPercent", "must be at most triggerPercent: WiredTiger cuts it to that without saying so"),
		atMostRule(kind, target, eviction+".targetPercent", "must be at most targetPercent: WiredTiger cuts it to that without saying so"),
		compressorRule(kind, members+".networkCompressors"),
		compressorRule(kind, mongos+".networkCompressors"),
		atMostRule(kind, mongos+".connectionPool.minSize", mongos+".connectionPool.maxSize",
			"must be at most maxSize: a pool cannot keep more connections than it may have"),
	}
}

func compressorRule(kind, path string) rule {
	return rule{
		kind: kind, path: path, message: "must name disabled only alone: it turns compression off",
		accepted: []change{
			{name: "disabled alone is taken", after: fields{path: []any{"disabled"}}},
			{name: "several compressors are taken", after: fields{path: []any{"zstd", "snappy"}}},
		},
		refused: []change{
			{name: "disabled among others is refused", after: fields{path: []any{"snappy", "disabled"}}},
		},
	}
}
