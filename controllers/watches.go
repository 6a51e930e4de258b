// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// watches remember of each cluster since when this process watches it, and which servers answer. They are
// lost with the process on purpose: nobody watched in between.
type watches struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]*clusterWatch
}

type clusterWatch struct {
	// began is the time of the first look, now that of the last one.
	began, now time.Time
	// silence is since when each silent server is silent.
	silence map[string]time.Time
	// answered are the pods that answered the look before, by the name of the server.
	answered map[string]string
	// took is how long the last restart of a member took, by replica set.
	took map[string]time.Duration
	// stepDownRefused is when a primary last refused to step down.
	stepDownRefused time.Time
	// held tells that the look before was no news: it had a missed answer.
	held bool
}

// routers stands for all mongos together: one of them has to answer.
const routers = "mongos"

// note begins or keeps the watch over a cluster, and writes into the snapshot how long who is silent. It
// returns the servers whose silence is no news yet: Kubernetes calls their pods ready and they answered
// the look before, so that a busy moment explains it. After such a look the next one is news whatever is
// missed in it, so that servers which miss looks in turn do not blind the operator.
func (w *watches) note(key types.NamespacedName, seen *observed.Cluster) (missed []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clusters == nil {
		w.clusters = map[types.NamespacedName]*clusterWatch{}
	}
	before := w.clusters[key]
	if before == nil {
		before = &clusterWatch{began: seen.Now}
	}
	now := &clusterWatch{
		began: before.began, now: seen.Now, silence: map[string]time.Time{}, answered: map[string]string{},
		took: map[string]time.Duration{}, stepDownRefused: before.stepDownRefused,
	}
	for i := range seen.ReplicaSets {
		now.took[seen.ReplicaSets[i].Name] = cmp.Or(before.ended(seen.ReplicaSets[i], seen.Now), before.took[seen.ReplicaSets[i].Name])
		for j := range seen.ReplicaSets[i].Members {
			if member := &seen.ReplicaSets[i].Members[j]; now.follow(member, before) {
				missed = append(missed, member.Name)
			}
		}
	}
	if seen.Mongos.Answered {
		now.answered[routers] = routers
	} else if before.answered[routers] != "" && seen.Mongos.Ready > 0 {
		missed = append(missed, routers)
	}
	if before.held {
		missed = nil
	}
	now.held = len(missed) > 0
	w.clusters[key] = now
	return missed
}

// follow notes whether a member answers, and for how long it has not. missed tells that this is its first
// silence and that Kubernetes knows of no reason for it. A server on its way down is not silent, however
// long it takes: that says nothing of the change it is restarted for, and its successor has the whole time.
func (w *clusterWatch) follow(member *observed.Member, before *clusterWatch) (missed bool) {
	if member.Look.State == observed.StateUnknown && !member.Pod.Terminating {
		since, known := before.silence[member.Name]
		if !known {
			since = w.now
		}
		w.silence[member.Name] = since
		member.Silent = w.now.Sub(since)
	}
	if member.Look.State != observed.StateUnknown && member.Look.Error == "" {
		w.answered[member.Name] = member.Pod.UID
		return false
	}
	return member.Pod.Ready && !member.Pod.Terminating && before.answered[member.Name] == member.Pod.UID
}

// ended is how long a member was silent that answers again, 0 when there is none.
func (w *clusterWatch) ended(set observed.ReplicaSet, now time.Time) time.Duration {
	for _, member := range set.Members {
		if since, wasSilent := w.silence[member.Name]; wasSilent && member.Serves() {
			return now.Sub(since)
		}
	}
	return 0
}

// refuseStepDown notes that a primary refused to step down.
func (w *watches) refuseStepDown(key types.NamespacedName, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if watch := w.clusters[key]; watch != nil {
		watch.stepDownRefused = now
	}
}

// tell puts what is remembered into what a decision is made from.
func (w *watches) tell(key types.NamespacedName, cluster *plan.Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := w.clusters[key]
	if watch == nil {
		return
	}
	cluster.WatchedSince, cluster.StepDownRefused = watch.began, watch.stepDownRefused
	for i := range cluster.ReplicaSets {
		cluster.ReplicaSets[i].RestartTook = watch.took[cluster.ReplicaSets[i].Name]
	}
}

// forget ends the watch over a cluster.
func (w *watches) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clusters, key)
}

// missedLookError tells that a look is no news: servers that answered the look before missed this one.
type missedLookError struct {
	who []string
}

func (e *missedLookError) Error() string {
	return strings.Join(e.who, ", ") + " did not answer one look; looking again before anything is made of it"
}
