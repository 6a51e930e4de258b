// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Judge turns what was seen into verdicts, and puts both beside what is wanted.
func Judge(cluster desired.Cluster, seen observed.Cluster) Cluster {
	judged := Cluster{
		Mongos: seen.Mongos, Version: cluster.Resolved.Version, KeyFileID: cluster.KeyFileID,
		Trials: seen.Trials, AppUnknown: seen.AppUnknown, AppError: seen.AppError,
	}
	for i, set := range desired.ReplicaSets(cluster.Tuning) {
		settings := cluster.Resolved.Settings[set.Component]
		judgedSet := ReplicaSet{
			ReplicaSet: set, Seen: seen.ReplicaSets[i], Settings: settings,
			TemplateHash: cluster.TemplateHash(set), Hosts: map[string]string{}, Verdicts: map[string]verify.Member{},
		}
		hosts := cluster.Hosts(set)
		for ordinal, member := range seen.ReplicaSets[i].Members {
			judgedSet.Hosts[member.Name] = hosts[ordinal]
			judgedSet.Verdicts[member.Name] = judgeMember(judgedSet, member)
		}
		judged.ReplicaSets = append(judged.ReplicaSets, judgedSet)
	}
	return judged
}

func judgeMember(set ReplicaSet, member observed.Member) verify.Member {
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
	fileIsCurrent := set.Seen.Files[member.Name] == desired.MemberConfig(set.ReplicaSet, Fitting(set.Settings, member.Pod.MemoryLimit))
	return verify.Member{Knobs: verify.Knobs(set.Component, set.Settings, fileIsCurrent, member.Look.Process)}
}
