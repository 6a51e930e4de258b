// SPDX-License-Identifier: Apache-2.0

package router

import "testing"

func TestPrivilegeCoversWhatTheServerGrants(t *testing.T) {
	on := func(database, collection string) resource {
		return resource{Database: &database, Collection: &collection}
	}
	addShard := right{action: "addShard"}
	settings := right{action: "find", database: "config", collection: "settings"}
	shop := right{action: "enableSharding", database: "shop"}
	for _, row := range []struct {
		name    string
		granted privilege
		needed  right
		want    bool
	}{
		{"the action on the cluster", privilege{resource{IsCluster: true}, []string{"addShard"}}, addShard, true},
		{"another action on the cluster", privilege{resource{IsCluster: true}, []string{"listShards"}}, addShard, false},
		{"any action on any resource", privilege{resource{IsAny: true}, []string{"anyAction"}}, addShard, true},
		{"the action on all databases is none on the cluster", privilege{on("", ""), []string{"addShard"}}, addShard, false},
		{"the collection", privilege{on("config", "settings"), []string{"find"}}, settings, true},
		{"its database", privilege{on("config", ""), []string{"find"}}, settings, true},
		{"the collection in any database", privilege{on("", "settings"), []string{"find"}}, settings, true},
		{"another collection", privilege{on("config", "shards"), []string{"find"}}, settings, false},
		{"any database does not reach config", privilege{on("", ""), []string{"find"}}, settings, false},
		{"the cluster is no collection", privilege{resource{IsCluster: true}, []string{"find"}}, settings, false},
		{"the database", privilege{on("shop", ""), []string{"enableSharding"}}, shop, true},
		{"any database", privilege{on("", ""), []string{"enableSharding"}}, shop, true},
		{"a collection is not the database", privilege{on("shop", "a"), []string{"enableSharding"}}, shop, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.granted.covers(row.needed); got != row.want {
				t.Errorf("covers is %v, want %v", got, row.want)
			}
		})
	}
}

// TestCommandsOfTheClusterCheckTheCaller guards the one thing that must not be forgotten when a command is added: what
// runs as the cluster itself has to ask who wants it.
func TestCommandsOfTheClusterCheckTheCaller(t *testing.T) {
	for _, name := range []string{"addShard", "addshard", "listShards", "listshards", "enableSharding", "enablesharding",
		"balancerStatus", "balancerStart", "balancerStop", "getParameter", "setParameter", "getCmdLineOpts"} {
		if c, isKnown := commands[name]; !isKnown || c.right == nil || !c.isAdminOnly {
			t.Errorf("%s does not check the caller", name)
		}
	}
}
