// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
	"github.com/mongotuning/mongotuning/test/servers"
)

// The operator's own user sees everything a look asks for, on the primary and on a secondary.
func TestLook(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		set := servers.StartReplicaSet(t, withKey(version), 3)
		primary := set.Primary()
		bootstrap(t, primary.Member())
		for _, server := range set.Servers {
			member := server.MemberAs(credentialsOf(operator()))
			var answers mongodb.Answers
			servers.Await(t, "a complete look", func(ctx context.Context) error {
				answers = member.Look(ctx, "enableFlowControl", "noSuchParameter", "wiredTigerEngineRuntimeConfig")
				return answers.Err()
			})
			want := mongodb.Secondary
			if server == primary {
				want = mongodb.Primary
			}
			if answers.State() != want {
				t.Errorf("state of %s: %s, want %s", server.Address, answers.State(), want)
			}
			if answers.BuildInfo.Value.Version != version {
				t.Errorf("version %s, want %s", answers.BuildInfo.Value.Version, version)
			}
			wanted := mongodb.Parameters{"enableFlowControl": true, "wiredTigerEngineRuntimeConfig": ""}
			if diff := cmp.Diff(wanted, *answers.Parameters.Value); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
			assertReplicaSet(t, server, set, answers)
			assertServerStatus(t, version, *answers.ServerStatus.Value)
		}
	})
}

func assertReplicaSet(t *testing.T, server *servers.Server, set *servers.ReplicaSet, answers mongodb.Answers) {
	t.Helper()
	if got := answers.Hello.Value; got.ReplicaSet != set.Name || got.Me != server.Address || len(got.Hosts) != len(set.Servers) {
		t.Errorf("hello: %+v", got)
	}
	storage, _ := answers.CommandLine.Value.Parsed["storage"].(map[string]any)
	if storage["dbPath"] == nil || len(answers.CommandLine.Value.Arguments) == 0 {
		t.Errorf("command line: %+v", answers.CommandLine.Value)
	}
	config := answers.ReplicaSetConfig.Value
	if !config.Initialized || config.Name != set.Name || len(config.Members) != len(set.Servers) || config.Members[0].Priority != 1 {
		t.Errorf("config: %+v", config)
	}
	assertStatus(t, set, answers.ReplicaSetStatus.Value)
}

func assertStatus(t *testing.T, set *servers.ReplicaSet, status *mongodb.ReplicaSetStatus) {
	t.Helper()
	selves := 0
	for _, member := range status.Members {
		if member.OptimeDate == nil || member.State == "" || !member.IsHealthy {
			t.Errorf("member: %+v", member)
		}
		if isPrimary := member.State == mongodb.Primary; isPrimary != (member.ElectionDate != nil) {
			t.Errorf("%s is %s and was elected at %v", member.Address, member.State, member.ElectionDate)
		}
		if member.IsSelf {
			selves++
		} else if member.LastHeartbeat == nil {
			t.Errorf("no heartbeat from %s", member.Address)
		}
	}
	if selves != 1 || len(status.Members) != len(set.Servers) || status.LastAppliedWallTime == nil {
		t.Errorf("status: %+v", status)
	}
}

// figures are those that every member of every tested version shows.
func figures(s serverstatus.Status) map[string]*int64 {
	return map[string]*int64{
		"pid": s.Pid, "uptime": s.UptimeMillis,
		"cache max": s.Cache.MaxBytes, "cache used": s.Cache.UsedBytes, "cache dirty": s.Cache.DirtyBytes,
		"eviction workers": s.Cache.EvictionWorkers, "client evictions": s.Cache.PagesEvictedByClients,
		"dirty client evictions": s.Cache.DirtyPagesEvictedByClients,
		"client eviction time":   s.Cache.ClientEvictionMicros, "client wait": s.Cache.ClientWaitMicros,
		"goals missed": s.Cache.EvictionGoalsMissed, "client reads": s.Cache.ClientReads, "client read time": s.Cache.ClientReadMicros,
		"client writes": s.Cache.ClientWrites, "client write time": s.Cache.ClientWriteMicros,
		"written for checkpoints": s.Cache.BytesWrittenForCheckpoints, "written for eviction": s.Cache.BytesWrittenForEviction,
		"checkpoints": s.Checkpoints.Count, "checkpoint recent": s.Checkpoints.RecentMillis, "checkpoint max": s.Checkpoints.MaxMillis,
		"checkpoint min": s.Checkpoints.MinMillis, "checkpoint total": s.Checkpoints.TotalMillis,
		"pinned":        s.History.PinnedSeconds,
		"journal bytes": s.Journal.BytesWritten, "journal syncs": s.Journal.Syncs, "journal time": s.Journal.SyncMicros,
		"read tickets": s.ReadTickets.Total, "read tickets out": s.ReadTickets.Out, "read tickets available": s.ReadTickets.Available,
		"write tickets": s.WriteTickets.Total,
		"lagged count":  s.FlowControl.LaggedCount, "lagged time": s.FlowControl.LaggedMicros,
		"acquiring": s.FlowControl.AcquiringMicros, "rate limit": s.FlowControl.TargetRateLimit, "sustainer": s.FlowControl.SustainerRate,
		"reads": s.Reads.Operations, "read time": s.Reads.TotalMicros, "writes": s.Writes.Operations, "commands": s.Commands.Operations,
		"connections": s.Connections.Current, "available connections": s.Connections.Available,
		"created connections": s.Connections.TotalCreated, "active connections": s.Connections.Active,
		"bytes in": s.Network.BytesIn, "bytes out": s.Network.BytesOut, "requests": s.Network.Requests,
		"queue": s.Queue.Total, "queued readers": s.Queue.Readers, "queued writers": s.Queue.Writers, "active clients": s.ActiveClients.Total,
		"fetched": s.Replication.FetchedOperations, "fetched bytes": s.Replication.FetchedBytes, "getmores": s.Replication.GetMores,
		"getmore time": s.Replication.GetMoreMillis, "buffered": s.Replication.BufferedOperations, "buffer": s.Replication.BufferBytes,
		"buffer max": s.Replication.BufferMaxBytes, "applied": s.Replication.AppliedOperations, "batches": s.Replication.Batches,
		"batch time":  s.Replication.BatchMillis,
		"ttl deleted": s.TTL.DeletedDocuments, "ttl passes": s.TTL.Passes,
		"scanned": s.Queries.ScannedObjects, "scanned keys": s.Queries.ScannedKeys, "returned": s.Queries.ReturnedDocuments,
		"inserts": s.Operations.Insert, "replicated inserts": s.Replicated.Insert, "asserts": s.Asserts.User,
		"regular asserts": s.Asserts.Regular, "warnings": s.Asserts.Warning,
	}
}

func assertServerStatus(t *testing.T, version string, s serverstatus.Status) {
	t.Helper()
	for name, figure := range figures(s) {
		if figure == nil {
			t.Errorf("%s is absent", name)
		}
	}
	const cacheBytes = 256 << 20
	if size := s.Cache.MaxBytes; size != nil && *size != cacheBytes {
		t.Errorf("cache of %d bytes, want %d", *size, cacheBytes)
	}
	if len(s.Commands.Histogram) == 0 || s.LocalTime == nil || s.Process != "mongod" || s.Checkpoints.IsRunning == nil {
		t.Errorf("histogram %v, local time %v, process %q", s.Commands.Histogram, s.LocalTime, s.Process)
	}
	if s.SupportsCommittedReads == nil || !*s.SupportsCommittedReads || s.FlowControl.IsEnabled == nil || !*s.FlowControl.IsEnabled {
		t.Error("committed reads and flow control are on by default")
	}
	presence := map[string]bool{
		"updates": s.Cache.UpdatesBytes != nil, "history store": s.Cache.HistoryStoreBytes != nil,
		"collection scans": s.Queries.CollectionScans != nil,
		"executor":         s.Executor.Name != nil, "dedicated": s.Executor.Dedicated.ThreadsRunning != nil,
	}
	old, since44 := version < "5", version > "4.4"
	want := map[string]bool{
		"updates": since44, "history store": since44, "collection scans": since44,
		"executor": old, "dedicated": !old,
	}
	if diff := cmp.Diff(want, presence); diff != "" {
		t.Errorf("figures that depend on the version (-want +got):\n%s", diff)
	}
}

// Whoever does not answer is unreachable for every question, and no longer than the deadline.
func TestLookAtUnreachable(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		member, err := mongodb.Dial(servers.UnusedAddress(t), mongodb.Options{})
		must(t, err)
		assertUnreachable(within(t, time.Second), t, member)
	})
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := servers.Start(t, withKey(version))
		known, unknown := server.Member(), server.MemberAs(server.Credentials())
		must(t, known.Look(bounded(t)).Hello.Err)
		server.Freeze()
		assertUnreachable(within(t, time.Second), t, known)
		assertUnreachable(within(t, time.Second), t, unknown)
		server.Thaw()
		servers.Await(t, "an answer after the thaw", func(ctx context.Context) error { return known.Look(ctx).Hello.Err })
	})
}

// assertUnreachable relies on the test's own time limit to find a look that outlives its deadline.
func assertUnreachable(ctx context.Context, t *testing.T, member *mongodb.Member) {
	t.Helper()
	answers := member.Look(ctx, "enableFlowControl")
	for name, err := range map[string]error{
		"hello": answers.Hello.Err, "buildInfo": answers.BuildInfo.Err, "getCmdLineOpts": answers.CommandLine.Err,
		"getParameter": answers.Parameters.Err, "serverStatus": answers.ServerStatus.Err,
		"replSetGetStatus": answers.ReplicaSetStatus.Err, "replSetGetConfig": answers.ReplicaSetConfig.Err,
	} {
		if !errors.Is(err, mongodb.ErrUnreachable) || errors.Is(err, mongodb.ErrMaybeDone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if answers.ServerStatus.Value != nil || answers.ReplicaSetStatus.Value != nil || answers.State() != "" {
		t.Error("no answer became a value")
	}
}
