// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Fill inserts so many MiB of documents into a primary.
func (s *Server) Fill(mebibytes int) {
	s.t.Helper()
	client, err := mongo.Connect(s.clientOptions())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(s.t.Context()) }()
	const perBatch = 64
	batch := make([]any, perBatch)
	for i := range batch {
		batch[i] = bson.D{{Key: "body", Value: strings.Repeat("x", 1<<20/perBatch)}}
	}
	for range mebibytes {
		if _, err := client.Database("fill").Collection("documents").InsertMany(s.t.Context(), batch); err != nil {
			s.t.Fatal(err)
		}
	}
}
