// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package matrix

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/mongotuning/mongotuning/test/servers"
)

// connect is a plain client of one server, for questions that the operator itself never asks.
func connect(t *testing.T, server *servers.Server) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().SetHosts([]string{server.Address}).SetDirect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The server may be gone already.
		_ = client.Disconnect(context.WithoutCancel(t.Context()))
	})
	return client
}
