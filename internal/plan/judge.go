// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Wanted is what a cluster is to be brought to, and what it stays at until a change reaches it.
type Wanted struct {
	// Cluster with the wanted revision, which Revision names.
	Cluster  desired.Cluster
	Revision string
	// Verified is the same cluster with the revision verified last; nil while there is none, or while it
	// is the wanted one.
	Verified *desired.Cluster
	// Progress is what is remembered of changes.
	Progress Progress
	// Hosts is what status remembers of the nodes.
	Hosts v1alpha1.HostTuningStatus
}

// At is the cluster as it is declared for a replica set now: with the wanted revision once a change has
// reached any of its members.
func (w Wanted) At(set desired.ReplicaSet) desired.Cluster {
	if w.Verified == nil || slices.ContainsFunc(set.Pods(), func(pod string) bool { return Reaches(w.Progress, set, pod) }) {
		return w.Cluster
	}
	return *w.Verified
}

// AtMongos is the cluster as it is declared for the routers now.
func (w Wanted) AtMongos() desired.Cluster {
	if w.Verified == nil || ReachesMongos(w.Progress) {
		return w.Cluster
	}
	return *w.Verified
}

// Judge turns what was seen into verdicts, and puts both beside what is wanted.
func Judge(want Wanted, seen observed.Cluster) Cluster {
	judged := Cluster{
		Mongos: seen.Mongos, Version: want.Cluster.Resolved.Version, KeyFileID: want.Cluster.KeyFileID,
		Trials: seen.Trials, AppUnknown: seen.AppUnknown, AppError: seen.AppError,
		Revision: want.Revision, Progress: want.Progress, Now: seen.Now,
	}
	for i, set := range desired.ReplicaSets(want.Cluster.Tuning) {
		judged.ReplicaSets = append(judged.ReplicaSets, judgeSet(want, set, seen.ReplicaSets[i]))
	}
	judged.First, judged.Restarts = differences(want)
	judged.Hosts = judgeHosts(want, seen)
	judged.HostWarnings = hostWarnings(want.Cluster.Tuning, judged.Hosts)
	judged.DeclaresMongos = len(want.Cluster.Resolved.Settings[v1alpha1.ComponentMongos]) > 0
	return judged
}

func judgeSet(want Wanted, set desired.ReplicaSet, seen observed.ReplicaSet) ReplicaSet {
	now := want.At(set)
	current := setIn(now, set)
	judged := ReplicaSet{
		ReplicaSet: current, Seen: seen, TemplateHash: now.TemplateHash(current),
		Hosts: map[string]string{}, Verdicts: map[string]verify.Member{}, Targets: map[string]Target{}, Health: map[string]Health{},
	}
	if limit := current.Resources.Limits.Memory; limit != nil {
		judged.MemoryLimit = limit.Value()
	}
	hosts := now.Hosts(current)
	changed, unchanged := want.targets(set)
	// Members differ in little, and their files take most of the time of a judgement.
	files := map[fileKey]string{}
	for ordinal, member := range seen.Members {
		judged.Hosts[member.Name] = hosts[ordinal]
		target := unchanged
		if want.Verified == nil || Reaches(want.Progress, set, member.Name) {
			target = changed
		}
		judged.Targets[member.Name] = target
		key := fileKey{target.Changed, member.Pod.MemoryLimit}
		if _, rendered := files[key]; !rendered {
			files[key] = desired.MemberConfig(current, Fitting(target.Settings, member.Pod.MemoryLimit))
		}
		judged.Verdicts[member.Name] = judgeMember(judged, member, files[key])
	}
	return judged
}

// fileKey is what the files of the members of one set differ by.
type fileKey struct {
	changed     bool
	memoryLimit int64
}

// targets are what members are held to that a change has reached, and those that it has not. The latter
// may already run on its pod template: whoever dies meanwhile comes back with the one the StatefulSet has.
func (w Wanted) targets(set desired.ReplicaSet) (changed, unchanged Target) {
	changed = Target{
		Settings: w.Cluster.Resolved.Settings[set.Component], Changed: w.Verified != nil,
		Templates: []string{w.Cluster.TemplateHash(set)},
	}
	if w.Verified == nil {
		return changed, changed
	}
	now := w.At(set)
	return changed, Target{
		Settings:  w.Verified.Resolved.Settings[set.Component],
		Templates: []string{w.Verified.TemplateHash(setIn(*w.Verified, set)), now.TemplateHash(setIn(now, set))},
	}
}

// setIn is a replica set with the resources it has in a cluster.
func setIn(cluster desired.Cluster, set desired.ReplicaSet) desired.ReplicaSet {
	sets := desired.ReplicaSets(cluster.Tuning)
	return sets[slices.IndexFunc(sets, func(other desired.ReplicaSet) bool { return other.Name == set.Name })]
}

// differences say with which step a change has to begin, and whether it restarts shard members.
func differences(want Wanted) (first v1alpha1.RolloutStep, restarts bool) {
	if want.Verified == nil {
		return "", false
	}
	before, after := want.Verified.Resolved.Settings, want.Cluster.Resolved.Settings
	sets := desired.ReplicaSets(want.Cluster.Tuning)
	shard, config := sets[0], sets[len(sets)-1]
	shardTemplate := want.Cluster.TemplateHash(shard) != want.Verified.TemplateHash(setIn(*want.Verified, shard))
	configTemplate := want.Cluster.TemplateHash(config) != want.Verified.TemplateHash(setIn(*want.Verified, config))
	switch {
	case shardTemplate || hostsDiffer(want) || !maps.Equal(before[v1alpha1.ComponentShardMember], after[v1alpha1.ComponentShardMember]):
		first = v1alpha1.StepCanary
	case configTemplate || !maps.Equal(before[v1alpha1.ComponentConfigServer], after[v1alpha1.ComponentConfigServer]):
		first = v1alpha1.StepConfigServers
	default:
		first = v1alpha1.StepMongos
	}
	return first, shardTemplate || anyNeedsRestart(before[v1alpha1.ComponentShardMember], after[v1alpha1.ComponentShardMember])
}

func anyNeedsRestart(before, after catalog.Settings) bool {
	for _, knob := range catalog.Knobs(v1alpha1.ComponentShardMember) {
		if before[knob.Name] != after[knob.Name] && knob.NeedsRestart() {
			return true
		}
	}
	return false
}

// judgeMember holds what a member reports to what it is held to; file is the one that it should have.
func judgeMember(set ReplicaSet, member observed.Member, file string) verify.Member {
	switch {
	case !member.Pod.Exists:
		return verify.Member{Unknown: "its pod does not exist"}
	case member.Look.LockedOut:
		return verify.Member{Unknown: "it does not know the operator's user yet"}
	case member.Look.Error != "":
		return verify.Member{Unknown: member.Look.Error}
	case member.Look.State == observed.StateUnknown || member.Look.State == observed.StateUninitiated:
		return verify.Member{Unknown: "it is not part of a replica set yet"}
	}
	fileIsCurrent := set.Seen.Files[member.Name] == file
	return verify.Member{Knobs: verify.Knobs(set.Component, set.Targets[member.Name].Settings, fileIsCurrent, member.Look.Process)}
}
