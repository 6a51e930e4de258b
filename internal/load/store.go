// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Load is connected to its targets and has its documents there.
type Load struct {
	options  Options
	targets  []*target
	texts    texts
	chooser  chooser
	inserts  *Inserts
	updates  *Updates
	prepared bool
	// runs so far, so that each makes other choices.
	runs uint64
}

// Open connects to the targets and takes the database: it fails when there is one that it did not make.
// Prepare comes next, and Close last.
func Open(ctx context.Context, opts Options) (*Load, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(opts.Seed, 0)) //nolint:gosec // a load is no secret
	texts, err := newTexts(opts.DocumentBytes, random)
	if err != nil {
		return nil, err
	}
	chooser, err := newChooser(opts.Keys, opts.Documents)
	if err != nil {
		return nil, err
	}
	l := &Load{options: opts, texts: texts, chooser: chooser, inserts: &Inserts{}, updates: NewUpdates(opts.Documents)}
	for _, t := range opts.Targets {
		connected, err := opts.connect(t)
		if err != nil {
			return nil, errors.Join(err, l.disconnect(ctx))
		}
		l.targets = append(l.targets, connected)
	}
	for _, t := range l.targets {
		if err := t.greet(ctx); err != nil {
			return nil, errors.Join(err, l.disconnect(ctx))
		}
	}
	// Only when all of them may be had is one of them written to.
	for _, t := range l.targets {
		if err := l.inspect(ctx, t); err != nil {
			return nil, errors.Join(err, l.disconnect(ctx))
		}
	}
	for _, t := range l.targets {
		if err := l.take(ctx, t); err != nil {
			return nil, errors.Join(err, l.disconnect(ctx))
		}
	}
	return l, nil
}

// marker is the document by which the tool knows a database of its own again.
type marker struct {
	ID    string    `bson:"_id"`
	Since time.Time `bson:"since"`
}

const markerID = "owner"

// inspect fails when the database is somebody else's.
func (l *Load) inspect(ctx context.Context, t *target) error {
	names, err := t.database.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return fmt.Errorf("list the collections of %s on %s: %w", l.options.Database, t.name, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "system.") })
	if slices.Contains(names, markerCollection) {
		return nil
	}
	if len(names) > 0 && !l.options.Existing {
		return fmt.Errorf("database %s on %s has collections that this tool did not make (%s): choose another name, or allow it to work beside them",
			l.options.Database, t.name, strings.Join(names[:min(len(names), 3)], ", "))
	}
	for _, ours := range []string{documentsCollection, copyCollection} {
		if slices.Contains(names, ours) {
			return fmt.Errorf("database %s on %s has a collection %s that this tool did not make: choose another database", l.options.Database, t.name, ours)
		}
	}
	return nil
}

// take marks the database and removes what an earlier run may have left.
func (l *Load) take(ctx context.Context, t *target) error {
	_, err := t.marker.ReplaceOne(ctx, byMarker(), marker{ID: markerID, Since: l.options.Now()}, options.Replace().SetUpsert(true))
	if err != nil {
		return fmt.Errorf("mark database %s on %s as made by this tool: %w", l.options.Database, t.name, err)
	}
	return l.drop(ctx, t.documents, t.copies)
}

func byMarker() bson.D { return bson.D{{Key: idField, Value: markerID}} }

func (l *Load) drop(ctx context.Context, collections ...*mongo.Collection) error {
	for _, collection := range collections {
		if err := collection.Drop(ctx); err != nil {
			return fmt.Errorf("drop collection %s.%s: %w", l.options.Database, collection.Name(), err)
		}
	}
	return nil
}

// preparers are how many threads write the documents to begin with.
const preparers = 8

// batchBytes is how much one insert of preparation sends.
const batchBytes = 1 << 20

// Prepare writes the documents, and the copies when some are to be deleted. All of it is on a majority
// of members, or what the write concern says, before it returns.
func (l *Load) Prepare(ctx context.Context) error {
	if l.prepared {
		return nil
	}
	if l.options.Sharded {
		if err := l.shard(ctx); err != nil {
			return err
		}
	}
	count := l.options.Documents
	err := l.fill(ctx, count, func(t *target) *mongo.Collection { return t.documents }, func(at int64) int64 { return at })
	if err != nil {
		return err
	}
	if l.options.Mix.Has(FindDelete) {
		err := l.fill(ctx, count, func(t *target) *mongo.Collection { return t.copies }, func(int64) int64 { return l.inserts.Next() })
		if err != nil {
			return err
		}
		for id := range count {
			l.inserts.Acknowledge(id + 1)
		}
	}
	l.prepared = true
	return nil
}

// fill inserts so many documents, each with the _id that number gives it.
func (l *Load) fill(ctx context.Context, count int64, into func(*target) *mongo.Collection, number func(int64) int64) error {
	batch := max(1, min(int64(batchBytes/l.options.DocumentBytes), 10_000))
	starts := make(chan int64)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var filling sync.WaitGroup
	for thread := range preparers {
		random := rand.New(rand.NewPCG(l.options.Seed, uint64(thread)+1)) //nolint:gosec // a load is no secret
		filling.Go(func() {
			for start := range starts {
				if err := l.fillBatch(ctx, random, into, number, start, min(start+batch, count)); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for start := int64(0); start < count && ctx.Err() == nil; start += batch {
		select {
		case starts <- start:
		case <-ctx.Done():
		}
	}
	close(starts)
	filling.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("prepare %d documents: %w", count, err)
	}
	return nil
}

func (l *Load) fillBatch(ctx context.Context, random *rand.Rand, into func(*target) *mongo.Collection, number func(int64) int64, start, end int64) error { //nolint:revive // the parts of one loop
	batches := make([][]any, len(l.targets))
	for at := start; at < end; at++ {
		id := number(at)
		to := route(id, len(l.targets))
		batches[to] = append(batches[to], document(id, 0, l.texts.any(random)))
	}
	for to, documents := range batches {
		if len(documents) == 0 {
			continue
		}
		if _, err := into(l.targets[to]).InsertMany(ctx, documents, options.InsertMany().SetOrdered(false)); err != nil {
			return err
		}
	}
	return nil
}

// shard has the collections sharded by a hash of _id.
func (l *Load) shard(ctx context.Context) error {
	t := l.targets[0]
	if !t.router {
		return fmt.Errorf("%s is no mongos: only through one can collections be sharded", t.name)
	}
	admin := t.client.Database("admin")
	commands := []bson.D{{{Key: "enableSharding", Value: l.options.Database}}}
	for _, collection := range []*mongo.Collection{t.documents, t.copies} {
		commands = append(commands, bson.D{
			{Key: "shardCollection", Value: l.options.Database + "." + collection.Name()},
			{Key: "key", Value: bson.D{{Key: idField, Value: "hashed"}}},
		})
	}
	for _, command := range commands {
		if err := admin.RunCommand(ctx, command).Err(); err != nil {
			return fmt.Errorf("%s %v, which takes the right to shard collections: %w", command[0].Key, command[0].Value, err)
		}
	}
	return nil
}

// Close removes what the load has written and ends its connections. A database that has no other collections is
// gone then.
func (l *Load) Close(ctx context.Context) error {
	failed := make([]error, 0, len(l.targets)+1)
	for _, t := range l.targets {
		failed = append(failed, l.drop(ctx, t.documents, t.copies, t.marker))
	}
	return errors.Join(append(failed, l.disconnect(ctx))...)
}

// Leave ends the connections and leaves the documents. The next run removes them.
func (l *Load) Leave(ctx context.Context) error { return l.disconnect(ctx) }

func (l *Load) disconnect(ctx context.Context) error {
	// Connections are ended also when the caller's time is up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), disconnectTimeout)
	defer cancel()
	failed := make([]error, 0, len(l.targets))
	for _, t := range l.targets {
		failed = append(failed, t.close(ctx))
	}
	return errors.Join(failed...)
}
