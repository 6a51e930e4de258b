// SPDX-License-Identifier: Apache-2.0

package catalog

var diagnosticRows = []Knob{
	{
		Name: SlowOperationThreshold, MongoDBName: "operationProfiling.slowOpThresholdMs",
		Components: shardsAndRouters, Versions: always,
		Kind: KindInteger, Unit: "milliseconds", Min: 0, Max: 3600000, Default: "100",
		ConfigKey: "operationProfiling.slowOpThresholdMs", Online: OnlineProfile, read: fromSlowOperations("slowms"),
		TooHigh: "slow operations go unseen",
		TooLow:  "0 logs every operation, and writing the log costs more than the operations",
		Source:  "MongoDB manual, operationProfiling.slowOpThresholdMs; idealo's report counts operations above 100 ms; " + measured,
	},
	percentParameter(Knob{
		Name: SlowOperationSample, MongoDBName: "operationProfiling.slowOpSampleRate",
		Components: shardsAndRouters, Versions: always,
		Kind: KindInteger, Unit: "percent of the slow operations", Min: 0, Max: 100, Default: "100",
		ConfigKey: "operationProfiling.slowOpSampleRate", Online: OnlineProfile, read: fromSlowOperations("sampleRate"),
		TooHigh: "under a storm of slow operations the log itself becomes a load",
		TooLow:  "counts of slow operations have to be scaled up, and rare ones go unseen",
		Source:  "MongoDB manual, operationProfiling.slowOpSampleRate; " + measured,
	}),
	{
		Name: Profiler, MongoDBName: "operationProfiling.mode",
		Components: shardMembers, Versions: always,
		Kind: KindEnum, Enum: []Value{profilerNone, "slowOp", "all"}, Default: profilerNone, Inert: profilerNone,
		ConfigKey: "operationProfiling.mode", Online: RestartOnly, read: fromCommandLine,
		fromServer: fromProfilerMode,
		TooHigh:    "all: every operation is written a second time, to system.profile of its database",
		TooLow:     "none: operations are seen in the log only, without their plans side by side",
		Source:     "MongoDB manual, operationProfiling.mode; idealo's report profiled all sets for queries above 100 ms; " + measured,
	},
	{
		Name: TTLMonitorEnabled, MongoDBName: "ttlMonitorEnabled",
		Components: shardMembers, Versions: always,
		Kind: KindBoolean, Default: "true",
		Parameter: true, Online: OnlineParameter, read: fromParameter,
		TooHigh: "true: expired documents are deleted at any hour and compete with traffic",
		TooLow:  "false: expired documents stay until it is turned on again",
		Source:  "MongoDB manual, ttlMonitorEnabled; " + oppo + ": deletes moved to the night; " + measured,
	},
	{
		Name: TTLMonitorSleep, MongoDBName: "ttlMonitorSleepSecs",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "seconds", Min: 1, Max: 86400, Default: "60",
		Parameter: true, Online: OnlineParameter, read: fromParameter,
		Note:    "a pass that sleeps already finishes its old sleep first",
		TooHigh: "expired documents pile up and go in large bursts",
		TooLow:  "every index with an expiry is looked at again and again",
		Source:  "MongoDB source; " + measured,
	},
}

// profilerNone is the server's off, a word that YAML takes for false.
const profilerNone = "none"

// fromProfilerMode turns the server's word into ours.
func fromProfilerMode(raw any) (Value, bool) {
	value, ok := valueOf(raw)
	if value == "off" {
		value = profilerNone
	}
	return value, ok
}
