// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

const (
	// batchSize and documentBytes make one insert command of 100 KB.
	batchSize     = 100
	documentBytes = 1000
)

// WriteWhile inserts documents over a number of connections as the members' own identity, until done
// returns. It returns when every writer has ended.
func (s *Server) WriteWhile(writers int, done func()) {
	s.t.Helper()
	client, err := mongo.Connect(s.clientOptions())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		// The server may be gone already.
		_ = client.Disconnect(ctx)
	})
	ctx, cancel := context.WithCancel(s.t.Context())
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() { insertUntil(ctx, s.t, client) })
	}
	done()
	cancel()
	writing.Wait()
}

func insertUntil(ctx context.Context, t testing.TB, client *mongo.Client) {
	batch := make(bson.A, batchSize)
	for i := range batch {
		batch[i] = bson.D{{Key: "text", Value: strings.Repeat("x", documentBytes)}}
	}
	for ctx.Err() == nil {
		// The writes of a load are those of clients that do not wait for a majority.
		command := bson.D{{Key: "insert", Value: "load"}, {Key: "documents", Value: batch}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: 1}}}}
		if err := client.Database("load").RunCommand(ctx, command).Err(); err != nil && ctx.Err() == nil {
			t.Errorf("insert: %v", err)
			return
		}
	}
}
