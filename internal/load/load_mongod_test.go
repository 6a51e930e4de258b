// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package load_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/mongotuning/mongotuning/internal/load"
	"github.com/mongotuning/mongotuning/test/servers"
)

const documents = 2000

// targetOf is a replica set as the load connects to it.
func targetOf(set *servers.ReplicaSet) load.Target {
	addresses := make([]string, len(set.Servers))
	for i, server := range set.Servers {
		addresses[i] = server.Address
	}
	uri := "mongodb://" + strings.Join(addresses, ",") + "/?replicaSet=" + set.Name
	credentials := set.Servers[0].Credentials()
	if credentials.Username != "" {
		uri = strings.Replace(uri, "//", "//"+credentials.Username+"@", 1) + "&authMechanism=SCRAM-SHA-256&authSource=" + credentials.Source
	}
	return load.Target{URI: uri, Password: credentials.Password}
}

func optionsFor(t *testing.T, mix string, sets ...*servers.ReplicaSet) load.Options {
	t.Helper()
	parsed, err := load.ParseMix(mix)
	if err != nil {
		t.Fatal(err)
	}
	opts := load.Options{Mix: parsed, Documents: documents, Now: time.Now, Seed: 7, Timeout: 20 * time.Second}
	for _, set := range sets {
		opts.Targets = append(opts.Targets, targetOf(set))
	}
	return opts
}

func open(t *testing.T, opts load.Options) *load.Load {
	t.Helper()
	l, err := load.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Leave(context.Background()) })
	if err := l.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// database is the test's own way into what the load has written.
func database(t *testing.T, set *servers.ReplicaSet, name string) *mongo.Database {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(targetOf(set).URI))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = client.Disconnect(ctx) // the server may be gone already
	})
	return client.Database(name)
}

func countIn(t *testing.T, in *mongo.Database, collection string) int64 {
	t.Helper()
	count, err := in.Collection(collection).CountDocuments(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func stage(operations int64) load.Stage {
	return load.Stage{Threads: 4, Duration: time.Minute, Operations: operations}
}

func run(t *testing.T, l *load.Load, stage load.Stage) load.Result {
	t.Helper()
	result, err := l.Run(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func expectNothingLost(t *testing.T, l *load.Load) load.Ledger {
	t.Helper()
	ledger, err := l.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Err(); err != nil {
		t.Error(err)
	}
	return ledger
}

// updatesIn adds up what documents count.
func updatesIn(t *testing.T, in *mongo.Database) int64 {
	t.Helper()
	cursor, err := in.Collection("documents").Aggregate(t.Context(), mongo.Pipeline{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: nil}, {Key: "sum", Value: bson.D{{Key: "$sum", Value: "$n"}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Sum int64 `bson:"sum"`
	}
	if err := cursor.All(t.Context(), &groups); err != nil {
		t.Fatal(err)
	}
	return groups[0].Sum
}

// TestOperations has each operation done so many times, and looks what it has done to the data.
func TestOperations(t *testing.T) {
	const times = 200
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		set := servers.StartReplicaSet(t, servers.Options{Version: version}, 1)
		for _, row := range []struct {
			operation            string
			least, most          int64 // documents that were read or written
			updates, copies, bad int64
		}{
			{operation: "find_first", least: times, most: times},
			{operation: "find_in", least: 40 * times, most: 40 * times},
			// As many as follow the one that is asked for, of 2000.
			{operation: "find", least: times, most: documents * times},
			{operation: "find_update", least: 2 * times, most: 2 * times, updates: times},
			{operation: "find_insert", least: 2 * times, most: 2 * times, copies: times},
			{operation: "find_delete", least: 2 * times, most: 2 * times, copies: documents - times},
			{operation: "update", least: times, most: times, updates: times},
			{operation: "bulk_update", least: 100 * times, most: 100 * times, updates: 100 * times},
		} {
			t.Run(row.operation, func(t *testing.T) {
				l := open(t, optionsFor(t, row.operation, set))
				result := run(t, l, stage(times))
				seen := database(t, set, load.DefaultDatabase)
				total := result.Total
				if total.Count != times || total.Failed != 0 || total.Missed != 0 || len(result.Operations) != 1 || result.Operations[0].Name != row.operation {
					t.Errorf("%+v, errors %v", result.Operations, result.Errors)
				}
				if read := int64(total.DocumentsPerSecond*result.Seconds + 0.5); read < row.least || read > row.most {
					t.Errorf("%d documents were read or written, wanted %d to %d", read, row.least, row.most)
				}
				if total.Latency.P50 <= 0 || total.Latency.Max < total.Latency.P50 || total.PerSecond <= 0 {
					t.Errorf("%+v", total)
				}
				if got := updatesIn(t, seen); got != row.updates {
					t.Errorf("%d updates, wanted %d", got, row.updates)
				}
				if got := countIn(t, seen, "copy"); got != row.copies {
					t.Errorf("%d copies, wanted %d", got, row.copies)
				}
				if got := countIn(t, seen, "documents"); got != documents {
					t.Errorf("%d documents, wanted %d", got, documents)
				}
				expectNothingLost(t, l)
			})
		}
	})
}

// TestDocumentSizes asks the server how large documents are, before and after updates.
func TestDocumentSizes(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	for _, size := range []int{load.SmallDocument, load.LargeDocument} {
		opts := optionsFor(t, "update=1,find_insert=1", set)
		opts.DocumentBytes = size
		l := open(t, opts)
		run(t, l, stage(500))
		for _, collection := range []string{"documents", "copy"} {
			var stats struct {
				Average int `bson:"avgObjSize"`
				Size    int `bson:"size"`
				Count   int `bson:"count"`
			}
			err := database(t, set, load.DefaultDatabase).RunCommand(t.Context(), bson.D{{Key: "collStats", Value: collection}}).Decode(&stats)
			if err != nil {
				t.Fatal(err)
			}
			if stats.Average != size || stats.Size != size*stats.Count || stats.Count == 0 {
				t.Errorf("%s: %+v, wanted documents of %d bytes", collection, stats, size)
			}
		}
	}
}

func TestLoadOfShardsWithoutRouter(t *testing.T) {
	const key = servers.KeyFile
	shards := []*servers.ReplicaSet{
		servers.StartReplicaSet(t, servers.Options{Version: "4.2.6", ReplicaSet: "first", KeyFile: key}, 1),
		servers.StartReplicaSet(t, servers.Options{Version: "6.0.27", ReplicaSet: "second", KeyFile: key}, 1),
	}
	opts := optionsFor(t, "find_first=4,find_in=4,find=1,find_update=4,find_insert=8,find_delete=4,bulk_update=1", shards...)
	opts.Keys = load.Zipfian
	l := open(t, opts)
	result := run(t, l, stage(2000))
	if result.Total.Count != 2000 || result.Total.Failed != 0 || result.Total.Missed != 0 || len(result.Operations) != 7 {
		t.Errorf("%+v, errors %v", result.Operations, result.Errors)
	}
	ledger := expectNothingLost(t, l)
	if ledger.Inserts.Acknowledged < documents || ledger.Updates.Acknowledged == 0 || ledger.Updates != (load.WriteCounts{Tried: ledger.Updates.Acknowledged, Acknowledged: ledger.Updates.Acknowledged}) {
		t.Errorf("%+v", ledger)
	}
	for _, shard := range shards {
		identity := shard.Servers[0].Credentials()
		client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + shard.Servers[0].Address).SetDirect(true).
			SetAuth(options.Credential{AuthMechanism: "SCRAM-SHA-256", AuthSource: identity.Source, Username: identity.Username, Password: identity.Password}))
		if err != nil {
			t.Fatal(err)
		}
		count := countIn(t, client.Database(load.DefaultDatabase), "documents")
		if count < documents/3 || count > documents*2/3 {
			t.Errorf("shard %s has %d of %d documents", shard.Name, count, documents)
		}
		_ = client.Disconnect(t.Context()) // the test is over
	}
}

// TestLedgerFindsWhatWasTakenAway does to the data, behind the back of the load, each thing that must never happen.
func TestLedgerFindsWhatWasTakenAway(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	seen := database(t, set, load.DefaultDatabase)
	for _, row := range []struct {
		name   string
		does   func(t *testing.T) error
		says   string
		counts func(load.Findings) int64
	}{
		{"a document is deleted", func(t *testing.T) error {
			return seen.Collection("documents").FindOneAndDelete(t.Context(), bson.D{{Key: "_id", Value: 17}}).Err()
		}, "lost 1 [17]", func(f load.Findings) int64 { return f.Lost.Count }},
		{"an update is undone", func(t *testing.T) error {
			return seen.Collection("documents").FindOneAndUpdate(t.Context(), bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 0}}}},
				bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: -1}}}}).Err()
		}, "lost 1 [", func(f load.Findings) int64 { return f.Lost.Count }},
		{"an insert is lost", func(t *testing.T) error {
			return seen.Collection("copy").FindOneAndDelete(t.Context(), bson.D{}).Err()
		}, "lost 1 [", func(f load.Findings) int64 { return f.Lost.Count }},
		{"a delete is lost", func(t *testing.T) error {
			return deletedIsBack(t, seen.Collection("copy"))
		}, "deleted and back again 1 [", func(f load.Findings) int64 { return f.Returned.Count }},
		{"an update is done twice", func(t *testing.T) error {
			return seen.Collection("documents").FindOneAndUpdate(t.Context(), bson.D{}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 100_000}}}}).Err()
		}, "never written 1 [", func(f load.Findings) int64 { return f.Invented.Count }},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := open(t, optionsFor(t, "update=2,find_insert=1,find_delete=1", set))
			run(t, l, stage(400))
			expectNothingLost(t, l)
			if err := row.does(t); err != nil {
				t.Fatal(err)
			}
			ledger, err := l.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if row.counts(ledger.Findings) != 1 || ledger.Err() == nil || !strings.Contains(ledger.Err().Error(), row.says) {
				t.Errorf("%v, wanted %q in it", ledger.Err(), row.says)
			}
		})
	}
}

// deletedIsBack puts a copy back that the load has deleted: one of those that it began with.
func deletedIsBack(t *testing.T, copies *mongo.Collection) error {
	t.Helper()
	var there []int64
	if err := copies.Distinct(t.Context(), "_id", bson.D{}).Decode(&there); err != nil {
		return err
	}
	for id := int64(documents); id > 0; id-- {
		if !slices.Contains(there, id) {
			_, err := copies.InsertOne(t.Context(), bson.D{{Key: "_id", Value: id}})
			return err
		}
	}
	t.Fatal("nothing was deleted")
	return nil
}

// TestWritesLostByFailover has a primary acknowledge writes by itself, and lets another take over that has never
// seen them. The same with a majority loses none.
func TestWritesLostByFailover(t *testing.T) {
	for _, row := range []struct {
		concern string
		lost    bool
	}{{"1", true}, {"majority", false}} {
		t.Run("w:"+row.concern, func(t *testing.T) {
			set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 3)
			opts := optionsFor(t, "update", set)
			opts.WriteConcern, opts.Timeout = row.concern, 3*time.Second
			l := open(t, opts)
			// With a majority the preparation is everywhere by now; with less it has to be awaited.
			awaitReplicated(t, set)
			primary, secondaries := set.Primary(), set.Secondaries()
			for _, server := range secondaries {
				server.Freeze()
			}
			result := run(t, l, stage(8))
			if acknowledged := result.Total.Failed == 0; acknowledged != row.lost {
				t.Errorf("%d of %d writes failed: %v", result.Total.Failed, result.Total.Count, result.Errors)
			}
			primary.Kill()
			for _, server := range secondaries {
				server.Thaw()
			}
			ledger := checkWhenServed(t, l)
			if (ledger.Lost.Count > 0) != row.lost {
				t.Errorf("%s", ledger)
			}
		})
	}
}

func awaitReplicated(t *testing.T, set *servers.ReplicaSet) {
	t.Helper()
	in := database(t, set, "test")
	_, err := in.Collection("all").InsertOne(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	command := bson.D{{Key: "insert", Value: "all"}, {Key: "documents", Value: bson.A{bson.D{}}}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: 3}}}}
	if err := in.RunCommand(t.Context(), command).Err(); err != nil {
		t.Fatal(err)
	}
}

// checkWhenServed checks the ledger as soon as a member leads again.
func checkWhenServed(t *testing.T, l *load.Load) load.Ledger {
	t.Helper()
	var ledger load.Ledger
	servers.Await(t, "a primary to check the ledger with", func(ctx context.Context) error {
		var err error
		ledger, err = l.Check(ctx)
		return err
	})
	return ledger
}

func TestForeignDatabaseIsLeftAlone(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	foreign := database(t, set, "shop")
	if _, err := foreign.Collection("orders").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	opts := optionsFor(t, "update", set)
	opts.Database = "shop"
	if _, err := load.Open(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "orders") {
		t.Fatalf("%v: the database of somebody else is taken", err)
	}
	expectCollections(t, foreign, "orders")

	opts.Existing = true
	l := open(t, opts)
	run(t, l, stage(100))
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectCollections(t, foreign, "orders")
	if count := countIn(t, foreign, "orders"); count != 1 {
		t.Errorf("%d orders", count)
	}

	// Told or not: what has our names and not our mark is not ours to drop.
	if _, err := foreign.Collection("documents").InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	if _, err := load.Open(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "collection documents") {
		t.Fatalf("%v: a collection of somebody else is taken", err)
	}
	expectCollections(t, foreign, "documents", "orders")
}

func expectCollections(t *testing.T, in *mongo.Database, want ...string) {
	t.Helper()
	names, err := in.ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("collections %v, wanted %v", names, want)
	}
}

func TestNothingStaysBehind(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	left := open(t, optionsFor(t, "find_delete", set))
	if err := left.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := database(t, set, load.DefaultDatabase)
	if countIn(t, seen, "copy") != documents {
		t.Fatal("what was to be left is gone")
	}
	// The next one takes the place of what was left.
	l := open(t, optionsFor(t, "update", set))
	if countIn(t, seen, "copy") != 0 || countIn(t, seen, "documents") != documents {
		t.Error("what an earlier run has left is still there")
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, err := seen.Client().ListDatabaseNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(names, load.DefaultDatabase) {
		t.Errorf("databases %v", names)
	}
}

// TestStallIsNotLeftOut freezes a server for half a second under a load of a fixed rate: whatever was due meanwhile
// has waited, also what no thread was free to ask.
func TestStallIsNotLeftOut(t *testing.T) {
	const stall = 500 * time.Millisecond
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	opts := optionsFor(t, "find_first", set)
	begun := make(chan struct{}, 100)
	opts.ProgressEvery, opts.Progress = 100*time.Millisecond, func(p load.Progress) {
		if p.PerSecond > 0 {
			begun <- struct{}{}
		}
	}
	l := open(t, opts)
	server, thawed := set.Servers[0], make(chan struct{})
	go func() {
		defer close(thawed)
		<-begun
		server.Freeze()
		<-time.After(stall)
		server.Thaw()
	}()
	// One thread: it alone would notice one bad latency.
	result := run(t, l, load.Stage{Threads: 1, Rate: 200, Duration: time.Minute, Operations: 400})
	<-thawed
	if result.Total.Count != 400 || result.Unsent != 0 || result.Total.Failed != 0 {
		t.Fatalf("%+v", result)
	}
	// 100 of the 400 were due during the stall, 80 of them at least 100 ms before its end.
	if result.Total.Latency.Max < 500 || result.Total.Latency.P90 < 100 {
		t.Errorf("the stall is left out: %+v", result.Total.Latency)
	}
}

func TestRateThatCannotBeHad(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	l := open(t, optionsFor(t, "find_first", set))
	result := run(t, l, load.Stage{Threads: 1, Rate: 1_000_000, Duration: time.Second, Operations: 10_000_000})
	if result.Unsent == 0 || result.Unsent != 1_000_000-result.Total.Count {
		t.Errorf("%d sent, %d unsent of a million", result.Total.Count, result.Unsent)
	}
}

func TestSweepRaisesThreads(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	l := open(t, optionsFor(t, "find_first", set))
	sweep, err := l.Sweep(t.Context(), load.Stage{Threads: 1, Duration: 300 * time.Millisecond, Operations: 1_000_000}, 6)
	if err != nil {
		t.Fatal(err)
	}
	threads := []int{}
	for _, step := range sweep.Steps {
		threads = append(threads, step.Threads)
		if step.Total.Count == 0 {
			t.Errorf("%d threads did nothing", step.Threads)
		}
	}
	if want := []int{1, 2, 4, 6}; !slices.Equal(threads, want[:len(threads)]) || len(threads) < 2 {
		t.Errorf("threads %v, wanted the first of %v", threads, want)
	}
	if sweep.Knee != load.KneeOf(sweep.Steps) || !slices.Contains(threads, sweep.Knee.Threads) {
		t.Errorf("%+v of %v", sweep.Knee, threads)
	}
}

func TestStormOpensAllConnectionsAtOnce(t *testing.T) {
	const connections, rounds = 60, 2
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	l := open(t, optionsFor(t, "find_first", set))
	before := createdConnections(t, set)
	storm, err := l.Storm(t.Context(), load.Stage{Threads: connections, Duration: time.Second, Operations: 1_000_000}, rounds)
	if err != nil {
		t.Fatal(err)
	}
	if len(storm.Rounds) != rounds {
		t.Fatalf("%d rounds", len(storm.Rounds))
	}
	for _, round := range storm.Rounds {
		if round.Opened != connections || round.Failed != 0 || round.FirstFailed != 0 || round.Connect.Max <= 0 || round.First.Max <= 0 || round.PerSecond <= 0 || round.AllOpenSeconds <= 0 {
			t.Errorf("%+v", round)
		}
	}
	if created := createdConnections(t, set) - before; created < connections*rounds {
		t.Errorf("the server saw %d new connections, wanted %d at least", created, connections*rounds)
	}
}

func createdConnections(t *testing.T, set *servers.ReplicaSet) int64 {
	t.Helper()
	var status struct {
		Connections struct {
			Created int64 `bson:"totalCreated"`
		} `bson:"connections"`
	}
	err := database(t, set, "admin").RunCommand(t.Context(), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
	if err != nil {
		t.Fatal(err)
	}
	return status.Connections.Created
}

// TestLoadThatIsEndedEarly ends a load that would last an hour, and finds its books in order.
func TestLoadThatIsEndedEarly(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	opts := optionsFor(t, "update=1,find_insert=1,find_delete=1", set)
	ctx, cancel := context.WithCancel(t.Context())
	opts.ProgressEvery, opts.Progress = 100*time.Millisecond, func(load.Progress) { cancel() }
	l := open(t, opts)
	for _, rate := range []float64{0, 100} {
		result, err := l.Run(ctx, load.Stage{Threads: 4, Rate: rate, Duration: time.Hour, Operations: 1_000_000_000})
		if err != nil {
			t.Fatal(err)
		}
		if result.Total.Failed != 0 || rate == 0 && result.Total.Count == 0 {
			t.Errorf("%+v", result)
		}
	}
	expectNothingLost(t, l)
}

func TestServersThatAreAway(t *testing.T) {
	set := servers.StartReplicaSet(t, servers.Options{Version: "4.4.2"}, 1)
	opts := optionsFor(t, "update", set)
	opts.Timeout = 500 * time.Millisecond
	l := open(t, opts)
	set.Servers[0].Kill()
	result := run(t, l, load.Stage{Threads: 2, Duration: time.Minute, Operations: 4})
	if result.Total.Count != 4 || result.Total.Failed != 4 || result.Total.PerSecond != 0 || len(result.Errors) == 0 {
		t.Errorf("%+v", result)
	}
	if _, err := l.Check(t.Context()); err == nil {
		t.Error("the ledger of servers that are away is checked")
	}
	opts.Targets[0].URI = "mongodb://127.0.0.1:1/?replicaSet=rs0"
	if _, err := load.Open(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v", err)
	}
}
