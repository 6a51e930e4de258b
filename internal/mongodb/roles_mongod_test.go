// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/test/servers"
)

// onlyMongos are actions on commands that no mongod has, so that no mongod can refuse them.
var onlyMongos = []string{"cluster:listShards", "cluster:addShard", ".:enableSharding", "config.settings:find"}

// operatorOperations are what the operator needs each of its actions for.
var operatorOperations = map[string]func(context.Context, *mongodb.Member) error{
	"cluster:serverStatus": func(ctx context.Context, m *mongodb.Member) error { return second(m.ServerStatus(ctx)) },
	"cluster:replSetGetStatus": func(ctx context.Context, m *mongodb.Member) error {
		return second(m.ReplicaSetStatus(ctx))
	},
	"cluster:replSetGetConfig": func(ctx context.Context, m *mongodb.Member) error {
		return second(m.ReplicaSetConfig(ctx))
	},
	"cluster:getCmdLineOpts": func(ctx context.Context, m *mongodb.Member) error { return second(m.CommandLine(ctx)) },
	"cluster:getParameter": func(ctx context.Context, m *mongodb.Member) error {
		return second(m.Parameters(ctx, "enableFlowControl"))
	},
	"cluster:setParameter": func(ctx context.Context, m *mongodb.Member) error {
		return m.SetParameter(ctx, "ttlMonitorSleepSecs", 30)
	},
	"cluster:replSetStateChange": func(ctx context.Context, m *mongodb.Member) error {
		// A set of one refuses for want of another, which takes the right to ask.
		err := m.StepDown(ctx, 2*time.Second, time.Second)
		if errors.Is(err, mongodb.ErrExceededTimeLimit) {
			return nil
		}
		return err
	},
	"cluster:replSetResizeOplog": func(ctx context.Context, m *mongodb.Member) error {
		return m.ResizeOplog(ctx, mongodb.OplogSize{Megabytes: 1000})
	},
	"cluster:getLog": func(ctx context.Context, m *mongodb.Member) error {
		return second(m.Log(ctx, mongodb.LogStartupWarnings))
	},
	"local.oplog.rs:collStats": func(ctx context.Context, m *mongodb.Member) error { return second(m.OplogStats(ctx)) },
	"local.oplog.rs:find":      func(ctx context.Context, m *mongodb.Member) error { return second(m.OplogWindow(ctx)) },
	"config.migrations:find":   func(ctx context.Context, m *mongodb.Member) error { return second(m.Migrations(ctx)) },
	"admin.:enableProfiler": func(ctx context.Context, m *mongodb.Member) error {
		return m.SetProfiling(ctx, mongodb.Profiling{SlowMillis: 50, SampleRate: 1})
	},
}

func second[T any](_ T, err error) error { return err }

// Every action of the operator's role is needed: without it the operation it is there for is refused.
func TestOperatorRoleIsLeast(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := configServer(t, version)
		bootstrap(t, server.Member())
		member := server.MemberAs(credentialsOf(operator()))
		for action, without := range withoutEach(mongodb.OperatorRole()) {
			if slices.Contains(onlyMongos, action) {
				continue
			}
			operation, ok := operatorOperations[action]
			if !ok {
				t.Errorf("%s: no operation needs it", action)
				continue
			}
			must(t, server.Member().CreateOrUpdateRole(bounded(t), without))
			if err := operation(bounded(t), member); !errors.Is(err, mongodb.ErrUnauthorized) {
				t.Errorf("without %s: %v", action, err)
			}
			must(t, server.Member().CreateOrUpdateRole(bounded(t), mongodb.OperatorRole()))
			if err := operation(bounded(t), member); err != nil {
				t.Errorf("with %s: %v", action, err)
			}
		}
	})
}

// applicationCommands are what an application needs each of its actions for.
var applicationCommands = map[string]bson.D{
	".:find":             {{Key: "find", Value: "things"}},
	".:insert":           {{Key: "insert", Value: "things"}, {Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: 1}}}}},
	".:update":           {{Key: "update", Value: "things"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{}}, {Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 2}}}}}}}}},
	".:remove":           {{Key: "delete", Value: "things"}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "a", Value: 3}}}, {Key: "limit", Value: 0}}}}},
	".:createCollection": {{Key: "create", Value: "view"}, {Key: "viewOn", Value: "things"}, {Key: "pipeline", Value: bson.A{}}},
	".:dropCollection":   {{Key: "drop", Value: "nothing"}},
	".:collMod":          {{Key: "collMod", Value: "things"}, {Key: "validationLevel", Value: "strict"}},
	".:createIndex":      {{Key: "createIndexes", Value: "things"}, {Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "a", Value: 1}}}, {Key: "name", Value: "a"}}}}},
	".:dropIndex":        {{Key: "dropIndexes", Value: "things"}, {Key: "index", Value: "*"}},
	".:listCollections":  {{Key: "listCollections", Value: 1}},
	".:listIndexes":      {{Key: "listIndexes", Value: "things"}},
	".:collStats":        {{Key: "collStats", Value: "things"}},
	".:dbStats":          {{Key: "dbStats", Value: 1}},
	".:changeStream": {{Key: "aggregate", Value: "things"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$changeStream", Value: bson.D{}}}}},
		{Key: "cursor", Value: bson.D{}}},
}

// Every action of the applications' role is needed: without it the command it is there for is refused.
func TestApplicationRoleIsLeast(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := servers.StartReplicaSet(t, withKey(version), 1).Servers[0]
		bootstrap(t, server.Member())
		shop := rawClient(t, server, credentialsOf(application())).Database("shop")
		must(t, shop.RunCommand(bounded(t), applicationCommands[".:insert"]).Err())
		for action, without := range withoutEach(mongodb.AppRole()) {
			if slices.Contains(onlyMongos, action) {
				continue
			}
			command, ok := applicationCommands[action]
			if !ok {
				t.Errorf("%s: no command needs it", action)
				continue
			}
			must(t, server.Member().CreateOrUpdateRole(bounded(t), without))
			if err := shop.RunCommand(bounded(t), command).Err(); !refused(err) {
				t.Errorf("without %s: %v", action, err)
			}
			must(t, server.Member().CreateOrUpdateRole(bounded(t), mongodb.AppRole()))
			if err := shop.RunCommand(bounded(t), command).Err(); err != nil && !isNamespaceNotFound(err) {
				t.Errorf("with %s: %v", action, err)
			}
		}
	})
}

// What neither of our users may do.
func TestRolesRefuse(t *testing.T) {
	administrative := map[string]bson.D{
		"shutdown":            {{Key: "shutdown", Value: 1}},
		"reconfig":            {{Key: "replSetReconfig", Value: bson.D{}}},
		"create user":         {{Key: "createUser", Value: "x"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{}}},
		"grant":               {{Key: "grantRolesToUser", Value: "app"}, {Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "root"}, {Key: "db", Value: "admin"}}}}},
		"read users":          {{Key: "find", Value: "system.users"}},
		"change a password":   {{Key: "updateUser", Value: "app"}, {Key: "pwd", Value: "stolen"}},
		"take over the other": {{Key: "updateUser", Value: "operator"}, {Key: "pwd", Value: "stolen"}},
	}
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := servers.StartReplicaSet(t, withKey(version), 1).Servers[0]
		bootstrap(t, server.Member())
		app, our := rawClient(t, server, credentialsOf(application())), rawClient(t, server, credentialsOf(operator()))
		for name, command := range administrative {
			for _, client := range []*mongo.Client{app, our} {
				if err := client.Database("admin").RunCommand(bounded(t), command).Err(); !refused(err) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if err := our.Database("shop").RunCommand(bounded(t), applicationCommands[".:find"]).Err(); !refused(err) {
			t.Errorf("the operator reads data: %v", err)
		}
		for database, collection := range map[string]string{"local": "oplog.rs", "config": "settings"} {
			if err := app.Database(database).RunCommand(bounded(t), bson.D{{Key: "find", Value: collection}}).Err(); !refused(err) {
				t.Errorf("an application reads %s.%s: %v", database, collection, err)
			}
		}
		if err := app.Database("admin").RunCommand(bounded(t), bson.D{{Key: "serverStatus", Value: 1}}).Err(); !refused(err) {
			t.Errorf("an application looks at the server: %v", err)
		}
	})
}

func refused(err error) bool { return hasCode(err, 13) }

// isNamespaceNotFound is how some versions answer a permitted drop of nothing.
func isNamespaceNotFound(err error) bool { return hasCode(err, 26) }

func hasCode(err error, code int32) bool {
	var commandError mongo.CommandError
	return errors.As(err, &commandError) && commandError.Code == code
}

// withoutEach is the role without one of its actions, by resource and action.
func withoutEach(role mongodb.Role) map[string]mongodb.Role {
	roles := map[string]mongodb.Role{}
	for i, privilege := range role.Privileges {
		for j, action := range privilege.Actions {
			rest := slices.Clone(role.Privileges)
			rest[i].Actions = slices.Delete(slices.Clone(privilege.Actions), j, j+1)
			if len(rest[i].Actions) == 0 {
				rest = slices.Delete(rest, i, i+1)
			}
			resource := privilege.Database + "." + privilege.Collection
			if privilege.OnCluster {
				resource = "cluster"
			}
			roles[resource+":"+action] = mongodb.Role{Name: role.Name, Privileges: rest}
		}
	}
	return roles
}

// configServer is a set of one config server, which has the collections of a sharded cluster.
func configServer(t *testing.T, version string) *servers.Server {
	t.Helper()
	options := withKey(version)
	options.Role = "configsvr"
	return servers.StartReplicaSet(t, options, 1).Servers[0]
}
