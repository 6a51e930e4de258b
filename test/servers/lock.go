// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// lockTimeout bounds a lock or its end.
const lockTimeout = 30 * time.Second

// LockWhile keeps a server from writing anything until done returns, as a backup does that takes too long: it sends
// heartbeats and answers, and a secondary applies nothing. The lock ends with the test at the latest.
func (s *Server) LockWhile(done func()) {
	s.t.Helper()
	client, err := mongo.Connect(s.clientOptions())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		// The server may be gone already.
		_ = client.Disconnect(ctx)
	}()
	command := func(command bson.D) {
		s.t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
		defer cancel()
		if err := client.Database("admin").RunCommand(ctx, command).Err(); err != nil {
			s.t.Errorf("%s on %s: %v", command[0].Key, s.Address, err)
		}
	}
	command(bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}})
	defer command(bson.D{{Key: "fsyncUnlock", Value: 1}})
	done()
}

// clientOptions are those of a connection to this server alone, as the members' own identity.
func (s *Server) clientOptions() *options.ClientOptions {
	settings := options.Client().SetHosts([]string{s.Address}).SetDirect(true)
	if identity := s.Credentials(); identity.Username != "" {
		settings.SetAuth(options.Credential{
			AuthMechanism: "SCRAM-SHA-256", AuthSource: identity.Source, Username: identity.Username, Password: identity.Password,
		})
	}
	return settings
}
