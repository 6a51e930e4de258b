// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

func good(t *testing.T) Options {
	t.Helper()
	mix, err := ParseMix("six")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Targets: []Target{{URI: "mongodb://localhost"}}, Mix: mix, Now: time.Now}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Options)
		says   string
	}{
		{"no target", func(o *Options) { o.Targets = nil }, "no target"},
		{"no mix", func(o *Options) { o.Mix = Mix{} }, "no mix"},
		{"no clock", func(o *Options) { o.Now = nil }, "no clock"},
		{"the database of users", func(o *Options) { o.Database = "admin" }, `"admin"`},
		{"the database of the cluster", func(o *Options) { o.Database = "config" }, `"config"`},
		{"the database of the oplog", func(o *Options) { o.Database = "local" }, `"local"`},
		{"a name that no database has", func(o *Options) { o.Database = "a.b" }, `"a.b"`},
		{"fewer than no documents", func(o *Options) { o.Documents = -1 }, "from 1 to 50000000"},
		{"too many documents", func(o *Options) { o.Documents = MaxDocuments + 1 }, "from 1 to 50000000"},
		{"too small documents", func(o *Options) { o.DocumentBytes = MinDocument - 1 }, "from 34 to"},
		{"too many updates in a bulk", func(o *Options) { o.Bulk = MaxBulk + 1 }, "from 1 to 100000"},
		{"a timeout below a millisecond", func(o *Options) { o.Timeout = time.Microsecond }, "milliseconds of timeout"},
		{"unacknowledged writes", func(o *Options) { o.WriteConcern = "0" }, "majority or the number"},
		{"an unknown write concern", func(o *Options) { o.WriteConcern = "most" }, `"most"`},
		{"shards without a router", func(o *Options) { o.Sharded, o.Targets = true, append(o.Targets, o.Targets...) }, "2 targets"},
	} {
		t.Run(row.name, func(t *testing.T) {
			options := good(t)
			row.change(&options)
			_, err := Open(t.Context(), options)
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, wanted %q in it", err, row.says)
			}
		})
	}
	if err := good(t).withDefaults().check(); err != nil {
		t.Errorf("what is good is refused: %v", err)
	}
}

func TestStagesAlwaysEnd(t *testing.T) {
	for _, row := range []struct {
		name  string
		stage Stage
		says  string
	}{
		{"without a time", Stage{Threads: 1, Operations: 1}, "milliseconds of a run"},
		{"without a count", Stage{Threads: 1, Duration: time.Second}, "operations of a run"},
		{"longer than a day", Stage{Threads: 1, Operations: 1, Duration: 25 * time.Hour}, "86400000"},
		{"without threads", Stage{Operations: 1, Duration: time.Second}, "threads"},
		{"with more threads than servers take", Stage{Threads: MaxThreads + 1, Operations: 1, Duration: time.Second}, "65536"},
		{"with a rate below nothing", Stage{Threads: 1, Rate: -1, Operations: 1, Duration: time.Second}, "rate"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := (&Load{}).Run(t.Context(), row.stage); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, wanted %q in it", err, row.says)
			}
		})
	}
	stage := Stage{Threads: 4, Operations: 1, Duration: time.Second}
	if _, err := (&Load{}).Sweep(t.Context(), stage, 3); err == nil {
		t.Error("a sweep that ends before it begins")
	}
	stage.Rate = 1
	if _, err := (&Load{}).Sweep(t.Context(), stage, 8); err == nil {
		t.Error("a sweep with a rate")
	}
	stage.Rate = 0
	if _, err := (&Load{}).Storm(t.Context(), stage, 0); err == nil {
		t.Error("a storm of no rounds")
	}
}

func TestConnectionStrings(t *testing.T) {
	for _, row := range []struct {
		uri, name   string
		hasPassword bool
	}{
		{"mongodb://a:1,b:2/?replicaSet=x", "a:1,b:2", false},
		{"mongodb://user@a:1", "a:1", false},
		{"mongodb://user:p%40ss@a:1/db?x=y@z", "a:1", true},
		{"mongodb+srv://user:pass@a.example.org/", "a.example.org", true},
		{"nonsense", "target", false},
	} {
		target := Target{URI: row.uri}
		if target.Name() != row.name {
			t.Errorf("%s is named %q, wanted %q", row.uri, target.Name(), row.name)
		}
		if HasPassword(row.uri) != row.hasPassword {
			t.Errorf("%s has a password: %v", row.uri, HasPassword(row.uri))
		}
	}
}

func TestErrorsHoldNoPassword(t *testing.T) {
	for _, uri := range []string{"mongodb://user:geheim@a:1/?replicaSet=", "mongodb://user:geheim@", "mongodb://u:geheim/x@a:1"} {
		options := good(t)
		options.Targets, options.Timeout = []Target{{URI: uri}}, time.Millisecond
		_, err := Open(t.Context(), options)
		if err == nil {
			t.Fatalf("%s is taken", uri)
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v", err)
		}
	}
	if got := withoutPassword("wrong: geheim", Target{URI: "mongodb://a", Password: "geheim"}); got != "wrong: ***" {
		t.Error(got)
	}
}

func TestKindsOfErrors(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		want errorKind
	}{
		{"another member leads", mongo.CommandError{Code: 10107}, errorNotPrimary},
		{"a member that shuts down", mongo.CommandError{Code: 91, Labels: []string{"NetworkError"}}, errorNotPrimary},
		{"no majority in time", mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, errorWriteConcern},
		{"no majority for a bulk", mongo.BulkWriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, errorWriteConcern},
		{"too late", context.DeadlineExceeded, errorTimeout},
		{"the connection broke", mongo.CommandError{Labels: []string{"NetworkError"}}, errorNetwork},
		{"no right", mongo.CommandError{Code: 13}, "code 13"},
		{"anything else", errors.New("x"), errorOther},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := kindOf(row.err); got != row.want {
				t.Errorf("%q, wanted %q", got, row.want)
			}
		})
	}
}

func TestWritesOfABulkThatFailed(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		want map[int]bool
	}{
		{"none", nil, map[int]bool{}},
		{"one of them", mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: mongo.WriteError{Index: 1}}}}, map[int]bool{1: true}},
		{"no majority for all", mongo.BulkWriteException{WriteConcernError: &mongo.WriteConcernError{}}, map[int]bool{0: true, 1: true, 2: true}},
		{"no answer", context.DeadlineExceeded, map[int]bool{0: true, 1: true, 2: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := failedWrites(row.err, 3)
			if len(got) != len(row.want) {
				t.Fatalf("%v, wanted %v", got, row.want)
			}
			for place := range row.want {
				if !got[place] {
					t.Errorf("%v, wanted %v", got, row.want)
				}
			}
		})
	}
}

func TestDistinctDocuments(t *testing.T) {
	for _, documents := range []int64{1, 39, 40, 41, 1000} {
		chooser, err := newChooser(Zipfian, documents)
		if err != nil {
			t.Fatal(err)
		}
		l := &Load{options: Options{Documents: documents}, chooser: chooser}
		ids := l.worker(1).distinct(findInCount)
		seen := map[int64]bool{}
		for _, id := range ids {
			seen[id] = true
		}
		if want := min(findInCount, int(documents)); len(ids) != want || len(seen) != want {
			t.Errorf("of %d documents %d are chosen, %d different ones", documents, len(ids), len(seen))
		}
	}
}

func TestUserBesidesTheConnectionString(t *testing.T) {
	for _, row := range []struct{ name, uri, username, password, source string }{
		{"a user and a password", "mongodb://a", "given", "s@c/r:t %", "admin"},
		{"a password for the user of the connection string", "mongodb://own@a/?authSource=other&authMechanism=SCRAM-SHA-256", "own", "s@c/r:t %", "other"},
		{"the connection string has both", "mongodb://own:x@a", "own", "x", "admin"},
	} {
		t.Run(row.name, func(t *testing.T) {
			settings, err := Target{URI: row.uri, Username: "given", Password: "s@c/r:t %"}.settings()
			if err != nil {
				t.Fatal(err)
			}
			if auth := settings.Auth; auth.Username != row.username || auth.Password != row.password || auth.AuthSource != row.source {
				t.Errorf("%+v", auth)
			}
		})
	}
	settings, err := Target{URI: "mongodb://a"}.settings()
	if err != nil || settings.Auth != nil {
		t.Errorf("somebody authenticates without a user: %v, %v", settings.Auth, err)
	}
}
