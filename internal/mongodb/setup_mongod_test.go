// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/test/servers"
)

// deadline bounds every command of the tests; no test depends on how long one takes.
const deadline = 30 * time.Second

func bounded(t *testing.T) context.Context {
	t.Helper()
	return within(t, deadline)
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func withKey(version string) servers.Options {
	return servers.Options{Version: version, KeyFile: servers.KeyFile}
}

func operator() mongodb.User {
	return mongodb.User{Name: "operator", Password: "operator's password", Roles: []string{mongodb.OperatorRoleName}}
}

func application() mongodb.User {
	return mongodb.User{Name: "app", Password: "application's password", Roles: []string{mongodb.AppRoleName}}
}

func credentialsOf(user mongodb.User) mongodb.Credentials {
	return mongodb.Credentials{Username: user.Name, Password: user.Password, Source: "admin"}
}

// bootstrap creates our roles and users on a primary, as the operator does.
func bootstrap(t *testing.T, primary *mongodb.Member) {
	t.Helper()
	for _, role := range []mongodb.Role{mongodb.OperatorRole(), mongodb.AppRole()} {
		must(t, primary.CreateOrUpdateRole(bounded(t), role))
	}
	for _, user := range []mongodb.User{operator(), application()} {
		must(t, primary.CreateOrUpdateUser(bounded(t), user))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rawClient is an ordinary client for what the package itself has no command for.
func rawClient(t *testing.T, server *servers.Server, credentials mongodb.Credentials) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().SetHosts([]string{server.Address}).SetDirect(true).SetAuth(options.Credential{
		AuthMechanism: "SCRAM-SHA-256", AuthSource: credentials.Source, Username: credentials.Username, Password: credentials.Password,
	}))
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// The server may be gone already.
		_ = client.Disconnect(ctx)
	})
	return client
}

// runAsMember runs an administrative command with the members' own identity.
func runAsMember(t *testing.T, server *servers.Server, command bson.D) {
	t.Helper()
	must(t, rawClient(t, server, server.Credentials()).Database("admin").RunCommand(bounded(t), command).Err())
}
