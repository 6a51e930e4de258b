// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// What the operations of the stress test ask for.
const (
	// findInCount is how many documents find_in asks for.
	findInCount = 40
	// findLeast and findMost are how many documents find asks for.
	findLeast, findMost = 100, 10_100
)

// worker does operations one after the other.
type worker struct {
	load   *Load
	random *rand.Rand
}

func (l *Load) worker(thread int) *worker {
	return &worker{load: l, random: rand.New(rand.NewPCG(l.options.Seed+l.runs<<32, uint64(thread)))} //nolint:gosec // a load is no secret
}

// perform does one operation. The outcome has no latency yet: the caller knows when it should have begun.
func (w *worker) perform(ctx context.Context, operation Operation) outcome {
	done := outcome{operation: operation}
	switch operation {
	case FindFirst:
		_, done = w.findFirst(ctx, done)
	case FindIn:
		done.documents, done.err = w.findIn(ctx)
	case Find:
		done.documents, done.err = w.find(ctx)
	case FindUpdate:
		id, found := w.findFirst(ctx, done)
		done = found
		if done.err == nil {
			done = w.update(ctx, id, done)
		}
	case FindInsert:
		_, found := w.findFirst(ctx, done)
		done = found
		if done.err == nil {
			done = w.insertCopy(ctx, done)
		}
	case FindDelete:
		done = w.findDelete(ctx, done)
	case Update:
		done = w.update(ctx, w.load.chooser.choose(w.random), done)
	case BulkUpdate:
		done.documents, done.err = w.bulkUpdate(ctx)
	}
	return done
}

// home is where a document is.
func (w *worker) home(id int64) *target { return w.load.targets[route(id, len(w.load.targets))] }

func (w *worker) findFirst(ctx context.Context, done outcome) (int64, outcome) {
	id := w.load.chooser.choose(w.random)
	return id, readOne(ctx, w.home(id).documents, id, done)
}

func readOne(ctx context.Context, collection *mongo.Collection, id int64, done outcome) outcome {
	_, err := collection.FindOne(ctx, byID(id)).Raw()
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		done.missed = true
	case err != nil:
		done.err = err
	default:
		done.documents++
	}
	return done
}

func (w *worker) update(ctx context.Context, id int64, done outcome) outcome {
	w.load.updates.Try(id)
	result, err := w.home(id).documents.UpdateOne(ctx, byID(id), change(w.load.texts.any(w.random)))
	if err != nil {
		done.err = err
		return done
	}
	if result.MatchedCount == 0 {
		done.missed = true
		return done
	}
	w.load.updates.Acknowledge(id)
	done.documents++
	return done
}

func (w *worker) insertCopy(ctx context.Context, done outcome) outcome {
	id := w.load.inserts.Next()
	if _, err := w.home(id).copies.InsertOne(ctx, document(id, 0, w.load.texts.any(w.random))); err != nil {
		done.err = err
		return done
	}
	w.load.inserts.Acknowledge(id)
	done.documents++
	return done
}

// findDelete reads and deletes a copy. When there is none left it asks for one that does not exist, so that the
// work of asking stays the same, and tells so.
func (w *worker) findDelete(ctx context.Context, done outcome) outcome {
	id, exists := w.load.inserts.Take()
	done = readOne(ctx, w.home(id).copies, id, done)
	if done.err != nil || done.missed || !exists {
		return done
	}
	result, err := w.home(id).copies.DeleteOne(ctx, byID(id))
	if err != nil {
		done.err = err
		return done
	}
	if result.DeletedCount == 0 {
		done.missed = true
		return done
	}
	w.load.inserts.AcknowledgeDelete(id)
	done.documents++
	return done
}

// findIn asks each target for those of the documents that are there, as mongos does.
func (w *worker) findIn(ctx context.Context) (int, error) {
	wanted := make([]bson.A, len(w.load.targets))
	for _, id := range w.distinct(findInCount) {
		home := route(id, len(wanted))
		wanted[home] = append(wanted[home], id)
	}
	return w.fromAll(func(at int, t *target) (int, error) {
		if len(wanted[at]) == 0 {
			return 0, nil
		}
		filter := bson.D{{Key: idField, Value: bson.D{{Key: "$in", Value: wanted[at]}}}}
		return readAll(ctx, t.documents, filter, options.Find())
	})
}

// distinct chooses so many different documents, or as many as there are. What is popular is chosen first; when
// little else comes, the neighbours of what was chosen fill the list.
func (w *worker) distinct(count int) []int64 {
	count = int(min(int64(count), w.load.options.Documents))
	chosen := make([]int64, 0, count)
	known := make(map[int64]bool, count)
	for len(chosen) < count {
		id := w.load.chooser.choose(w.random)
		for known[id] {
			id = (id + 1) % w.load.options.Documents
		}
		known[id] = true
		chosen = append(chosen, id)
	}
	return chosen
}

// find asks every target for its share of the documents, as a query without the shard key does through mongos.
func (w *worker) find(ctx context.Context) (int, error) {
	after := w.random.Int64N(w.load.options.Documents)
	limit := findLeast + w.random.Int64N(findMost-findLeast+1)
	share := (limit + int64(len(w.load.targets)) - 1) / int64(len(w.load.targets))
	return w.fromAll(func(_ int, t *target) (int, error) {
		filter := bson.D{{Key: idField, Value: bson.D{{Key: "$gt", Value: after}}}}
		return readAll(ctx, t.documents, filter, options.Find().SetLimit(share))
	})
}

// fromAll asks all targets at the same time and adds up what they have.
func (w *worker) fromAll(ask func(at int, t *target) (int, error)) (int, error) {
	if len(w.load.targets) == 1 {
		return ask(0, w.load.targets[0])
	}
	counts := make([]int, len(w.load.targets))
	errs := make([]error, len(w.load.targets))
	var asking sync.WaitGroup
	for at, t := range w.load.targets {
		asking.Go(func() { counts[at], errs[at] = ask(at, t) })
	}
	asking.Wait()
	sum := 0
	for at, err := range errs {
		if err != nil {
			return 0, err
		}
		sum += counts[at]
	}
	return sum, nil
}

// readAll reads every document of an answer to its end.
func readAll(ctx context.Context, collection *mongo.Collection, filter bson.D, how options.Lister[options.FindOptions]) (int, error) {
	cursor, err := collection.Find(ctx, filter, how)
	if err != nil {
		return 0, err
	}
	// The end of an answer that was read is nothing to send.
	defer func() { _ = cursor.Close(ctx) }()
	count := 0
	for cursor.Next(ctx) {
		count++
	}
	return count, cursor.Err()
}

// bulkUpdate sends each target its part of the updates in one round trip.
func (w *worker) bulkUpdate(ctx context.Context) (int, error) {
	ids := make([][]int64, len(w.load.targets))
	for range w.load.options.Bulk {
		id := w.load.chooser.choose(w.random)
		home := route(id, len(ids))
		ids[home] = append(ids[home], id)
	}
	models := make([][]mongo.WriteModel, len(ids))
	for home := range ids {
		for _, id := range ids[home] {
			models[home] = append(models[home], mongo.NewUpdateOneModel().SetFilter(byID(id)).SetUpdate(change(w.load.texts.any(w.random))))
		}
	}
	return w.fromAll(func(at int, t *target) (int, error) {
		if len(ids[at]) == 0 {
			return 0, nil
		}
		w.load.updates.Try(ids[at]...)
		_, err := t.documents.BulkWrite(ctx, models[at], options.BulkWrite().SetOrdered(false))
		failed := failedWrites(err, len(ids[at]))
		var acknowledged []int64
		for place, id := range ids[at] {
			if !failed[place] {
				acknowledged = append(acknowledged, id)
			}
		}
		w.load.updates.Acknowledge(acknowledged...)
		return len(acknowledged), err
	})
}
