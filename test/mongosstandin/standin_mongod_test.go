// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const codeUnauthorized = 13

// connect makes a driver client of the stand-in. An empty user does not log in.
func connect(t *testing.T, address, user, password, source string) *mongo.Client {
	t.Helper()
	o := options.Client().SetHosts([]string{address}).SetServerSelectionTimeout(patience / 3)
	if user != "" {
		o.SetAuth(options.Credential{Username: user, Password: password, AuthSource: source})
	}
	client, err := mongo.Connect(o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		// The stand-in may be gone by now; nobody waits for it to hear that a session ends.
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = client.Disconnect(ended)
	})
	return client
}

func ask(ctx context.Context, client *mongo.Client, database string, command bson.D) (bson.Raw, error) {
	return client.Database(database).RunCommand(ctx, command).Raw()
}

func mustRun(t *testing.T, client *mongo.Client, command bson.D) bson.Raw {
	t.Helper()
	reply, err := ask(patiently(t), client, "admin", command)
	if err != nil {
		t.Fatalf("run %v: %v", command, err)
	}
	return reply
}

func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Errorf("error is %v with code %d, want %d", err, got, code)
	}
}

// codeOf returns the server's error code, or -1 when err is no answer of a server.
func codeOf(err error) int {
	var refused mongo.ServerError
	if !errors.As(err, &refused) || len(refused.ErrorCodes()) == 0 {
		return -1
	}
	return refused.ErrorCodes()[0]
}

func privilege(resource bson.D, actions ...string) bson.D {
	return bson.D{{Key: "resource", Value: resource}, {Key: "actions", Value: actions}}
}

// cluster is a stand-in in front of real config servers, a real shard that is not added yet, and three users.
type cluster struct {
	version       string
	configServers []string
	shard         string
	standIn       *process
}

func startCluster(t *testing.T, version string) *cluster {
	t.Helper()
	key := keyFile(t, keyText)
	c := &cluster{version: version, configServers: startConfigServers(t, version, key, 3)}
	c.shard = "sh0/" + startShard(t, version, key)[0]
	c.standIn = startStandIn(t, "cfg", c.configServers, key)
	internal := connect(t, c.standIn.address, "__system", keyText, "local")
	everywhere := bson.D{{Key: "cluster", Value: true}}
	settings := bson.D{{Key: "db", Value: "config"}, {Key: "collection", Value: "settings"}}
	for _, user := range []struct {
		name       string
		privileges bson.A
	}{
		{"registrar", bson.A{privilege(everywhere, "addShard", "listShards")}},
		{"balancer", bson.A{privilege(settings, "find", "update")}},
		{"watcher", bson.A{privilege(everywhere, "getParameter", "setParameter", "getCmdLineOpts", "serverStatus")}},
		{"founder", bson.A{privilege(bson.D{{Key: "db", Value: "shop"}, {Key: "collection", Value: ""}}, "enableSharding")}},
		{"nobody", bson.A{}},
	} {
		mustRun(t, internal, bson.D{{Key: "createRole", Value: user.name}, {Key: "privileges", Value: user.privileges},
			{Key: "roles", Value: bson.A{}}})
		mustRun(t, internal, bson.D{{Key: "createUser", Value: user.name}, {Key: "pwd", Value: user.name + "-password"},
			{Key: "roles", Value: bson.A{user.name}}})
	}
	return c
}

func (c *cluster) as(t *testing.T, user string) *mongo.Client {
	t.Helper()
	return connect(t, c.standIn.address, user, user+"-password", "admin")
}

func (c *cluster) shards(ctx context.Context, client *mongo.Client) ([]string, error) {
	reply, err := ask(ctx, client, "admin", bson.D{{Key: "listShards", Value: 1}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Shards []struct {
			ID   string `bson:"_id"`
			Host string `bson:"host"`
		} `bson:"shards"`
	}
	if err := bson.Unmarshal(reply, &answer); err != nil {
		return nil, err
	}
	var found []string
	for _, shard := range answer.Shards {
		found = append(found, shard.ID+"="+shard.Host)
	}
	return found, nil
}

// TestStandIn runs the story of a cluster's bootstrap in order: each part stands on the one before.
func TestStandIn(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := startCluster(t, version)
			t.Run("a driver takes it for a router", c.greetsAsRouter)
			t.Run("who may not is refused", c.refusesWithoutRight)
			t.Run("a shard is added by least rights", c.addsShard)
			t.Run("the balancer is asked and switched", c.controlsBalancer)
			t.Run("a database is created", c.enablesSharding)
			t.Run("it speaks for its own options", c.speaksForItself)
			t.Run("user data is refused", c.refusesUserData)
			t.Run("a step down is survived", c.survivesStepDown)
			t.Run("it ends when told to", c.endsWhenTold)
		})
	}
}

func (c *cluster) greetsAsRouter(t *testing.T) {
	nobody := c.as(t, "nobody")
	greeting := mustRun(t, nobody, bson.D{{Key: "isMaster", Value: 1}})
	if kind, _ := greeting.Lookup("msg").StringValueOK(); kind != "isdbgrid" {
		t.Errorf("greeting has msg %q", kind)
	}
	for _, foreign := range []string{"setName", "hosts", "me", "primary", "configsvr", "secondary", "topologyVersion"} {
		if _, err := greeting.LookupErr(foreign); err == nil {
			t.Errorf("greeting has %s, which is a member's", foreign)
		}
	}
	mechanisms := mustRun(t, nobody, bson.D{{Key: "isMaster", Value: 1}, {Key: "saslSupportedMechs", Value: "admin.nobody"}})
	if _, found := mechanisms.Lookup("saslSupportedMechs").ArrayOK(); !found {
		t.Errorf("greeting does not say how nobody may log in: %v", mechanisms)
	}
	status := mustRun(t, nobody, bson.D{{Key: "connectionStatus", Value: 1}})
	if user, _ := status.Lookup("authInfo", "authenticatedUsers", "0", "user").StringValueOK(); user != "nobody" {
		t.Errorf("logged in as %q: %v", user, status)
	}
	_, err := ask(patiently(t), nobody, "admin", bson.D{{Key: "hello", Value: 1}})
	if knowsHello := c.version != "4.2.6"; (err == nil) != knowsHello {
		t.Errorf("hello gives %v", err)
	}
}

func (c *cluster) refusesWithoutRight(t *testing.T) {
	commands := []bson.D{
		{{Key: "addShard", Value: c.shard}},
		{{Key: "listShards", Value: 1}},
		{{Key: "balancerStatus", Value: 1}},
		{{Key: "balancerStart", Value: 1}},
		{{Key: "balancerStop", Value: 1}},
		{{Key: "enableSharding", Value: "shop"}},
		{{Key: "getParameter", Value: "*"}},
		{{Key: "setParameter", Value: 1}, {Key: "logLevel", Value: 1}},
		{{Key: "getCmdLineOpts", Value: 1}},
		{{Key: "serverStatus", Value: 1}},
		{{Key: "usersInfo", Value: 1}},
		{{Key: "createUser", Value: "intruder"}, {Key: "pwd", Value: "p"}, {Key: "roles", Value: bson.A{"root"}}},
	}
	nobody, stranger := c.as(t, "nobody"), connect(t, c.standIn.address, "", "", "")
	for _, command := range commands {
		for who, client := range map[string]*mongo.Client{"nobody": nobody, "stranger": stranger} {
			_, err := ask(patiently(t), client, "admin", command)
			if code := codeOf(err); code != codeUnauthorized {
				t.Errorf("%s by %s gives code %d: %v", command[0].Key, who, code, err)
			}
		}
	}
	_, err := ask(patiently(t), c.as(t, "registrar"), "config", bson.D{{Key: "addShard", Value: c.shard}})
	wantCode(t, err, codeUnauthorized)
	_, err = ask(patiently(t), c.as(t, "registrar"), "config", bson.D{{Key: "find", Value: "settings"}})
	wantCode(t, err, codeUnauthorized)

	liar := connect(t, c.standIn.address, "registrar", "not-the-password", "admin")
	if _, err = ask(patiently(t), liar, "admin", bson.D{{Key: "listShards", Value: 1}}); err == nil {
		t.Error("a wrong password is accepted")
	}
	wantCode(t, err, 18)
	found, err := c.shards(patiently(t), c.as(t, "registrar"))
	if err != nil || len(found) != 0 {
		t.Errorf("after refused commands the shards are %v, %v", found, err)
	}
}

func (c *cluster) addsShard(t *testing.T) {
	registrar := c.as(t, "registrar")
	for range 2 { // The second time finds the shard there.
		reply := mustRun(t, registrar, bson.D{{Key: "addShard", Value: c.shard}})
		if name, _ := reply.Lookup("shardAdded").StringValueOK(); name != "sh0" {
			t.Errorf("answer is %v", reply)
		}
	}
	found, err := c.shards(patiently(t), registrar)
	if want := []string{"sh0=" + c.shard}; err != nil || fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("shards are %v, %v, want %v", found, err, want)
	}
	if _, err := ask(patiently(t), registrar, "admin", bson.D{{Key: "addShard", Value: "no slash and no port"}}); err == nil {
		t.Error("a connection string that is none is accepted")
	}
}

func (c *cluster) controlsBalancer(t *testing.T) {
	balancer := c.as(t, "balancer")
	for _, row := range []struct{ command, mode string }{
		{"balancerStop", "off"}, {"balancerStop", "off"}, {"balancerStart", "full"},
	} {
		mustRun(t, balancer, bson.D{{Key: row.command, Value: 1}, {Key: "maxTimeMS", Value: 60000}})
		status := mustRun(t, balancer, bson.D{{Key: "balancerStatus", Value: 1}})
		if mode, _ := status.Lookup("mode").StringValueOK(); mode != row.mode {
			t.Errorf("after %s the mode is %q, want %q", row.command, mode, row.mode)
		}
	}
	if err := balancer.Database("config").Collection("settings").FindOne(patiently(t), bson.D{}).Err(); err != nil {
		t.Errorf("read config.settings: %v", err)
	}
}

func (c *cluster) enablesSharding(t *testing.T) {
	founder := c.as(t, "founder")
	mustRun(t, founder, bson.D{{Key: "enableSharding", Value: "shop"}})
	_, err := ask(patiently(t), founder, "admin", bson.D{{Key: "enableSharding", Value: "other"}})
	wantCode(t, err, codeUnauthorized)
	internal := connect(t, c.standIn.address, "__system", keyText, "local")
	var entry bson.M
	err = internal.Database("config").Collection("databases").FindOne(patiently(t), bson.D{{Key: "_id", Value: "shop"}}).Decode(&entry)
	if err != nil || entry["primary"] != "sh0" {
		t.Errorf("entry of the database is %v, %v", entry, err)
	}
}

func (c *cluster) speaksForItself(t *testing.T) {
	watcher := c.as(t, "watcher")
	for _, command := range []string{"getCmdLineOpts", "serverStatus", "buildInfo"} {
		reply := mustRun(t, watcher, bson.D{{Key: command, Value: 1}})
		if marked, _ := reply.Lookup("standIn").BooleanOK(); !marked {
			t.Errorf("%s does not say that it comes from a stand-in: %v", command, reply)
		}
	}
	started := mustRun(t, watcher, bson.D{{Key: "getCmdLineOpts", Value: 1}})
	if size, _ := started.Lookup("parsed", "setParameter", "ShardingTaskExecutorPoolMinSize").StringValueOK(); size != "7" {
		t.Errorf("getCmdLineOpts is %v", started)
	}
	question := bson.D{{Key: "getParameter", Value: 1}, {Key: "ShardingTaskExecutorPoolMinSize", Value: 1}, {Key: "cursorTimeoutMillis", Value: 1}}
	inForce := mustRun(t, watcher, question)
	if inForce.Lookup("ShardingTaskExecutorPoolMinSize").AsInt64() != 7 || inForce.Lookup("cursorTimeoutMillis").AsInt64() != 5 {
		t.Errorf("parameters in force are %v", inForce)
	}
	was := mustRun(t, watcher, bson.D{{Key: "setParameter", Value: 1}, {Key: "ShardingTaskExecutorPoolMinSize", Value: 8}})
	if was.Lookup("was").AsInt64() != 7 || mustRun(t, watcher, question).Lookup("ShardingTaskExecutorPoolMinSize").AsInt64() != 8 {
		t.Errorf("setting a parameter answers %v", was)
	}
	_, err := ask(patiently(t), watcher, "admin", bson.D{{Key: "setParameter", Value: 1}, {Key: "nosuch", Value: 1}})
	if err == nil {
		t.Error("an unknown parameter is set")
	}
}

func (c *cluster) refusesUserData(t *testing.T) {
	internal := connect(t, c.standIn.address, "__system", keyText, "local")
	shop := internal.Database("shop").Collection("orders")
	_, err := shop.InsertOne(patiently(t), bson.D{{Key: "_id", Value: 1}})
	wantCode(t, err, 115)
	wantCode(t, shop.FindOne(patiently(t), bson.D{}).Err(), 115)
	_, err = ask(patiently(t), internal, "admin", bson.D{{Key: "_configsvrBalancerStatus", Value: 1}})
	wantCode(t, err, 59)
	_, err = ask(patiently(t), internal, "admin", bson.D{{Key: "replSetGetStatus", Value: 1}})
	wantCode(t, err, 0)
}

func (c *cluster) survivesStepDown(t *testing.T) {
	registrar := c.as(t, "registrar")
	first := primaryOf(t, c.configServers)
	eventually(t, "step down", func(ctx context.Context) error {
		_, err := runAsMember(ctx, first, bson.D{{Key: "replSetStepDown", Value: 60}, {Key: "secondaryCatchUpPeriodSecs", Value: 10}})
		return err
	})
	eventually(t, "list shards after the step down", func(ctx context.Context) error {
		found, err := c.shards(ctx, registrar)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("shards are %v", found)
		}
		return err
	})
	if second := primaryOf(t, c.configServers); second == first {
		t.Fatalf("%s is still primary", first)
	}
	// What needs the client's own connection to lead to the primary works too.
	internal := connect(t, c.standIn.address, "__system", keyText, "local")
	mustRun(t, internal, bson.D{{Key: "createUser", Value: "late"}, {Key: "pwd", Value: "late-password"}, {Key: "roles", Value: bson.A{}}})
	mustRun(t, c.as(t, "late"), bson.D{{Key: "ping", Value: 1}})
	eventually(t, "add the shard again by the client from before", func(ctx context.Context) error {
		_, err := ask(ctx, registrar, "admin", bson.D{{Key: "addShard", Value: c.shard}})
		return err
	})
}

func (c *cluster) endsWhenTold(t *testing.T) {
	mustRun(t, c.as(t, "nobody"), bson.D{{Key: "ping", Value: 1}})
	if err := c.standIn.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("signal: %v", err)
	}
	if code := c.standIn.exitCode(t); code != exitClean {
		t.Errorf("exit code is %d\n%s", code, c.standIn.output.String())
	}
}
