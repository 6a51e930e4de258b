// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/mongotuning/mongotuning/internal/load"
)

const (
	loadUser     = "e2e-load"
	loadPassword = "load-on-the-shards"
	// loadFor is longer than any story: loads end with their story.
	loadFor = time.Hour
	// userExists is the server's answer to a user that is made twice.
	userExists = 51003
)

// lightLoad is every kind of operation on small documents, and few of each: what is looked at is that none of
// them fails and none is lost.
func lightLoad(t *testing.T) load.Options {
	t.Helper()
	return load.Options{
		Mix: mix(t, "find_first=40,find_in=5,find_update=15,find_insert=10,find_delete=10,update=15,bulk_update=5"), Documents: 2000, Bulk: 20,
	}
}

// heavyLoad dirties about 3 % of a cache of 256 MiB at once, several times a second: each bulk updates 250 large
// documents on each of two shards, and each of those lies on a page of its own.
func heavyLoad(t *testing.T) load.Options {
	t.Helper()
	return load.Options{Mix: mix(t, "bulk_update"), Documents: 50_000, DocumentBytes: load.LargeDocument, Bulk: 500}
}

// The operations per second of each.
const (
	lightRate = 40
	heavyRate = 3
)

func mix(t *testing.T, text string) load.Mix {
	t.Helper()
	parsed, err := load.ParseMix(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// openLoad prepares a load on all shards, which are asked directly: what spreads documents over them is the load.
func (c *cluster) openLoad(t *testing.T, opts load.Options) *load.Load {
	t.Helper()
	for _, shard := range c.shards(t) {
		c.admitLoad(t, shard)
		var hosts []string
		for _, pod := range c.members(t, shard) {
			hosts = append(hosts, c.host(pod))
		}
		opts.Targets = append(opts.Targets, load.Target{
			URI:      fmt.Sprintf("mongodb://%s@%s/?replicaSet=%s&authSource=admin&authMechanism=SCRAM-SHA-256", loadUser, strings.Join(hosts, ","), shard),
			Password: loadPassword, Dialer: podDialer{c},
		})
	}
	opts.Now, opts.Timeout = time.Now, 20*time.Second
	ctx, cancel := context.WithTimeout(t.Context(), settling)
	defer cancel()
	opened, err := load.Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	return opened
}

// admitLoad makes the load's user on a shard, which knows it afterwards.
func (c *cluster) admitLoad(t *testing.T, shard string) {
	t.Helper()
	primary := c.member(t, c.primary(t, shard), new(c.memberIdentity(t)))
	_, err := run(t.Context(), primary, bson.D{
		{Key: "createUser", Value: loadUser}, {Key: "pwd", Value: loadPassword},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: load.DefaultDatabase}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
	})
	if server, ok := err.(mongo.ServerError); err != nil && (!ok || !server.HasErrorCode(userExists)) { //nolint:errorlint // the driver returns it unwrapped
		t.Fatalf("make the user of the load on %s: %v", shard, err)
	}
}

// underLoad has something happen while a load runs at a fixed rate, and proves that nothing acknowledged was lost.
func (c *cluster) underLoad(t *testing.T, opts load.Options, rate float64, happens func()) load.Result {
	t.Helper()
	opened := c.openLoad(t, opts)
	ctx, end := context.WithCancel(t.Context())
	type ended struct {
		result load.Result
		err    error
	}
	done := make(chan ended, 1)
	go func() {
		result, err := opened.Run(ctx, load.Stage{Threads: 16, Rate: rate, Duration: loadFor, Operations: 100_000_000})
		done <- ended{result, err}
	}()
	t.Cleanup(func() {
		// Also when the story has failed, nothing writes on.
		end()
		closing, cancel := context.WithTimeout(context.Background(), promptly)
		defer cancel()
		if err := opened.Close(closing); err != nil {
			t.Logf("the documents of the load stay: %v", err)
		}
	})
	happens()
	end()
	run := <-done
	if run.err != nil {
		t.Fatal(run.err)
	}
	var ledger load.Ledger
	await(t, promptly, "what the load wrote cannot be read", func(g gomega.Gomega) {
		var err error
		ledger, err = opened.Check(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
	})
	if err := ledger.Err(); err != nil {
		t.Error(err)
	}
	report := load.NewReport(opts)
	report.Result, report.Ledgers = &run.result, []load.Ledger{ledger}
	page := &strings.Builder{}
	if err := report.WriteTable(page); err != nil {
		t.Fatal(err)
	}
	t.Logf("what the load felt:\n%s", page)
	if run.result.Total.Count == run.result.Total.Failed {
		t.Error("the load did nothing")
	}
	return run.result
}
