// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"maps"
	"slices"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/scripted"
)

// Snapshot is a judged look at a cluster.
type Snapshot struct {
	plan.Cluster
}

// settlingSteps are more than any cluster of a test takes from nothing to everything in force.
const settlingSteps = 500

// Running is the cluster as Kubernetes and servers in memory play it, built and with everything in force.
func (c *Cluster) Running() *scripted.Cluster {
	cluster := scripted.NewCluster(c.Desired())
	for range settlingSteps {
		cluster.Tick()
		action := cluster.Next()
		if action.Kind == plan.Nothing {
			return cluster
		}
		if err := cluster.Perform(action); err != nil {
			panic("build the cluster of a test: " + err.Error())
		}
	}
	panic("the cluster of a test does not come about: " + cluster.Next().Message)
}

// InForce is a look at the cluster with everything in force.
func (c *Cluster) InForce() *Snapshot {
	running := c.Running()
	snapshot := &Snapshot{Cluster: running.Judged()}
	return snapshot.TrialsAre(observed.TrialPassed)
}

// TrialsAre tells how far the trial starts of the files are that are wanted.
func (s *Snapshot) TrialsAre(state observed.TrialState) *Snapshot {
	s.Trials = map[string]observed.Trial{}
	for _, set := range s.ReplicaSets {
		for _, member := range set.Seen.Members {
			file := desired.TrialConfig(set.ReplicaSet, plan.Fitting(set.Targets[member.Name].Settings, member.Pod.MemoryLimit))
			s.Trials[desired.FileID(file)] = observed.Trial{State: state, Message: "words of the server"}
		}
	}
	return s
}

// FirstSeen is the first look at the cluster: all pods run, and nothing is initiated.
func (c *Cluster) FirstSeen() *Snapshot {
	cluster := scripted.NewCluster(c.Desired())
	cluster.Tick()
	return &Snapshot{Cluster: cluster.Judged()}
}

// Clone is the same snapshot, of which nothing is shared with the first.
func (s *Snapshot) Clone() *Snapshot {
	clone := &Snapshot{Cluster: s.Cluster}
	clone.ReplicaSets = slices.Clone(s.ReplicaSets)
	for i := range clone.ReplicaSets {
		set := &clone.ReplicaSets[i]
		set.Verdicts, set.Targets, set.Health = maps.Clone(set.Verdicts), maps.Clone(set.Targets), maps.Clone(set.Health)
		set.Seen.Files = maps.Clone(set.Seen.Files)
		set.Seen.Members = slices.Clone(set.Seen.Members)
		for j := range set.Seen.Members {
			set.Seen.Members[j].Look.Peers = maps.Clone(set.Seen.Members[j].Look.Peers)
		}
	}
	return clone
}

// Next is the action that follows.
func (s *Snapshot) Next() plan.Action { return plan.Next(s.Cluster) }

// Set is one replica set of the snapshot.
func (s *Snapshot) Set(name string) *plan.ReplicaSet {
	for i := range s.ReplicaSets {
		if s.ReplicaSets[i].Name == name {
			return &s.ReplicaSets[i]
		}
	}
	panic("there is no replica set " + name)
}

// Fact is one thing about a member that is not as in a cluster with everything in force.
type Fact func(set *plan.ReplicaSet, member *observed.Member)

// Where makes facts hold for a member.
func (s *Snapshot) Where(name string, facts ...Fact) *Snapshot {
	for i := range s.ReplicaSets {
		set := &s.ReplicaSets[i]
		for j := range set.Seen.Members {
			if set.Seen.Members[j].Name != name {
				continue
			}
			for _, fact := range facts {
				fact(set, &set.Seen.Members[j])
			}
			return s
		}
	}
	panic("there is no member " + name)
}

// WhereAll makes facts hold for every member of a replica set.
func (s *Snapshot) WhereAll(set string, facts ...Fact) *Snapshot {
	for _, member := range s.Set(set).Seen.Members {
		s.Where(member.Name, facts...)
	}
	return s
}

// But changes the snapshot in a way that has no name of its own.
func (s *Snapshot) But(change func(*plan.Cluster)) *Snapshot {
	change(&s.Cluster)
	return s
}

// TemplateDiffers makes the wanted pod template of a replica set another one than the live one.
func (s *Snapshot) TemplateDiffers(set string) *Snapshot {
	s.Set(set).Seen.TemplateHash = "template of before"
	return s
}

// HasNoPod says that Kubernetes has not made the pod yet.
func HasNoPod(set *plan.ReplicaSet, member *observed.Member) {
	member.Pod = observed.Pod{}
	member.Look = observed.Look{}
	set.Verdicts[member.Name] = verify.Member{Unknown: "its pod does not exist"}
}

// IsSilent says that the pod runs and the server answers nothing.
func IsSilent(set *plan.ReplicaSet, member *observed.Member) {
	member.Look = observed.Look{Error: "i/o timeout"}
	set.Verdicts[member.Name] = verify.Member{Unknown: "i/o timeout"}
}

// IsBeingDeleted says that the pod has a deletion timestamp.
func IsBeingDeleted(_ *plan.ReplicaSet, member *observed.Member) { member.Pod.Terminating = true }

// IsNotReady says that the kubelet's probe says no.
func IsNotReady(_ *plan.ReplicaSet, member *observed.Member) { member.Pod.Ready = false }

// IsRecovering says that the server answers and cannot serve.
func IsRecovering(_ *plan.ReplicaSet, member *observed.Member) {
	member.Look.State = observed.StateOther
}

// IsPrimary says that the server claims to lead.
func IsPrimary(_ *plan.ReplicaSet, member *observed.Member) {
	member.Look.State, member.Look.LeadsFor = observed.StatePrimary, time.Hour
}

// IsSecondary says that the server follows.
func IsSecondary(_ *plan.ReplicaSet, member *observed.Member) {
	member.Look.State = observed.StateSecondary
}

// IsUninitiated says that the server belongs to no replica set.
func IsUninitiated(set *plan.ReplicaSet, member *observed.Member) {
	member.Look = observed.Look{State: observed.StateUninitiated, LockedOut: true}
	set.Verdicts[member.Name] = verify.Member{Unknown: "it is not part of a replica set yet"}
}

// IsLockedOut says that the server does not know the operator's user.
func IsLockedOut(set *plan.ReplicaSet, member *observed.Member) {
	member.Look = observed.Look{State: member.Look.State, LockedOut: true}
	set.Verdicts[member.Name] = verify.Member{Unknown: "it does not know the operator's user yet"}
}

// HasOldTemplate says that the pod was made from another template than the wanted one.
func HasOldTemplate(_ *plan.ReplicaSet, member *observed.Member) {
	member.Pod.TemplateHash = "template of before"
}

// HasOldKeyFile says that the pod was started with a key file that is lost.
func HasOldKeyFile(_ *plan.ReplicaSet, member *observed.Member) { member.Pod.KeyFileID = "lost key" }

// HasOldFile says that the member's configuration file is not the wanted one.
func HasOldFile(set *plan.ReplicaSet, member *observed.Member) {
	set.Seen.Files[member.Name] = "# file of before"
}

// HasFileWithCache says that the member's file asks for so much cache.
func HasFileWithCache(file string) Fact {
	return func(set *plan.ReplicaSet, member *observed.Member) {
		set.Seen.Files[member.Name] = "storage: {wiredTiger: {engineConfig: {cacheSizeGB: " + file + "}}}"
	}
}

// NeedsSetting says that a knob differs that can be set online.
func NeedsSetting(set *plan.ReplicaSet, member *observed.Member) {
	differs(set, member.Name, catalog.CacheSizeGB, v1alpha1.KnobMismatched, verify.Setting)
}

// NeedsRestart says that a knob differs that takes a restart.
func NeedsRestart(set *plan.ReplicaSet, member *observed.Member) {
	differs(set, member.Name, catalog.ServiceExecutor, v1alpha1.KnobPendingRestart, verify.Restarting)
}

// IsStuck says that a knob differs that nothing the operator does would bring into force.
func IsStuck(set *plan.ReplicaSet, member *observed.Member) {
	differs(set, member.Name, catalog.ServiceExecutor, v1alpha1.KnobMismatched, verify.NoCure)
}

func differs(set *plan.ReplicaSet, member, knob string, verdict v1alpha1.KnobVerdict, cure verify.Cure) {
	row, _ := catalog.Lookup(knob)
	judged := set.Verdicts[member]
	judged.Knobs = append(append([]verify.Knob{}, judged.Knobs...), verify.Knob{
		Knob: row, Verdict: verdict, Cure: cure, Wanted: "wanted", Found: "found", Evidence: "evidence", Declared: true,
	})
	set.Verdicts[member] = judged
}

// Lags says that in the eyes of everybody the member is so far behind.
func Lags(lag time.Duration) Fact {
	return seenBySet(func(peer *observed.Peer) { peer.OptimeDate = peer.OptimeDate.Add(-lag) })
}

// SendsNoHeartbeats says that nobody in the set hears of the member.
func SendsNoHeartbeats(set *plan.ReplicaSet, member *observed.Member) {
	seenBySet(func(peer *observed.Peer) { peer.Healthy = false })(set, member)
}

func seenBySet(change func(*observed.Peer)) Fact {
	return func(set *plan.ReplicaSet, member *observed.Member) {
		host := set.Hosts[member.Name]
		for _, other := range set.Seen.Members {
			if peer, known := other.Look.Peers[host]; known {
				change(&peer)
				other.Look.Peers[host] = peer
			}
		}
	}
}

// Exited says that the server ended by itself with a code, and was started again so often.
func Exited(code, restarts int32) Fact {
	return func(_ *plan.ReplicaSet, member *observed.Member) {
		member.Pod.Exited = &observed.Exit{Code: code, Restarts: restarts}
	}
}

// IsInTrouble says that Kubernetes says why the pod does not run.
func IsInTrouble(why string) Fact {
	return func(_ *plan.ReplicaSet, member *observed.Member) { member.Pod.Trouble = why }
}

// Runs says that the server answers with another version.
func Runs(version string) Fact {
	return func(_ *plan.ReplicaSet, member *observed.Member) {
		member.Look.Process.Version, _ = catalog.ParseVersion(version)
	}
}

// HasTheChange says that a change on its way has reached the member.
func HasTheChange(set *plan.ReplicaSet, member *observed.Member) {
	target := set.Targets[member.Name]
	target.Changed = true
	set.Targets[member.Name] = target
}

// Breaks says that a gauge of the member breaks a limit.
func Breaks(limit string) Fact {
	return func(set *plan.ReplicaSet, member *observed.Member) {
		set.Health[member.Name] = plan.Health{Breach: limit, BreachReason: v1alpha1.ReasonGaugeOutOfRange, Oplog: set.Health[member.Name].Oplog}
	}
}

// CannotBeMeasured says that a gauge of the member is not known.
func CannotBeMeasured(set *plan.ReplicaSet, member *observed.Member) {
	set.Health[member.Name] = plan.Health{Unknown: "two samples are needed", Oplog: set.Health[member.Name].Oplog}
}

// IsSilentFor says that the member has not answered for so long.
func IsSilentFor(silence time.Duration) Fact {
	return func(set *plan.ReplicaSet, member *observed.Member) {
		IsSilent(set, member)
		member.Silent = silence
	}
}
