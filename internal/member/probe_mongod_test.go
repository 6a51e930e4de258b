// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package member_test

import (
	"context"
	"testing"
	"time"

	"github.com/mongotuning/mongotuning/internal/member"
	"github.com/mongotuning/mongotuning/test/servers"
)

// A member is started as soon as it answers, ready once it serves in its set, and neither while it is frozen.
func TestProbeOfMembers(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		set := servers.StartMembers(t, servers.Options{Version: version, KeyFile: servers.KeyFile}, 1)
		server := set.Servers[0]
		assertProbe(t, server, member.Started, true)
		assertProbe(t, server, member.Ready, false)

		if err := server.Member().Initiate(t.Context(), set.InitialConfig()); err != nil {
			t.Fatal(err)
		}
		set.AwaitWhole()
		assertProbe(t, server, member.Started, true)
		assertProbe(t, server, member.Ready, true)

		server.Freeze()
		assertProbe(t, server, member.Started, false)
		server.Thaw()
		server.Stop()
		assertProbe(t, server, member.Started, false)
	})
}

func TestProbeOfStandalone(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := servers.Start(t, servers.Options{Version: version})
		assertProbe(t, server, member.Started, true)
		assertProbe(t, server, member.Ready, false)
	})
}

func assertProbe(t *testing.T, server *servers.Server, question member.Question, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := member.Probe(ctx, server.Address, question); (err == nil) != want {
		t.Errorf("%s: %v, want %t", question, err, want)
	}
}
