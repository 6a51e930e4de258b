// SPDX-License-Identifier: Apache-2.0

package catalog

// Rows that the operator holds to their defaults so that a checkpoint server of WiredTiger, which would
// run beside mongod's own, does not stay on after somebody started one by hand.
const (
	wiredTigerCheckpointWait    = "wiredTiger.checkpoint.wait"
	wiredTigerCheckpointLogSize = "wiredTiger.checkpoint.log_size"
)

var checkpointRows = []Knob{
	{
		Name: CheckpointWait, MongoDBName: "storage.syncPeriodSecs",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "seconds", Min: 1, Max: 3600, Default: "60",
		ConfigKey: "storage.syncPeriodSecs", Online: RestartOnly, read: fromCommandLine,
		TooHigh: "more to write at once and a longer recovery after a crash; 4.4 and newer refuse more than 3600",
		TooLow:  "pages are written again and again; below about 10 s checkpoints follow one another",
		Source:  "MongoDB manual, storage.syncPeriodSecs; " + oppo + ": 60 -> 25 -> 20; " + measured + " by counting checkpoints, where setParameter syncdelay is accepted at run time and does nothing",
	},
	{
		Name: CheckpointLogSize, MongoDBName: "checkpoint=(log_size)",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "GB (2^30 bytes)", Min: 0, Max: 2, Default: "0", Inert: "0",
		Online:  WithoutEffect,
		Note:    "MongoDB since 3.6 drives checkpoints by time only (SERVER-29210): the value is not applied; checkpoint.waitSeconds is what counts",
		TooHigh: "no effect", TooLow: "no effect",
		Source: "SERVER-29210; " + oppo + ": 2 -> 1, on MongoDB 3.6 where it had no effect either; " + measured,
	},
	fixedCheckpoint(wiredTigerCheckpointWait, "checkpoint.wait"),
	fixedCheckpoint(wiredTigerCheckpointLogSize, "checkpoint.log_size"),
}

func fixedCheckpoint(name, key string) Knob {
	return Knob{
		Name: name, MongoDBName: key, Fixed: true,
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Min: 0, Max: 0, Default: "0",
		WiredTigerKey: key, Online: OnlineWiredTiger, read: fromWiredTigerString,
		TooHigh: "WiredTiger's own checkpoint server runs beside mongod's checkpoint thread, and panics the process when a checkpoint fails",
		TooLow:  "never",
		Source:  "WiredTiger configuration; " + measured,
	}
}
