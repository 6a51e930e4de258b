// SPDX-License-Identifier: Apache-2.0

package observed_test

import (
	"testing"
	"time"

	"github.com/mongotuning/mongotuning/internal/observed"
)

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// set is a replica set of a primary and a secondary, in the eyes of the primary.
func set(primary, secondary observed.Peer) observed.ReplicaSet {
	return observed.ReplicaSet{Members: []observed.Member{
		{Name: "a", Look: observed.Look{State: observed.StatePrimary, Peers: map[string]observed.Peer{"a": primary, "b": secondary}}},
		{Name: "b", Look: observed.Look{State: observed.StateSecondary}},
	}}
}

func peer(state observed.State, behind time.Duration) observed.Peer {
	return observed.Peer{Healthy: true, State: state, OptimeDate: noon.Add(-behind)}
}

func precise(of observed.Peer, behind time.Duration) observed.Peer {
	of.LastApplied = noon.Add(-behind)
	return of
}

func TestLag(t *testing.T) {
	primary := peer(observed.StatePrimary, 0)
	unhealthy := peer(observed.StateSecondary, 0)
	unhealthy.Healthy = false
	leaderless := set(primary, peer(observed.StateSecondary, 0))
	leaderless.Members[0].Look.State = observed.StateSecondary
	twoLeaders := set(primary, peer(observed.StateSecondary, 0))
	twoLeaders.Members[1].Look.State = observed.StatePrimary
	for _, row := range []struct {
		name string
		set  observed.ReplicaSet
		host string
		want time.Duration
		ok   bool
	}{
		{"a secondary on the primary's last operation does not lag", set(primary, peer(observed.StateSecondary, 0)), "b", 0, true},
		{"a set in which nobody writes does not lag, however old its last operation", set(peer(observed.StatePrimary, time.Hour), peer(observed.StateSecondary, time.Hour)), "b", 0, true},
		{"a secondary is as far behind as its last operation is older", set(primary, peer(observed.StateSecondary, 7*time.Second)), "b", 7 * time.Second, true},
		{"a secondary that a stale heartbeat shows ahead does not lag", set(primary, peer(observed.StateSecondary, -2*time.Second)), "b", 0, true},
		{"milliseconds are used where both sides tell them", set(precise(primary, 0), precise(peer(observed.StateSecondary, time.Second), 300*time.Millisecond)), "b", 300 * time.Millisecond, true},
		{"seconds are used where one side does not tell more", set(primary, precise(peer(observed.StateSecondary, time.Second), 300*time.Millisecond)), "b", time.Second, true},
		{"the primary itself does not lag", set(primary, peer(observed.StateSecondary, 7*time.Second)), "a", 0, true},
		{"of a member without heartbeats nothing is known", set(primary, unhealthy), "b", 0, false},
		{"of a member without operations nothing is known", set(primary, observed.Peer{Healthy: true, State: observed.StateSecondary}), "b", 0, false},
		{"of a member that the primary does not list nothing is known", set(primary, peer(observed.StateSecondary, 0)), "c", 0, false},
		{"without a primary nothing is known", leaderless, "b", 0, false},
		{"with two that claim to lead nothing is known", twoLeaders, "b", 0, false},
		{"while the primary does not see itself leading nothing is known", set(peer(observed.StateSecondary, 0), peer(observed.StateSecondary, 0)), "b", 0, false},
		{"while the primary has no operation of its own nothing is known", set(observed.Peer{Healthy: true, State: observed.StatePrimary}, peer(observed.StateSecondary, 0)), "b", 0, false},
		{"in a set without members nothing is known", observed.ReplicaSet{}, "b", 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if lag, ok := row.set.Lag(row.host); lag != row.want || ok != row.ok {
				t.Errorf("%s, known %t; wanted %s, known %t", lag, ok, row.want, row.ok)
			}
		})
	}
}

func members(states ...observed.State) observed.ReplicaSet {
	set := observed.ReplicaSet{}
	for _, state := range states {
		set.Members = append(set.Members, observed.Member{Look: observed.Look{State: state}, Pod: observed.Pod{Exists: true}})
	}
	return set
}

func TestInitiation(t *testing.T) {
	for _, row := range []struct {
		name             string
		set              observed.ReplicaSet
		initiated, whole bool
	}{
		{"members that all belong to no set may be initiated", members(observed.StateUninitiated, observed.StateUninitiated), false, true},
		{"one silent member keeps the set from being initiated", members(observed.StateUninitiated, observed.StateUnknown), false, false},
		{"one member with data makes it a set", members(observed.StateUninitiated, observed.StateSecondary), true, false},
		{"one recovering member makes it a set", members(observed.StateUninitiated, observed.StateOther), true, false},
		{"silent members are no set", members(observed.StateUnknown), false, false},
		{"no members are no set", members(), false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.set.Initiated(); got != row.initiated {
				t.Errorf("Initiated is %t", got)
			}
			if got := row.set.UninitiatedWhole(); got != row.whole {
				t.Errorf("UninitiatedWhole is %t", got)
			}
		})
	}
}

func TestPrimary(t *testing.T) {
	if got := members(observed.StateSecondary, observed.StatePrimary); got.Primary() != &got.Members[1] {
		t.Error("the primary is not found")
	}
	if got := members(observed.StatePrimary, observed.StatePrimary); got.Primary() != nil {
		t.Error("of two that claim to lead one was chosen")
	}
}

func TestServes(t *testing.T) {
	serving := observed.Member{Pod: observed.Pod{Exists: true}, Look: observed.Look{State: observed.StateSecondary}}
	leaving, gone := serving, serving
	leaving.Pod.Terminating, gone.Pod.Exists = true, false
	recovering, silent := serving, serving
	recovering.Look.State, silent.Look.State = observed.StateOther, observed.StateUnknown
	for name, member := range map[string]observed.Member{"on its way out": leaving, "gone": gone, "recovering": recovering, "silent": silent} {
		if member.Serves() {
			t.Errorf("a member that is %s is said to serve", name)
		}
	}
	if !serving.Serves() {
		t.Error("a secondary is said not to serve")
	}
}
