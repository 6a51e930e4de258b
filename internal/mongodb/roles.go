// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The names of our roles and users in admin.
const (
	// OperatorRoleName is the role of the operator.
	OperatorRoleName = "mongotuningOperator"
	// AppRoleName is the role of applications.
	AppRoleName = "mongotuningApp"
)

// Role is a custom role in admin that inherits from no other.
type Role struct {
	// Name of the role.
	Name string
	// Privileges it consists of.
	Privileges []Privilege
}

// Privilege allows actions on one resource.
type Privilege struct {
	// OnCluster makes the resource the cluster; Database and Collection are empty then.
	OnCluster bool
	// Database and Collection name the resource; an empty one stands for any (never the system's own).
	Database, Collection string
	// Actions that are allowed, in MongoDB's words.
	Actions []string
}

// OperatorRole is what the operator may do day by day, on members and through mongos: look, set parameters, hand the
// lead over and add shards. It can neither read nor write the applications' data, and it can neither create users nor
// grant anything, nor change anybody's password.
func OperatorRole() Role {
	return Role{Name: OperatorRoleName, Privileges: []Privilege{
		{OnCluster: true, Actions: []string{
			"serverStatus",       // every gauge is read from it
			"replSetGetStatus",   // member states and replication lag
			"replSetGetConfig",   // priorities, which decide who leads next
			"getCmdLineOpts",     // what a process was started with
			"getParameter",       // proof of every parameter
			"setParameter",       // every online change
			"replSetStateChange", // step down
			"replSetResizeOplog", // the size of the oplog
			"getLog",             // the storage engine's opening line and the startup warnings
			"listShards",         // which shards mongos knows of
			"addShard",           // joins a new shard; the manual asks for nothing else
		}},
		{Database: "local", Collection: "oplog.rs", Actions: []string{
			"find",      // the oplog window
			"collStats", // the size of the oplog
		}},
		{Database: "config", Collection: "settings", Actions: []string{
			"find", // mongos checks this right for balancerStatus
		}},
		{Database: "config", Collection: "migrations", Actions: []string{
			"find", // no step starts while a migration touches the shard
		}},
		{Database: admin, Actions: []string{
			"enableProfiler", // the slow operation threshold, which is set through profile
		}},
	}}
}

// AppRole is what an application may do: read and write its data, make collections and indexes, and shard them. The
// databases local and config and the system collections are out of its reach.
func AppRole() Role {
	return Role{Name: AppRoleName, Privileges: []Privilege{
		{Actions: []string{
			"find", "insert", "update", "remove", // the data
			"createCollection", "dropCollection", "collMod", // collections
			"createIndex", "dropIndex", // indexes
			"listCollections", "listIndexes", "collStats", "dbStats", // what there is and how large
			"changeStream",   // follow changes
			"enableSharding", // enableSharding and shardCollection
		}},
	}}
}

// privilegesOf is a role's privileges as the server takes them.
func privilegesOf(role Role) bson.A {
	privileges := make(bson.A, 0, len(role.Privileges))
	for _, privilege := range role.Privileges {
		resource := bson.D{{Key: "db", Value: privilege.Database}, {Key: "collection", Value: privilege.Collection}}
		if privilege.OnCluster {
			resource = bson.D{{Key: "cluster", Value: true}}
		}
		privileges = append(privileges, bson.D{{Key: "resource", Value: resource}, {Key: "actions", Value: privilege.Actions}})
	}
	return privileges
}

// MissingRights are the actions of a role that the user of the connection does not have, each with its resource. A
// role that was made by an older release of ours lacks what was added since. Everybody may ask this about himself.
func (m *Member) MissingRights(ctx context.Context, role Role) ([]string, error) {
	answer, err := m.ask(ctx, admin, bson.D{{Key: "connectionStatus", Value: 1}, {Key: "showPrivileges", Value: true}})
	if err != nil {
		return nil, err
	}
	granted := map[string]bool{}
	for _, privilege := range answer.section("authInfo").list("authenticatedUserPrivileges") {
		resource := privilege.section("resource")
		on := Privilege{OnCluster: resource.is("cluster"), Database: resource.word("db"), Collection: resource.word("collection")}
		for _, action := range privilege.words("actions") {
			granted[on.right(action)] = true
		}
	}
	var missing []string
	for _, privilege := range role.Privileges {
		for _, action := range privilege.Actions {
			if name := privilege.right(action); !granted[name] {
				missing = append(missing, name)
			}
		}
	}
	return missing, nil
}

// right names an action on the privilege's resource.
func (p Privilege) right(action string) string {
	if p.OnCluster {
		return "cluster:" + action
	}
	return p.Database + "." + p.Collection + ":" + action
}
