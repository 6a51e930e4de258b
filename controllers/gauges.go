// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// gaugeMemory keeps what has to be compared between looks: earlier samples of each pod, and since when
// which gauge is out of range. It is lost with the process; what was recorded as a breach is in status.
type gaugeMemory struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]*clusterMemory
}

type clusterMemory struct {
	// histories by the UID of the pod, so that another pod of the same name starts anew.
	histories map[string]verify.History
	watches   map[verify.WatchKey]verify.Watch
	// peaks are the most connections that were open at once, by member: those who come to one pod come
	// to its successor.
	peaks map[string]int64
	// tracks are what is kept for means, by the UID of the pod.
	tracks map[string]verify.Track
}

// judge measures every member of a cluster and holds it to its limits.
func (m *gaugeMemory) judge(tuning *v1alpha1.MongoTuning, goal plan.Wanted, cluster plan.Cluster) verify.ClusterGauges {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clusters == nil {
		m.clusters = map[types.NamespacedName]*clusterMemory{}
	}
	key := client.ObjectKeyFromObject(tuning)
	before := m.clusters[key]
	if before == nil {
		before = &clusterMemory{}
	}
	after := &clusterMemory{histories: map[string]verify.History{}, peaks: map[string]int64{}, tracks: map[string]verify.Track{}}
	var subjects []verify.Subject
	for _, set := range cluster.ReplicaSets {
		for _, member := range set.Seen.Members {
			subject := verify.Subject{
				Now: cluster.Now, Set: set.Seen, Member: member, Host: set.Hosts[member.Name],
				Settings: set.Targets[member.Name].Settings, Line: goal.Cluster.Resolved.Version.Line(),
				Period: verify.Period(tuning.Spec.Verification), History: before.histories[member.Pod.UID],
				Before: verify.Before{
					Broken: cluster.Progress.Rollout.BreachedBefore, Baseline: cluster.Progress.Rollout.Baseline,
					AllowedPercent: cluster.Policy.AllowedWorsening,
				},
			}
			subject.PeakConnections = peakConnections(before.peaks[member.Name], member.Look)
			after.peaks[member.Name] = subject.PeakConnections
			subjects = append(subjects, subject)
			if member.Pod.Exists {
				after.histories[member.Pod.UID] = subject.History.Add(subject)
			}
		}
	}
	judged := verify.JudgeGauges(tuning.Spec.Verification, subjects, tuning.Status.Breaches, before.watches)
	after.watches = judged.Watches
	soakFrom := cluster.SoakSince()
	if !soakFrom.IsZero() {
		soakFrom = soakFrom.Add(verify.WarmUp(cluster.Policy.Soak))
	}
	for _, subject := range subjects {
		if uid := subject.Member.Pod.UID; uid != "" {
			role := status.Role(subject.Member.Look.State)
			after.tracks[uid] = before.tracks[uid].Add(cluster.Now, role, subject.Period, judged.Of(subject.Member.Name), soakFrom)
		}
	}
	m.clusters[key] = after
	return judged
}

// compare puts what the members showed before a change, and how the canary stands to its twins, into what
// a decision is made from. A canary is judged by its mean from the middle of its soak on.
func (m *gaugeMemory) compare(key types.NamespacedName, cluster *plan.Cluster, line catalog.Line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cluster.Baselines = map[string]v1alpha1.MemberBaseline{}
	compared := verify.Compared{
		Canary: cluster.Progress.Rollout.Canary, Baseline: cluster.Progress.Rollout.Baseline, Tracks: map[string]verify.Track{},
		AllowedPercent: cluster.Policy.AllowedWorsening, Line: line,
	}
	for _, set := range cluster.ReplicaSets {
		for _, member := range set.Seen.Members {
			track := m.clusters[key].tracks[member.Pod.UID]
			compared.Tracks[member.Name] = track
			cluster.Baselines[member.Name] = track.Baseline(member.Name)
		}
	}
	if since := cluster.SoakSince(); !since.IsZero() && cluster.Now.Sub(since) >= cluster.Policy.Soak/2 {
		cluster.Worse = compared.Worse()
	}
}

// wantsOplog tells that it is time to read what the oplog of a pod covers.
func (m *gaugeMemory) wantsOplog(podUID string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, cluster := range m.clusters {
		if history, known := cluster.histories[podUID]; known {
			return history.WantsOplog(now)
		}
	}
	return true
}

// forget drops what is kept of a cluster.
func (m *gaugeMemory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, key)
}

// peakConnections is the larger of the peak so far and what a look found; nobody answering leaves it.
func peakConnections(peak int64, look observed.Look) int64 {
	if look.Status == nil || look.Status.Connections.Current == nil {
		return peak
	}
	return max(peak, *look.Status.Connections.Current)
}
