// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"context"
	"testing"
	"time"

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
