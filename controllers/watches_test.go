// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mongotuning/mongotuning/internal/observed"
)

// seenMember is one that answers; the facts of a test make it otherwise.
func seenMember(name string, facts ...func(*observed.Member)) observed.Member {
	member := observed.Member{
		Name: name, Pod: observed.Pod{Exists: true, Ready: true, UID: name + "#1"},
		Look: observed.Look{State: observed.StateSecondary},
	}
	for _, fact := range facts {
		fact(&member)
	}
	return member
}

func silent(m *observed.Member)      { m.Look = observed.Look{Error: "it does not answer"} }
func answersHalf(m *observed.Member) { m.Look.Error = "serverStatus: it does not answer" }
func notReady(m *observed.Member)    { m.Pod.Ready = false }
func ending(m *observed.Member)      { m.Pod.Terminating = true }
func madeAnew(m *observed.Member)    { m.Pod.UID = "another" }

// looks lets a watch see looks, ten seconds apart, and returns what the last one missed that is no news.
func looks(members ...[]observed.Member) (missed []string, last observed.Cluster) {
	watch, key := watches{}, types.NamespacedName{Name: "demo"}
	for i, seen := range members {
		last = observed.Cluster{
			Now: time.Unix(int64(10*i), 0), Mongos: observed.Mongos{Answered: true, Ready: 1},
			ReplicaSets: []observed.ReplicaSet{{Members: seen}},
		}
		missed = watch.note(key, &last)
	}
	return missed, last
}

func TestOneMissedLookIsNoNews(t *testing.T) {
	answered := []observed.Member{seenMember("a"), seenMember("b")}
	for _, row := range []struct {
		name   string
		looks  [][]observed.Member
		missed []string
	}{
		{"everybody answers", [][]observed.Member{answered, answered}, nil},
		{"the first miss of a member that is ready is none", [][]observed.Member{answered, {seenMember("a", silent), seenMember("b")}}, []string{"a"}},
		{"half an answer is a miss too", [][]observed.Member{answered, {seenMember("a", answersHalf), seenMember("b")}}, []string{"a"}},
		{"the second miss is news", [][]observed.Member{answered, {seenMember("a", silent), seenMember("b")}, {seenMember("a", silent), seenMember("b")}}, nil},
		{"a miss of another one right after it is news", [][]observed.Member{answered, {seenMember("a", silent), seenMember("b")}, {seenMember("a"), seenMember("b", silent)}}, nil},
		{"a member that was never heard is news", [][]observed.Member{{seenMember("a", silent), seenMember("b")}}, nil},
		{"a member that Kubernetes calls not ready is news", [][]observed.Member{answered, {seenMember("a", silent, notReady), seenMember("b")}}, nil},
		{"a pod that is being deleted is news", [][]observed.Member{answered, {seenMember("a", silent, ending), seenMember("b")}}, nil},
		{"another pod of the name is news", [][]observed.Member{answered, {seenMember("a", silent, madeAnew), seenMember("b")}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if missed, _ := looks(row.looks...); !slices.Equal(missed, row.missed) {
				t.Errorf("missed without news: %v, wanted %v", missed, row.missed)
			}
		})
	}
}

func TestAMissedLookCountsAsSilence(t *testing.T) {
	_, last := looks([]observed.Member{seenMember("a")}, []observed.Member{seenMember("a", silent)}, []observed.Member{seenMember("a", silent)})
	if got := last.ReplicaSets[0].Members[0].Silent; got != 10*time.Second {
		t.Errorf("silent for %s, wanted 10 s since the first miss", got)
	}
}

// A server can take its whole grace period to end, which says nothing of the change it is restarted for.
func TestAServerOnItsWayDownIsNotSilent(t *testing.T) {
	down := []observed.Member{seenMember("a", silent, ending)}
	if _, last := looks([]observed.Member{seenMember("a")}, down, down, down); last.ReplicaSets[0].Members[0].Silent != 0 {
		t.Errorf("silent for %s while its pod is being deleted", last.ReplicaSets[0].Members[0].Silent)
	}
	starts := []observed.Member{seenMember("a", silent, madeAnew)}
	if _, last := looks([]observed.Member{seenMember("a")}, down, down, starts, starts); last.ReplicaSets[0].Members[0].Silent != 10*time.Second {
		t.Errorf("its successor is silent for %s, wanted 10 s since it is there", last.ReplicaSets[0].Members[0].Silent)
	}
}

func TestOneMissedLookOfMongosIsNoNews(t *testing.T) {
	watch, key := watches{}, types.NamespacedName{Name: "demo"}
	note := func(mongos observed.Mongos) []string { return watch.note(key, &observed.Cluster{Mongos: mongos}) }
	note(observed.Mongos{Answered: true, Ready: 2})
	if missed := note(observed.Mongos{Ready: 2}); !slices.Equal(missed, []string{routers}) {
		t.Errorf("the first miss is news: %v", missed)
	}
	if missed := note(observed.Mongos{Ready: 2}); missed != nil {
		t.Errorf("the second miss is no news: %v", missed)
	}
	note(observed.Mongos{Answered: true, Ready: 2})
	if missed := note(observed.Mongos{}); missed != nil {
		t.Errorf("that no mongos is ready is no news: %v", missed)
	}
}
