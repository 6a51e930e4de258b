// SPDX-License-Identifier: Apache-2.0

package catalog

var replicationRows = []Knob{
	{
		Name: EnableMajorityReadConcern, MongoDBName: "replication.enableMajorityReadConcern",
		Components: shardMembers, Versions: until44,
		Kind: KindBoolean, Default: "true", Inert: "true",
		ConfigKey: "replication.enableMajorityReadConcern", Online: RestartOnly,
		read:    fromServerStatus("storageEngine/supportsCommittedReads", valueOf),
		Nearest: "it always keeps history for lagging secondaries: lower snapshotHistoryWindowSeconds, leave flowControl on and watch replication lag",
		TooHigh: "true: a lagging secondary pins history on the primary and its dirty cache grows",
		TooLow:  "false: read concern majority, flow control and multi-shard transactions are gone, so nothing protects the oplog window of a lagging secondary",
		Source:  "MongoDB manual, replication.enableMajorityReadConcern; SERVER-39667; " + oppo + "; " + measured + ", where 5.0 and newer exit with code 0 when it is false",
	},
	{
		Name: SnapshotHistoryWindow, MongoDBName: "minSnapshotHistoryWindowInSeconds",
		Components: shardMembers, Versions: always,
		Variants: []Variant{{Versions: until44, MongoDBName: "maxTargetSnapshotHistoryWindowInSeconds", Default: "5"}},
		Kind:     KindInteger, Unit: "seconds", Min: 0, Max: 86400, Default: "300",
		Parameter: true, Online: OnlineParameter, read: fromParameter,
		TooHigh: "history of this many seconds is kept in cache and history store",
		TooLow:  "transactions and snapshot reads that take longer fail with SnapshotTooOld",
		Source:  "MongoDB manual, minSnapshotHistoryWindowInSeconds; " + measured,
	},
	flowControl(Knob{
		Name: FlowControlEnabled, MongoDBName: "enableFlowControl", Kind: KindBoolean, Default: "true",
		TooHigh: "true: writes on the primary are slowed down when secondaries lag",
		TooLow:  "false: secondaries may fall behind until the oplog no longer reaches back to them",
	}),
	flowControl(Knob{
		Name: FlowControlTargetLag, MongoDBName: "flowControlTargetLagSeconds",
		Kind: KindInteger, Unit: "seconds", Min: 1, Max: 3600, Default: "10",
		TooHigh: "the majority commit point falls far behind before anything slows down",
		TooLow:  "writes are slowed down by ordinary lag",
	}),
	flowControl(percentParameter(Knob{
		Name: FlowControlThresholdLag, MongoDBName: "flowControlThresholdLagPercentage",
		Kind: KindInteger, Unit: "percent of the target lag", Min: 0, Max: 100, Default: "50",
		TooHigh: "slowing down starts when the target lag is all but reached",
		TooLow:  "slowing down starts at any lag",
	})),
	flowControl(Knob{
		Name: FlowControlMinTickets, MongoDBName: "flowControlMinTicketsPerSecond",
		Kind: KindInteger, Unit: "tickets per second", Min: 1, Max: 1000000000, Default: "100",
		TooHigh: "flow control cannot slow writes down far enough for secondaries to catch up",
		TooLow:  "writes all but stop while secondaries lag",
	}),
	{
		Name: OplogSize, MongoDBName: "replication.oplogSizeMB",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "MB (2^20 bytes)", Min: 990, Max: 1073741824,
		ConfigKey: "replication.oplogSizeMB", Online: OnlineOplog, read: oplogMegabytes,
		TooHigh: "disk is taken from the data",
		TooLow:  "a secondary that is down or behind for longer than the oplog reaches has to copy everything anew",
		Source:  "MongoDB manual, replSetResizeOplog, which takes no less than 990 MB; " + measured,
	},
	{
		Name: OplogMinRetention, MongoDBName: "storage.oplogMinRetentionHours",
		Components: shardMembers, Versions: from44,
		Kind: KindInteger, Unit: "hours", Min: 0, Max: 8760, Default: "0", Inert: "0",
		ConfigKey: "storage.oplogMinRetentionHours", Online: OnlineOplog,
		read:    oplogRetention,
		Nearest: "use oplog.sizeMB: this server keeps history by size only",
		TooHigh: "the oplog grows beyond its size and may fill the disk",
		TooLow:  "0: history is kept by size only",
		Source:  "MongoDB manual, storage.oplogMinRetentionHours; " + measured,
	},
}

// flowControl completes a row with what all flow control parameters have in common.
func flowControl(row Knob) Knob {
	row.Components, row.Versions = shardMembers, always
	row.Parameter, row.Online, row.read = true, OnlineParameter, fromParameter
	row.Source = "MongoDB manual, flow control; " + measured
	return row
}

// percentParameter completes a row whose server parameter is a share from 0 to 1.
func percentParameter(row Knob) Knob {
	row.toServer, row.fromServer = multiple(0.01)
	return row
}

// oplogMegabytes reads the size of the oplog that is in force, which a restart does not change.
func oplogMegabytes(_ Knob, process Process) Reading {
	_, fromBytes := multiple(mebibyte)
	return answered(process.OplogStats, "maxSize", "collStats local.oplog.rs maxSize", process.Version, fromBytes)
}

// oplogRetention reads the retention time that is in force. The server does not show one of 0.
func oplogRetention(knob Knob, process Process) Reading {
	const section, field = "oplogTruncation", "oplogTruncation/oplogMinRetentionHours"
	reading := fromServerStatus(field, valueOf)(knob, process)
	if _, shown := lookup(process.ServerStatus, section); shown && !reading.Found {
		return Reading{Value: knob.Default, Found: true, Evidence: "serverStatus oplogTruncation without oplogMinRetentionHours"}
	}
	return reading
}
