// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/test/servers"
)

// A cluster is bootstrapped over the network with nothing but the key file.
func TestBootstrap(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		set := servers.StartMembers(t, withKey(version), 1)
		server := set.Servers[0]
		member := server.Member()

		answers := member.Look(bounded(t), "enableFlowControl")
		must(t, answers.Err())
		if answers.State() != mongodb.NotYetInitialized || !answers.Hello.Value.IsUninitialized {
			t.Errorf("state before initiation: %q, hello %+v", answers.State(), answers.Hello.Value)
		}
		if answers.ReplicaSetConfig.Value.Initialized {
			t.Error("a configuration is seen before there is one")
		}

		must(t, member.Initiate(bounded(t), set.InitialConfig()))
		if err := member.Initiate(bounded(t), set.InitialConfig()); !errors.Is(err, mongodb.ErrAlreadyInitialized) {
			t.Errorf("initiate twice: %v", err)
		}
		set.AwaitWhole()
		bootstrap(t, member)
		bootstrap(t, member) // Every step is safe to repeat.

		for _, user := range []mongodb.User{operator(), application()} {
			assertAuthenticates(t, server, credentialsOf(user), true)
		}
		wrong := credentialsOf(operator())
		wrong.Password = "something else"
		assertAuthenticates(t, server, wrong, false)
		assertAuthenticates(t, server, mongodb.Credentials{Username: "nobody", Password: "x", Source: "admin"}, false)
	})
}

func assertAuthenticates(t *testing.T, server *servers.Server, credentials mongodb.Credentials, want bool) {
	t.Helper()
	can, err := mongodb.CanAuthenticate(bounded(t), server.Address, credentials)
	if err != nil || can != want {
		t.Errorf("%s authenticates: %t, %v; want %t", credentials, can, err, want)
	}
}

// Nothing that a failed authentication leaves behind shows what was tried.
func TestWrongPassword(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := servers.Start(t, withKey(version))
		const secret = "a-password-that-must-not-show"
		member := server.MemberAs(mongodb.Credentials{Username: "__system", Password: secret, Source: "local"})
		answers := member.Look(bounded(t), "enableFlowControl")
		for name, err := range map[string]error{
			"hello": answers.Hello.Err, "serverStatus": answers.ServerStatus.Err, "replSetGetStatus": answers.ReplicaSetStatus.Err,
			"getParameter": answers.Parameters.Err, "all": answers.Err(),
		} {
			if !errors.Is(err, mongodb.ErrAuthenticationFailed) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s shows the password", name)
			}
		}
		if answers.State() != "" {
			t.Errorf("state %q of a member that told nothing", answers.State())
		}
	})
}

// A password is changed with the members' own identity and not by the operator's user, and the old one is
// worth nothing afterwards.
func TestSetPassword(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		set := servers.StartReplicaSet(t, withKey(version), 1)
		server := set.Servers[0]
		bootstrap(t, server.Member())
		member := server.Member()

		changed := application()
		changed.Password = "rotated"
		if err := server.MemberAs(credentialsOf(operator())).SetPassword(bounded(t), changed.Name, changed.Password); !errors.Is(err, mongodb.ErrUnauthorized) {
			t.Errorf("the operator's user changes a password: %v", err)
		}
		must(t, member.SetPassword(bounded(t), changed.Name, changed.Password))
		assertAuthenticates(t, server, credentialsOf(changed), true)
		assertAuthenticates(t, server, credentialsOf(application()), false)

		for name, want := range map[string]bool{changed.Name: true, "nobody": false} {
			if has, err := member.HasUser(bounded(t), name); err != nil || has != want {
				t.Errorf("user %s: %t, %v", name, has, err)
			}
		}
	})
}
