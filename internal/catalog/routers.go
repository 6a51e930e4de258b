// SPDX-License-Identifier: Apache-2.0

package catalog

var routerRows = []Knob{
	router(Knob{
		Name: taskExecutorPoolSize, MongoDBName: "taskExecutorPoolSize",
		Kind: KindInteger, Unit: "pools", Min: 1, Max: 64, Default: "1",
		TooHigh: "more pools of connections to every shard",
		TooLow:  "one reactor thread for all traffic to the shards",
	}),
	router(Knob{
		Name: poolMinSize, MongoDBName: "ShardingTaskExecutorPoolMinSize",
		Kind: KindInteger, Unit: "connections per shard member and pool", Min: 1, Max: 32767, Default: "1",
		TooHigh: "idle connections, each with a thread on a shard member",
		TooLow:  "a burst waits for connections to be made",
	}),
	router(Knob{
		Name: poolMaxSize, MongoDBName: "ShardingTaskExecutorPoolMaxSize",
		Kind: KindInteger, Unit: "connections per shard member and pool", Min: 1, Max: 32767, Default: "32767",
		TooHigh: "a slow shard member is given a thread for every waiting operation",
		TooLow:  "operations wait in mongos for a connection",
	}),
	router(Knob{
		Name: poolMaxConnecting, MongoDBName: "ShardingTaskExecutorPoolMaxConnecting",
		Kind: KindInteger, Unit: "connections being made per shard member and pool", Min: 1, Max: 32767, Default: "2",
		TooHigh: "a storm of new connections after an election",
		TooLow:  "pools grow slowly",
	}),
	router(Knob{
		Name: poolHostTimeout, MongoDBName: "ShardingTaskExecutorPoolHostTimeoutMS",
		Kind: KindInteger, Unit: "milliseconds", Min: 1, Max: 86400000, Default: "300000",
		TooHigh: "pools of members that nobody asks stay open",
		TooLow:  "pools are dropped between bursts and made anew; must exceed the sum of the two refresh times",
	}),
	router(Knob{
		Name: poolRefreshRequirement, MongoDBName: "ShardingTaskExecutorPoolRefreshRequirementMS",
		Kind: KindInteger, Unit: "milliseconds", Min: 1, Max: 86400000, Default: "60000",
		TooHigh: "a dead connection is found by the operation that needs it",
		TooLow:  "needless traffic on idle connections",
	}),
	router(Knob{
		Name: poolRefreshTimeout, MongoDBName: "ShardingTaskExecutorPoolRefreshTimeoutMS",
		Kind: KindInteger, Unit: "milliseconds", Min: 1, Max: 86400000, Default: "20000",
		TooHigh: "a frozen member holds connections for long",
		TooLow:  "a slow member loses its connections and is stormed with new ones",
	}),
	router(Knob{
		Name: poolMatching, MongoDBName: "ShardingTaskExecutorPoolReplicaSetMatching",
		Kind: KindEnum, Enum: []Value{"disabled", "matchPrimaryNode", "matchBusiestNode", "automatic"}, Default: "automatic",
		Variants: []Variant{{
			Versions: until44, Default: "matchPrimaryNode", Enum: []Value{"disabled", "matchPrimaryNode", "matchBusiestNode"},
		}},
		TooHigh: "matchPrimaryNode, matchBusiestNode: more idle connections to secondaries",
		TooLow:  "disabled: after an election the pool to the new primary starts from nothing",
	}),
}

// router completes a row with what all parameters of mongos have in common. The servers accept most of
// them at run time, but pools are built at the start of the process, and mongos pods roll easily.
func router(row Knob) Knob {
	row.Components, row.Versions = routers, always
	row.Parameter, row.Online, row.read = true, RestartOnly, fromParameter
	row.Source = "MongoDB manual, mongos parameters; defaults " + measured + ", effect on mongos not tried"
	return row
}
