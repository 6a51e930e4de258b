// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/mongotuning/mongotuning/internal/load"
)

const (
	ledgerUser     = "e2e-ledger"
	ledgerDatabase = "e2e"
	// pace is the time between two writes of one writer.
	pace = 20 * time.Millisecond
	// patience is how long one write may take with all that the driver tries.
	patience = 10 * time.Second
)

// ledger is what was written to one shard: unique documents, of which every one that was acknowledged
// by a majority has to be there for ever after, and no other than those that were tried.
type ledger struct {
	cluster  *cluster
	shard    string
	password string
	book     load.Inserts
}

// openLedger makes the user of the ledger on a shard's primary, with the members' own identity: shards
// have no users of applications.
func (c *cluster) openLedger(t *testing.T, shard string) {
	t.Helper()
	l := &ledger{cluster: c, shard: shard, password: "ledger-" + shard}
	primary := c.member(t, c.primary(t, shard), new(c.memberIdentity(t)))
	mustRun(t, primary, bson.D{
		{Key: "createUser", Value: ledgerUser}, {Key: "pwd", Value: l.password},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: ledgerDatabase}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
	})
	c.ledgers[shard] = l
}

func (l *ledger) connect(t *testing.T) *mongo.Collection {
	t.Helper()
	shard := l.cluster.replicaSet(t, l.shard, credential(ledgerUser, l.password, "admin"))
	return shard.Database(ledgerDatabase).Collection("ledger", options.Collection().SetWriteConcern(writeconcern.Majority()))
}

// write tries one new document.
func (l *ledger) write(ctx context.Context, collection *mongo.Collection) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := l.book.Next()
	if _, err := collection.InsertOne(ctx, bson.D{{Key: "_id", Value: id}}); err != nil {
		return err // it may be there or not
	}
	l.book.Acknowledge(id)
	return nil
}

// expectComplete compares the shard with the ledger.
func (l *ledger) expectComplete(t *testing.T) {
	t.Helper()
	cursor, err := l.connect(t).Find(t.Context(), bson.D{})
	if err != nil {
		t.Fatalf("read the ledger of %s: %v", l.shard, err)
	}
	var documents []struct {
		ID int64 `bson:"_id"`
	}
	if err := cursor.All(t.Context(), &documents); err != nil {
		t.Fatalf("read the ledger of %s: %v", l.shard, err)
	}
	present := func(yield func(int64) bool) {
		for _, document := range documents {
			if !yield(document.ID) {
				return
			}
		}
	}
	if err := l.book.Check(present).Err(); err != nil {
		t.Fatalf("%s: of %d writes: %v", l.shard, l.count(), err)
	}
}

// count is how many writes were acknowledged.
func (l *ledger) count() int64 { return l.book.Counts().Acknowledged }

// writers are one writer for each shard.
type writers struct {
	cancel  context.CancelFunc
	wait    sync.WaitGroup
	writers map[string]*writer
}

// writer writes to one shard without a pause and measures how long nothing is acknowledged.
type writer struct {
	ledger     *ledger
	collection *mongo.Collection
	// written, refused and longest are for the reader after the writer has ended.
	written, refused int
	longest          time.Duration
}

// startWriters starts a writer for every shard with a ledger.
func (c *cluster) startWriters(t *testing.T) *writers {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	all := &writers{cancel: cancel, writers: map[string]*writer{}}
	for shard, ledger := range c.ledgers {
		w := &writer{ledger: ledger, collection: ledger.connect(t)}
		all.writers[shard] = w
		all.wait.Go(func() { w.run(ctx) })
	}
	t.Cleanup(all.end)
	return all
}

func (w *writer) run(ctx context.Context) {
	last := time.Now()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.ledger.write(ctx, w.collection); err != nil {
			if ctx.Err() == nil {
				w.refused++
			}
			continue
		}
		w.written++
		w.longest = max(w.longest, time.Since(last))
		last = time.Now()
	}
}

// stop waits until every writer has written again, so that the last gap is measured to its end.
func (w *writers) stop(t *testing.T) {
	t.Helper()
	for shard, writer := range w.writers {
		before := writer.ledger.count()
		await(t, promptly, "nobody can write to "+shard, func(g gomega.Gomega) {
			g.Expect(writer.ledger.count()).To(gomega.BeNumerically(">", before))
		})
	}
	w.end()
}

func (w *writers) end() {
	w.cancel()
	w.wait.Wait()
}

// report tells what applications felt.
func (w *writers) report(t *testing.T) {
	t.Helper()
	for _, shard := range slices.Sorted(maps.Keys(w.writers)) {
		writer := w.writers[shard]
		t.Logf("%s: %d writes acknowledged, %d failed, longest time without one %s",
			shard, writer.written, writer.refused, writer.longest.Round(10*time.Millisecond))
	}
}
