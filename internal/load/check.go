// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Ledger is the comparison of what was acknowledged with what is there.
type Ledger struct {
	// WriteConcern of the writes: what less than a majority has acknowledged may be lost when a primary is.
	WriteConcern string `json:"writeConcern"`
	// Inserts and Updates that were tried and acknowledged, those of the preparation included.
	Inserts WriteCounts `json:"inserts"`
	Updates WriteCounts `json:"updates"`
	Findings
}

// Check reads every document from the primaries and compares it with what was acknowledged. Whatever wrote has to
// have ended. An error is one of reading; contradictions are in the ledger's Err.
func (l *Load) Check(ctx context.Context) (Ledger, error) {
	ledger := Ledger{WriteConcern: l.options.WriteConcern, Inserts: l.inserts.Counts(), Updates: l.updates.Counts()}
	var failed error
	documents := l.scan(ctx, func(t *target) *mongo.Collection { return t.documents }, &failed)
	copies := l.scan(ctx, func(t *target) *mongo.Collection { return t.copies }, &failed)
	ledger.Findings = l.updates.Check(documents).plus(l.inserts.Check(ids(copies)))
	if failed != nil {
		return ledger, fmt.Errorf("read the documents to compare them with what was acknowledged: %w", failed)
	}
	return ledger, nil
}

// scan reads a collection of every target. An error ends it and is kept.
func (l *Load) scan(ctx context.Context, of func(*target) *mongo.Collection, failed *error) iter.Seq[Counted] {
	return func(yield func(Counted) bool) {
		for _, t := range l.targets {
			fields := bson.D{{Key: countField, Value: 1}}
			cursor, err := of(t).Find(ctx, bson.D{}, options.Find().SetProjection(fields))
			if err != nil {
				*failed = err
				return
			}
			for err == nil && cursor.Next(ctx) {
				var document Counted
				if err = cursor.Decode(&document); err == nil && !yield(document) {
					break
				}
			}
			// The end of a cursor that was read is nothing to lose.
			defer func() { _ = cursor.Close(ctx) }()
			if err = errors.Join(err, cursor.Err()); err != nil {
				*failed = err
				return
			}
		}
	}
}

func ids(documents iter.Seq[Counted]) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for document := range documents {
			if !yield(document.ID) {
				return
			}
		}
	}
}

// CheckTimeout is a time that reading all documents hardly takes: a second for each 10000, and a minute.
func (o Options) CheckTimeout() time.Duration {
	return time.Minute + time.Duration(o.withDefaults().Documents/10_000)*time.Second
}
