// SPDX-License-Identifier: Apache-2.0

package catalog

var storageRows = []Knob{
	tickets(ReadTickets, "wiredTigerConcurrentReadTransactions", "storageEngineConcurrentReadTransactions", "read"),
	tickets(WriteTickets, "wiredTigerConcurrentWriteTransactions", "storageEngineConcurrentWriteTransactions", "write"),
	{
		Name: JournalCommitInterval, MongoDBName: "journalCommitInterval",
		Components: shardMembers, Versions: always,
		Kind: KindInteger, Unit: "milliseconds", Min: 1, Max: 500, Default: "100",
		ConfigKey: "storage.journal.commitIntervalMs", Parameter: true, Online: OnlineParameter, read: fromParameter,
		TooHigh: "more is lost when a single member crashes; writes with j: true wait longer",
		TooLow:  "the journal is synced more often than the disk likes",
		Source:  "MongoDB manual, storage.journal.commitIntervalMs; " + measured,
	},
	{
		Name: BlockCompressor, MongoDBName: "storage.wiredTiger.collectionConfig.blockCompressor",
		Components: shardMembers, Versions: always,
		Kind: KindEnum, Enum: []Value{"none", "snappy", "zlib", "zstd"}, Default: "snappy",
		ConfigKey: "storage.wiredTiger.collectionConfig.blockCompressor", Online: RestartOnly, read: fromCommandLine,
		Note:    "it holds for collections made from now on; those that exist keep theirs",
		TooHigh: "zstd and zlib: more CPU for each page that is read or written; the cache holds pages uncompressed whatever is chosen",
		TooLow:  "none: more disk and more bytes per read",
		Source:  "MongoDB manual, blockCompressor (zstd since 4.2); " + measured,
	},
}

// tickets is a row for the number of operations that may be in the storage engine at once.
func tickets(name, parameter, renamed, kind string) Knob {
	return Knob{
		Name: name, MongoDBName: parameter,
		Components: shardMembers, Versions: always,
		Variants: []Variant{
			{Versions: LineRange{v60, v80}, MongoDBName: renamed},
			// The server finds the number by itself until one is set.
			{Versions: from70, WithoutDefault: true},
			{Versions: LineRange{v80, v80}, read: fromServerStatus("queues/execution/"+kind+"/totalTickets", valueOf)},
		},
		Kind: KindInteger, Unit: "operations", Min: 5, Max: 1000, Default: "128",
		Parameter: true, Online: OnlineParameter,
		// getParameter of 6.0 answers 0 while 128 are in force.
		read:    fromServerStatus("wiredTiger/concurrentTransactions/"+kind+"/totalTickets", valueOf),
		TooHigh: "more operations fight for cache and CPU than the machine can serve",
		TooLow:  "operations queue while the disk is idle; less than 5 is refused",
		Source:  "MongoDB manual, " + parameter + "; SERVER-95141; " + measured + "; names on 7.0 and 8.0 from the manual",
	}
}
