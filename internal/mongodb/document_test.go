// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

func decoded(t *testing.T, fields bson.D) document {
	t.Helper()
	raw, err := bson.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	d, err := documentOf(raw)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// One figure comes as a different type from one version to the next, and garbage is absent rather than zero.
func TestNumber(t *testing.T) {
	figure := func(n int64) *int64 { return &n }
	tests := []struct {
		name string
		sent any
		want *int64
	}{
		{name: "int32", sent: int32(7), want: figure(7)},
		{name: "int64", sent: int64(math.MaxInt64), want: figure(math.MaxInt64)},
		{name: "double", sent: 268435456.0, want: figure(268435456)},
		{name: "double with a fraction", sent: 2.9, want: figure(2)},
		{name: "zero", sent: int32(0), want: figure(0)},
		{name: "smallest double", sent: -0x1p63, want: figure(math.MinInt64)},
		{name: "double that does not fit", sent: 0x1p63, want: nil},
		{name: "not a number", sent: math.NaN(), want: nil},
		{name: "infinity", sent: math.Inf(1), want: nil},
		{name: "text", sent: "7", want: nil},
		{name: "null", sent: nil, want: nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := decoded(t, bson.D{{Key: "figure", Value: test.sent}})
			if diff := cmp.Diff(test.want, d.number("figure")); diff != "" {
				t.Errorf("number (-want +got):\n%s", diff)
			}
		})
	}
	if got := decoded(t, bson.D{}).number("figure"); got != nil {
		t.Errorf("an absent figure is %d", *got)
	}
}

func TestPlainValues(t *testing.T) {
	moment := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	got := decoded(t, bson.D{
		{Key: "document", Value: bson.D{{Key: "array", Value: bson.A{int32(1), "two", bson.D{{Key: "three", Value: 3.5}}}}}},
		{Key: "moment", Value: moment},
		{Key: "time", Value: bson.Timestamp{T: 5, I: 6}},
		{Key: "flag", Value: true},
		{Key: "nothing", Value: nil},
	})
	want := document{
		"document": map[string]any{"array": []any{int64(1), "two", map[string]any{"three": 3.5}}},
		"moment":   moment,
		"time":     Timestamp{Seconds: 5, Increment: 6},
		"flag":     true,
		"nothing":  nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestMomentThatNeverWas(t *testing.T) {
	d := decoded(t, bson.D{{Key: "optimeDate", Value: time.Unix(0, 0)}})
	if got := d.moment("optimeDate"); got != nil {
		t.Errorf("a member in its initial sync wrote at %s", got)
	}
}

// An answer that has none of the sections leaves every figure absent.
func TestServerStatusOfNothing(t *testing.T) {
	want := serverstatus.Status{Document: map[string]any{}}
	if diff := cmp.Diff(want, serverStatusOf(document{})); diff != "" {
		t.Errorf("figures out of nothing (-want +got):\n%s", diff)
	}
}

// Figures that moved are found in either place.
func TestServerStatusLayouts(t *testing.T) {
	const seconds = 30
	old := decoded(t, bson.D{
		{Key: "wiredTiger", Value: bson.D{
			{Key: "concurrentTransactions", Value: bson.D{{Key: "read", Value: bson.D{{Key: "totalTickets", Value: 128}}}}},
			{Key: "thread-yield", Value: bson.D{{Key: "application thread time evicting (usecs)", Value: 1}}},
			{Key: "transaction", Value: bson.D{
				{Key: "transaction checkpoints", Value: 5},
				{Key: "transaction checkpoint currently running", Value: 1},
				{Key: "transaction range of timestamps currently pinned", Value: int64(seconds<<32 | 7)},
			}},
		}},
		{Key: "metrics", Value: bson.D{{Key: "repl", Value: bson.D{{Key: "buffer", Value: bson.D{{Key: "sizeBytes", Value: 9}}}}}}},
	})
	recent := decoded(t, bson.D{
		{Key: "queues", Value: bson.D{{Key: "execution", Value: bson.D{{Key: "read", Value: bson.D{{Key: "totalTickets", Value: 128}}}}}}},
		{Key: "wiredTiger", Value: bson.D{
			{Key: "cache", Value: bson.D{{Key: "application thread time evicting (usecs)", Value: 1}}},
			{Key: "checkpoint", Value: bson.D{{Key: "total succeed number of checkpoints", Value: 5}, {Key: "progress state", Value: 1}}},
			{Key: "transaction", Value: bson.D{{Key: "transaction range of timestamps currently pinned", Value: float64(seconds << 32)}}},
		}},
		{Key: "metrics", Value: bson.D{{Key: "repl", Value: bson.D{{Key: "buffer", Value: bson.D{{Key: "apply", Value: bson.D{{Key: "sizeBytes", Value: 9}}}}}}}}},
	})
	for name, answer := range map[string]document{"up to 7.0": old, "8.0": recent} {
		t.Run(name, func(t *testing.T) {
			status := serverStatusOf(answer)
			got := map[string]*int64{
				"tickets": status.ReadTickets.Total, "evicting": status.Cache.ClientEvictionMicros, "checkpoints": status.Checkpoints.Count,
				"pinned": status.History.PinnedSeconds, "buffer": status.Replication.BufferBytes,
			}
			want := map[string]int64{"tickets": 128, "evicting": 1, "checkpoints": 5, "pinned": seconds, "buffer": 9}
			for figure, number := range want {
				if got[figure] == nil || *got[figure] != number {
					t.Errorf("%s: %v, want %d", figure, got[figure], number)
				}
			}
			if status.Checkpoints.IsRunning == nil || !*status.Checkpoints.IsRunning {
				t.Error("the checkpoint that is running was not seen")
			}
		})
	}
}

func TestReplicaSetStatus(t *testing.T) {
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	status := replicaSetStatusOf(decoded(t, bson.D{
		{Key: "set", Value: "rs0"}, {Key: "myState", Value: 1},
		{Key: "members", Value: bson.A{
			bson.D{{Key: "_id", Value: 0}, {Key: "name", Value: "a:1"}, {Key: "health", Value: 1.0}, {Key: "state", Value: 1}, {Key: "self", Value: true},
				{Key: "optime", Value: bson.D{{Key: "ts", Value: bson.Timestamp{T: 5, I: 6}}}}, {Key: "optimeDate", Value: at},
				{Key: "electionDate", Value: at.Add(-time.Minute)}},
			bson.D{{Key: "_id", Value: 1}, {Key: "name", Value: "b:1"}, {Key: "health", Value: 0.0}, {Key: "state", Value: 8},
				{Key: "stateStr", Value: "(not reachable/healthy)"}, {Key: "optimeDate", Value: time.Unix(0, 0)}, {Key: "syncingTo", Value: "a:1"}},
			bson.D{{Key: "_id", Value: 2}, {Key: "name", Value: "c:1"}, {Key: "health", Value: 1.0}, {Key: "state", Value: 77}},
		}},
	}))
	want := ReplicaSetStatus{State: Primary, ReplicaSet: "rs0", Members: []MemberStatus{
		{ID: 0, Address: "a:1", State: Primary, IsHealthy: true, IsSelf: true, Optime: Timestamp{Seconds: 5, Increment: 6}, OptimeDate: &at, ElectionDate: new(at.Add(-time.Minute))},
		{ID: 1, Address: "b:1", State: Down, SyncSource: "a:1"},
		{ID: 2, Address: "c:1", State: UnknownState, IsHealthy: true},
	}}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
