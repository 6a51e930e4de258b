// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/test/servers"
)

// BenchmarkServerStatus decodes what real servers answer to serverStatus, the largest answer of a look.
func BenchmarkServerStatus(b *testing.B) {
	for _, version := range servers.Versions() {
		b.Run(version, func(b *testing.B) {
			raw := answerOf(b, servers.Start(b, servers.Options{Version: version}))
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := mongodb.DecodeServerStatus(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func answerOf(b *testing.B, server *servers.Server) bson.Raw {
	b.Helper()
	client, err := mongo.Connect(options.Client().SetHosts([]string{server.Address}).SetDirect(true))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }() // the server ends with the benchmark
	raw, err := client.Database("admin").RunCommand(b.Context(), bson.D{{Key: "serverStatus", Value: 1}}).Raw()
	if err != nil {
		b.Fatal(err)
	}
	return raw
}
