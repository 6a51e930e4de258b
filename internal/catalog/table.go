// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"math"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

var (
	shardMembers = []v1alpha1.Component{v1alpha1.ComponentShardMember}
	allMongod    = []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer}
	everyProcess = []v1alpha1.Component{
		v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer, v1alpha1.ComponentMongos,
	}

	always   = LineRange{v42, v80}
	until44  = LineRange{v42, v44}
	mebibyte = float64(1 << 20)
	gibibyte = float64(1 << 30)
)

// Names of knobs that rules and builders refer to.
const (
	CacheSizeGB               = "cacheSizeGB"
	CacheSizePercent          = "cacheSizePercent"
	EvictionTarget            = "eviction.targetPercent"
	EvictionTrigger           = "eviction.triggerPercent"
	EvictionDirtyTarget       = "eviction.dirtyTargetPercent"
	EvictionDirtyTrigger      = "eviction.dirtyTriggerPercent"
	EvictionThreadsMin        = "eviction.threadsMin"
	EvictionThreadsMax        = "eviction.threadsMax"
	EnableMajorityReadConcern = "enableMajorityReadConcern"
	ServiceExecutor           = "serviceExecutor"
)

// MinCacheSizeGB is the smallest cache a server of every version takes: 6.0 refuses less.
const MinCacheSizeGB = 0.25

var table = []Knob{
	{
		Name: CacheSizeGB, MongoDBName: "storage.wiredTiger.engineConfig.cacheSizeGB",
		Components: allMongod, Versions: always,
		Kind: KindDecimal, Unit: "GB (2^30 bytes)", Min: MinCacheSizeGB, Max: 10000,
		ConfigKey: "storage.wiredTiger.engineConfig.cacheSizeGB", WiredTigerKey: "cache_size", Online: OnlineWiredTiger,
		read:    fromServerStatus("wiredTiger/cache/maximum bytes configured", gigabytes),
		same:    sameCacheSize,
		TooHigh: "more dirty data per checkpoint, less file system cache, and the container is killed when connections and sorts want memory too; report O cured 5 s time-outs by going from 110-120 to 50 of 190 GB",
		TooLow:  "pages are read again and again, and client threads are drafted for eviction",
		Source:  "MongoDB manual storage.wiredTiger; facts 0.9, 1, 2 rule 4; report O",
	},
	{
		Name: CacheSizePercent, MongoDBName: "storage.wiredTiger.engineConfig.cacheSizeGB",
		Components: allMongod, Versions: always,
		Kind: KindInteger, Unit: "percent of the memory limit", Min: 5, Max: 80,
		DerivedInto: CacheSizeGB, Online: OnlineWiredTiger,
		TooHigh: "as cacheSizeGB", TooLow: "as cacheSizeGB",
		Source: "facts 2 rule 4",
	},
	{
		Name: EvictionTarget, MongoDBName: "eviction_target",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "percent of the cache", Min: 10, Max: 99, Default: "80",
		WiredTigerKey: "eviction_target", Online: OnlineWiredTiger, read: fromWiredTigerString("eviction_target"),
		TooHigh: "background eviction starts late and client threads meet the trigger",
		TooLow:  "hot pages leave the cache and are read again",
		Source:  "WiredTiger configuration; report O: 80 -> 75",
	},
	{
		Name: EvictionTrigger, MongoDBName: "eviction_trigger",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "percent of the cache", Min: 11, Max: 100, Default: "95",
		WiredTigerKey: "eviction_trigger", Online: OnlineWiredTiger, read: fromWiredTigerString("eviction_trigger"),
		TooHigh: "the cache fills up before clients help, and operations stall together",
		TooLow:  "client threads evict while there is room",
		Source:  "WiredTiger configuration; report O: 95 -> 97",
	},
	{
		Name: EvictionDirtyTarget, MongoDBName: "eviction_dirty_target",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "percent of the cache", Min: 1, Max: 99, Default: "5",
		WiredTigerKey: "eviction_dirty_target", Online: OnlineWiredTiger, read: fromWiredTigerString("eviction_dirty_target"),
		TooHigh: "dirty pages pile up until the checkpoint has to write them all",
		TooLow:  "pages are written again and again; with 1 and a trigger of 2 a test fell to a twentieth of its throughput",
		Source:  "WiredTiger configuration; report O: 5 -> 3; facts 2",
	},
	{
		Name: EvictionDirtyTrigger, MongoDBName: "eviction_dirty_trigger",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "percent of the cache", Min: 2, Max: 100, Default: "20",
		WiredTigerKey: "eviction_dirty_trigger", Online: OnlineWiredTiger, read: fromWiredTigerString("eviction_dirty_trigger"),
		TooHigh: "a checkpoint may have to flush this share of the whole cache at once, so the disk is busy for seconds",
		TooLow:  "client threads are drafted for eviction under any write load; the trigger for updates follows at half of it",
		Source:  "WiredTiger configuration; report O: 20 -> 25 -> 30; facts 2",
	},
	{
		Name: EvictionThreadsMin, MongoDBName: "eviction=(threads_min)",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "threads", Min: 1, Max: 20, Default: "4",
		WiredTigerKey: "eviction.threads_min", Online: OnlineWiredTiger, read: evictionThreads("threads_min", atLeast),
		TooHigh: "threads fight for locks and CPU; past some number more do not help",
		TooLow:  "background eviction cannot keep up with writes",
		Source:  "WiredTiger configuration; report O: 4 -> 8 -> 14; facts 0.10",
	},
	{
		Name: EvictionThreadsMax, MongoDBName: "eviction=(threads_max)",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "threads", Min: 1, Max: 20, Default: "4",
		WiredTigerKey: "eviction.threads_max", Online: OnlineWiredTiger, read: evictionThreads("threads_max", atMost),
		TooHigh: "as eviction.threadsMin", TooLow: "as eviction.threadsMin",
		Source: "WiredTiger configuration; report O: 4 -> 12 -> 18; facts 0.10",
	},
	{
		Name: EnableMajorityReadConcern, MongoDBName: "replication.enableMajorityReadConcern",
		Components: shardMembers, Versions: until44,
		Kind: KindBoolean, Default: "true", Inert: "true",
		ConfigKey: "replication.enableMajorityReadConcern", Online: RestartOnly,
		read:    fromServerStatus("storageEngine/supportsCommittedReads", valueOf),
		Nearest: "watch replication lag: this server always keeps history for lagging secondaries",
		TooHigh: "true: a lagging secondary pins history on the primary and its dirty cache grows",
		TooLow:  "false: read concern majority, flow control and multi-shard transactions are gone",
		Source:  "MongoDB manual replication.enableMajorityReadConcern; report O; facts 0.6, 2 rule 7",
	},
	{
		Name: ServiceExecutor, MongoDBName: "net.serviceExecutor",
		Components: everyProcess, Versions: until44,
		Kind: KindEnum, Enum: []Value{"synchronous", "adaptive"}, Default: "synchronous", Inert: "synchronous",
		ConfigKey: "net.serviceExecutor", Online: RestartOnly,
		read:    fromServerStatus("network/serviceExecutorTaskStats/executor", executorName),
		Nearest: "limit connections in the application's pools: this server has one thread per connection only",
		TooHigh: "adaptive: deprecated since 4.4, few others run it",
		TooLow:  "synchronous: ten thousand connections are ten thousand threads",
		Source:  "MongoDB source; reports O (200 -> 80 ms) and A; facts 0.7",
	},
}

// gigabytes turns a number of bytes into cacheSizeGB.
func gigabytes(raw any) (Value, bool) {
	value, ok := valueOf(raw)
	if !ok {
		return "", false
	}
	bytes, ok := value.AsFloat()
	return Decimal(bytes / gibibyte), ok
}

// CacheBytes is the cache that mongod makes of cacheSizeGB: it counts in whole MiB and drops the rest.
func CacheBytes(sizeGB float64) int64 {
	return int64(math.Floor(sizeGB*1024)) * int64(mebibyte)
}

func sameCacheSize(wanted, found Value) bool {
	wantedGB, ok := wanted.AsFloat()
	foundGB, okFound := found.AsFloat()
	return ok && okFound && CacheBytes(wantedGB) == int64(math.Round(foundGB*gibibyte))
}

// executorName turns the name in serverStatus into the name of the option.
func executorName(raw any) (Value, bool) {
	switch raw {
	case "passthrough":
		return "synchronous", true
	case "adaptive":
		return "adaptive", true
	default:
		return "", false
	}
}

func atLeast(running, limit int64) bool { return running >= limit }
func atMost(running, limit int64) bool  { return running <= limit }

// evictionThreads reads a bound of the eviction threads from the WiredTiger string, and doubts it when
// the number of threads that run lies outside of it.
func evictionThreads(key string, holds func(running, limit int64) bool) reader {
	const workers = "wiredTiger/cache/eviction worker thread active"
	fromString := fromWiredTigerString("eviction." + key)
	return func(process Process) Reading {
		reading := fromString(process)
		limit, ok := reading.Value.AsInt()
		raw, shown := lookup(process.ServerStatus, workers)
		count, isValue := valueOf(raw)
		running, isCount := count.AsInt()
		if ok && shown && isValue && isCount && !holds(running, limit) {
			return Reading{Value: count, Found: true, Evidence: "serverStatus wiredTiger . cache . eviction worker thread active"}
		}
		return reading
	}
}
