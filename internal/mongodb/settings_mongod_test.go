// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/test/servers"
)

func TestSetParameter(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		member := servers.Start(t, servers.Options{Version: version}).Member()
		must(t, member.SetParameter(bounded(t), "ttlMonitorSleepSecs", 30))
		parameters, err := member.Parameters(bounded(t), "ttlMonitorSleepSecs")
		must(t, err)
		if diff := cmp.Diff(mongodb.Parameters{"ttlMonitorSleepSecs": int64(30)}, parameters); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
		for name, value := range map[string]any{"ttlMonitorSleepSecs": -1, "noSuchParameter": 1, "journalCommitInterval": 501} {
			if err := member.SetParameter(bounded(t), name, value); !errors.Is(err, mongodb.ErrBadValue) {
				t.Errorf("%s=%v: %v", name, value, err)
			}
		}
		parameters, err = member.Parameters(bounded(t), "noSuchParameter")
		must(t, err)
		if len(parameters) != 0 {
			t.Errorf("a parameter that does not exist: %v", parameters)
		}
	})
}

// A WiredTiger string that is refused may be in force in part, and sending the last good one puts that back.
func TestWiredTigerRuntimeConfig(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		member := servers.Start(t, servers.Options{Version: version}).Member()
		const good = "cache_size=300M,eviction_target=75,eviction_trigger=97,eviction=(threads_min=8,threads_max=12)"
		must(t, member.SetWiredTigerRuntimeConfig(bounded(t), good))
		awaitCache(t, member, 300, 8)

		const bad = "cache_size=200M,eviction=(threads_min=14,threads_max=8)"
		if err := member.SetWiredTigerRuntimeConfig(bounded(t), bad); !errors.Is(err, mongodb.ErrBadValue) {
			t.Errorf("a bad string: %v", err)
		}
		awaitCache(t, member, 200, 8)
		assertRuntimeConfig(t, member, good)

		must(t, member.SetWiredTigerRuntimeConfig(bounded(t), good))
		awaitCache(t, member, 300, 8)

		if err := member.SetWiredTigerRuntimeConfig(bounded(t), " "); !errors.Is(err, mongodb.ErrBadValue) {
			t.Errorf("an empty string: %v", err)
		}
		assertRuntimeConfig(t, member, good)
	})
}

func awaitCache(t *testing.T, member *mongodb.Member, megabytes, workers int64) {
	t.Helper()
	servers.Await(t, "the cache size and the workers", func(ctx context.Context) error {
		status, err := member.ServerStatus(ctx)
		if err != nil {
			return err
		}
		if got := *status.Cache.MaxBytes >> 20; got != megabytes {
			return fmt.Errorf("cache of %d MB, want %d", got, megabytes)
		}
		if got := *status.Cache.EvictionWorkers; got < workers {
			return fmt.Errorf("%d eviction workers, want %d", got, workers)
		}
		return nil
	})
}

func assertRuntimeConfig(t *testing.T, member *mongodb.Member, want string) {
	t.Helper()
	const name = "wiredTigerEngineRuntimeConfig"
	parameters, err := member.Parameters(bounded(t), name)
	must(t, err)
	if parameters[name] != want {
		t.Errorf("string in force: %v, want %s", parameters[name], want)
	}
}

func TestProfiling(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		member := servers.Start(t, servers.Options{Version: version}).Member()
		want := mongodb.Profiling{SlowMillis: 50, SampleRate: 0.5}
		must(t, member.SetProfiling(bounded(t), want))
		got, err := member.Profiling(bounded(t))
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
}

func TestLog(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		member := servers.Start(t, servers.Options{Version: version}).Member()
		for _, name := range []string{mongodb.LogGlobal, mongodb.LogStartupWarnings} {
			lines, err := member.Log(bounded(t), name)
			must(t, err)
			if name == mongodb.LogGlobal && len(lines) == 0 {
				t.Error("the log is empty")
			}
		}
	})
}

func TestAFullOplogIsTold(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := servers.StartReplicaSet(t, servers.Options{Version: version, Args: []string{"--oplogSize", "16"}}, 1).Servers[0]
		before, err := server.Member().OplogWindow(bounded(t))
		must(t, err)
		server.Fill(40)
		after, err := server.Member().OplogWindow(bounded(t))
		must(t, err)
		if before.IsFull() || !after.IsFull() {
			t.Errorf("before %+v, after 40 MiB %+v", before, after)
		}
	})
}

func TestOplog(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		member := servers.StartReplicaSet(t, servers.Options{Version: version}, 1).Servers[0].Member()
		window, err := member.OplogWindow(bounded(t))
		must(t, err)
		if window.First.Seconds == 0 || window.Duration() < 0 {
			t.Errorf("oplog window: %+v", window)
		}
		if window.Bytes <= 0 || window.MaxBytes < 10<<20 || window.IsFull() {
			t.Errorf("a new oplog: %+v", window)
		}
		must(t, member.ResizeOplog(bounded(t), mongodb.OplogSize{Megabytes: 1000}))
		hours := 1.0
		must(t, member.ResizeOplog(bounded(t), mongodb.OplogSize{Megabytes: 1000, MinRetentionHours: &hours}))
		if err := member.ResizeOplog(bounded(t), mongodb.OplogSize{Megabytes: 10}); !errors.Is(err, mongodb.ErrBadValue) {
			t.Errorf("an oplog below the smallest size: %v", err)
		}
	})
}
