// SPDX-License-Identifier: Apache-2.0

package catalog

// percentOfCache is the unit of eviction targets and triggers. WiredTiger takes a number above 100 as
// bytes, which the bounds keep out.
const percentOfCache = "percent of the cache"

// halfOfDirty is the value with which WiredTiger derives an updates threshold from the dirty one.
const halfOfDirty = "0"

var evictionRows = []Knob{
	eviction(Knob{
		Name: EvictionTarget, WiredTigerKey: "eviction_target", Unit: percentOfCache, Min: 10, Max: 99, Default: "80",
		TooHigh: "background eviction starts late and client threads meet the trigger",
		TooLow:  "hot pages leave the cache and are read again",
		Source:  "WiredTiger configuration; " + oppo + ": 80 -> 75",
	}),
	eviction(Knob{
		Name: EvictionTrigger, WiredTigerKey: "eviction_trigger", Unit: percentOfCache, Min: 11, Max: 100, Default: "95",
		TooHigh: "the cache fills up before clients help, and operations stall together",
		TooLow:  "client threads evict while there is room",
		Source:  "WiredTiger configuration; " + oppo + ": 95 -> 97",
	}),
	eviction(Knob{
		Name: EvictionDirtyTarget, WiredTigerKey: "eviction_dirty_target", Unit: percentOfCache, Min: 1, Max: 99, Default: "5",
		TooHigh: "dirty pages pile up until the checkpoint has to write them all",
		TooLow:  "pages are written again and again; with 1 and a trigger of 2 a test on 6.0.27 fell to a twentieth of its throughput",
		Source:  "WiredTiger configuration; " + oppo + ": 5 -> 3; " + measured,
	}),
	eviction(Knob{
		Name: EvictionDirtyTrigger, WiredTigerKey: "eviction_dirty_trigger", Unit: percentOfCache, Min: 2, Max: 100, Default: "20",
		TooHigh: "a checkpoint may have to flush this share of the whole cache at once, so the disk is busy for seconds",
		TooLow:  "client threads are drafted for eviction under any write load; the trigger for updates follows at half of it",
		Source:  "WiredTiger configuration; " + oppo + ": 20 -> 25 -> 30; " + measured,
	}),
	eviction(Knob{
		Name: EvictionUpdatesTarget, WiredTigerKey: "eviction_updates_target", Unit: percentOfCache, Min: 0, Max: 99,
		Default: halfOfDirty, Inert: halfOfDirty, Versions: from44,
		Nearest: "use eviction.dirtyTargetPercent: this server counts updates as dirty only",
		TooHigh: "updates that only lie in memory pile up until client threads are drafted",
		TooLow:  "pages with fresh updates are written again and again; 0 means half of eviction.dirtyTargetPercent",
		Source:  "WiredTiger configuration; " + measured,
	}),
	eviction(Knob{
		Name: EvictionUpdatesTrigger, WiredTigerKey: "eviction_updates_trigger", Unit: percentOfCache, Min: 0, Max: 100,
		Default: halfOfDirty, Inert: halfOfDirty, Versions: from44,
		Nearest: "use eviction.dirtyTriggerPercent: this server counts updates as dirty only",
		TooHigh: "updates fill the cache before clients help",
		TooLow:  "often the threshold that clients meet first; 0 means half of eviction.dirtyTriggerPercent",
		Source:  "WiredTiger configuration; " + measured,
	}),
	eviction(Knob{
		Name: EvictionCheckpoint, WiredTigerKey: "eviction_checkpoint_target", Unit: percentOfCache, Min: 0, Max: 99, Default: "1",
		TooHigh: "the checkpoint itself has to write more while it holds its locks",
		TooLow:  "0 leaves all of it to the checkpoint; what is below eviction.dirtyTargetPercent counts as that",
		Source:  "WiredTiger configuration; " + measured,
	}),
	eviction(Knob{
		Name: EvictionThreadsMin, WiredTigerKey: "eviction.threads_min", Unit: "threads", Min: 1, Max: 20, Default: "4",
		read:    evictionThreads(atLeast),
		TooHigh: "threads fight for locks and CPU; past some number more do not help",
		TooLow:  "background eviction cannot keep up with writes",
		Source:  "WiredTiger configuration; " + oppo + ": 4 -> 8 -> 14; " + measured,
	}),
	eviction(Knob{
		Name: EvictionThreadsMax, WiredTigerKey: "eviction.threads_max", Unit: "threads", Min: 1, Max: 20, Default: "4",
		read:    evictionThreads(atMost),
		TooHigh: "as eviction.threadsMin", TooLow: "as eviction.threadsMin",
		Source: "WiredTiger configuration; " + oppo + ": 4 -> 12 -> 18; " + measured,
	}),
}

// eviction completes a row with what all eviction settings have in common.
func eviction(row Knob) Knob {
	row.MongoDBName = row.WiredTigerKey
	row.Components = shardMembers
	row.Kind = KindInteger
	row.Online = OnlineWiredTiger
	if row.Versions == (LineRange{}) {
		row.Versions = always
	}
	if row.read == nil {
		row.read = fromWiredTigerString
	}
	return row
}

func atLeast(running, limit int64) bool { return running >= limit }
func atMost(running, limit int64) bool  { return running <= limit }

// evictionThreads reads a bound of the eviction threads from the WiredTiger string, and doubts it when
// the number of threads that run lies outside of it.
func evictionThreads(holds func(running, limit int64) bool) reader {
	const workers = "wiredTiger/cache/eviction worker thread active"
	return func(knob Knob, process Process) Reading {
		reading := fromWiredTigerString(knob, process)
		limit, ok := reading.Value.AsInt()
		raw, shown := lookup(process.ServerStatus, workers)
		count, isValue := valueOf(raw)
		running, isCount := count.AsFloat()
		if ok && shown && isValue && isCount && !holds(int64(running), limit) {
			return Reading{Value: count, Found: true, Evidence: "serverStatus wiredTiger . cache . eviction worker thread active"}
		}
		return reading
	}
}
