// SPDX-License-Identifier: Apache-2.0

package router

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// command says who may run it, where, and how it is answered.
type command struct {
	isAdminOnly bool
	// right is what mongos asks of the client before it runs the command; nil when the real server behind decides.
	right func(request) right
	run   func(context.Context, *session, request) (bson.Raw, error)
}

// commands are all those the stand-in has, by name and by alias. mongos knows more: a missing one is answered
// CommandNotFound here, and one that only a real router can honour CommandNotSupported.
var commands = makeCommands()

func makeCommands() map[string]command {
	all := map[string]command{
		"addShard":         {true, onCluster("addShard"), addShard},
		"addshard":         {true, onCluster("addShard"), addShard},
		"listShards":       {true, onCluster("listShards"), listShards},
		"listshards":       {true, onCluster("listShards"), listShards},
		"enableSharding":   {true, enableShardingRight, enableSharding},
		"enablesharding":   {true, enableShardingRight, enableSharding},
		"balancerStatus":   {true, onBalancerSettings("find"), balancer("_configsvrBalancerStatus")},
		"balancerStart":    {true, onBalancerSettings("update"), balancer("_configsvrBalancerStart")},
		"balancerStop":     {true, onBalancerSettings("update"), balancer("_configsvrBalancerStop")},
		"getParameter":     {true, onCluster("getParameter"), getParameter},
		"setParameter":     {true, onCluster("setParameter"), setParameter},
		"getCmdLineOpts":   {true, onCluster("getCmdLineOpts"), getCmdLineOpts},
		"serverStatus":     {false, onCluster("serverStatus"), serverStatus},
		"buildInfo":        {false, nil, buildInfo},
		"buildinfo":        {false, nil, buildInfo},
		"isdbgrid":         {false, nil, isDBGrid},
		"replSetGetStatus": {true, nil, replSetGetStatus},
	}
	addEach(all, greet, "hello", "isMaster", "ismaster")
	addEach(all, relay, "saslStart", "saslContinue", "logout", "connectionStatus", "ping", "whatsmyuri",
		"usersInfo", "rolesInfo", "getDefaultRWConcern", "startSession", "refreshSessions", "endSessions")
	addEach(all, relayUserChange, "createUser", "updateUser", "dropUser", "dropAllUsersFromDatabase",
		"grantRolesToUser", "revokeRolesFromUser", "createRole", "updateRole", "dropRole", "dropAllRolesFromDatabase",
		"grantPrivilegesToRole", "revokePrivilegesFromRole", "grantRolesToRole", "revokeRolesFromRole")
	addEach(all, relayConfigData, "find", "aggregate", "count", "distinct", "getMore", "killCursors", "listCollections",
		"listIndexes", "insert", "update", "delete", "findAndModify", "findandmodify")
	addEach(all, refuse, "listDatabases", "create", "drop", "dropDatabase", "createIndexes", "dropIndexes", "collMod",
		"collStats", "dbStats", "explain", "mapReduce", "shardCollection", "reshardCollection",
		"refineCollectionShardKey", "moveChunk", "movePrimary", "split", "mergeChunks", "removeShard", "addShardToZone",
		"removeShardFromZone", "updateZoneKeyRange", "flushRouterConfig", "getShardMap", "getShardVersion",
		"currentOp", "killOp", "hostInfo", "getLog", "top", "connPoolStats", "shardConnPoolStats", "shutdown",
		"setDefaultRWConcern", "setFeatureCompatibilityVersion", "commitTransaction", "abortTransaction", "validate")
	return all
}

func addEach(all map[string]command, run func(context.Context, *session, request) (bson.Raw, error), names ...string) {
	for _, name := range names {
		all[name] = command{run: run}
	}
}

func onCluster(action string) func(request) right {
	return func(request) right { return right{action: action} }
}

// onBalancerSettings is what mongos asks for its balancer commands: the collection the balancer keeps its state in.
func onBalancerSettings(action string) func(request) right {
	return func(request) right { return right{action: action, database: "config", collection: "settings"} }
}

func enableShardingRight(r request) right {
	database, _ := r.document.Lookup(r.name).StringValueOK()
	if database == "" {
		return onCluster("enableSharding")(r) // Never granted; the empty name is refused with it.
	}
	return right{action: "enableSharding", database: database}
}

func refuse(_ context.Context, _ *session, r request) (bson.Raw, error) {
	return encode(refusal(codeCommandNotSupported,
		"%s on database %s is not supported: this is a stand-in for mongos in tests and routes no data", r.name, r.database))
}
