// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/test/builders"
)

func TestStepsOfOneMember(t *testing.T) {
	check(t, []row{
		{
			name:     "the file comes before what can be set online, so that the member comes back with it",
			snapshot: cluster().InForce().Where(second, builders.HasOldFile, builders.NeedsSetting, builders.NeedsRestart),
			want:     want{kind: plan.WriteConfig, member: second, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "what can be set online comes before the restart",
			snapshot: cluster().InForce().Where(second, builders.NeedsSetting, builders.NeedsRestart),
			want:     want{kind: plan.SetParameters, member: second, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "a secondary with a pending restart is restarted",
			snapshot: cluster().InForce().Where(second, builders.NeedsRestart),
			want:     want{kind: plan.Restart, member: second, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "a secondary of another template is restarted",
			snapshot: cluster().InForce().Where(third, builders.HasOldTemplate),
			want:     want{kind: plan.Restart, member: third, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "the primary is asked to step down before its restart",
			snapshot: cluster().InForce().Where(first, builders.NeedsRestart),
			want:     want{kind: plan.StepDown, member: first, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "the only member of a set is restarted as it is: there is nobody to hand over to",
			snapshot: cluster().Members(1).InForce().Where(first, builders.NeedsRestart),
			want:     want{kind: plan.Restart, member: first, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "a member that runs another version than the declared one stalls",
			snapshot: cluster().InForce().Where(second, builders.Runs("4.4.3")),
			want:     want{kind: plan.Stall, member: second, reason: v1alpha1.ReasonVersionMismatch, says: "runs MongoDB 4.4.3, mongodb.version declares 4.4.2"},
		},
		{
			name:     "during a change of the patch version the older members are restarted",
			snapshot: cluster().InForce().WhereAll(shard, builders.Runs("4.4.1"), builders.HasOldTemplate),
			want:     want{kind: plan.Restart, member: second, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "a member whose value something else decides stalls rather than restart for ever",
			snapshot: cluster().InForce().Where(second, builders.IsStuck),
			want:     want{kind: plan.Stall, member: second, reason: v1alpha1.ReasonKnobMismatch, says: "something outside of the operator decides"},
		},
		{
			name:     "a member that does not serve and has another template is made anew",
			snapshot: cluster().InForce().Where(third, builders.IsSilent, builders.IsNotReady, builders.HasOldTemplate),
			want:     want{kind: plan.Recreate, member: third, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "a pod that is on its way out is not deleted again",
			snapshot: cluster().InForce().Where(third, builders.IsBeingDeleted, builders.HasOldTemplate),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers, says: "its pod is being deleted"},
		},
		{
			name:     "a member that does not serve and has the newest template is waited for",
			snapshot: cluster().InForce().Where(third, builders.IsRecovering),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers, says: "starting or recovering"},
		},
		{
			name:     "a member that lost its data is waited for and said to belong to no set",
			snapshot: cluster().InForce().Where(third, builders.IsUninitiated),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers, says: "it belongs to no replica set"},
		},
		{
			name:     "a member that ends at its start with the new file stalls the rollout",
			snapshot: cluster().InForce().Where(third, builders.IsSilent, builders.Exited(14, 2)),
			want:     want{kind: plan.Stall, member: third, reason: v1alpha1.ReasonMemberRefusesConfiguration},
		},
		{
			name:     "a member that ends at its start gets a corrected file",
			snapshot: cluster().InForce().Where(third, builders.IsSilent, builders.Exited(14, 2), builders.HasOldFile),
			want:     want{kind: plan.WriteConfig, member: third, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "a pod that is ready is left to run, although the operator gets no answer",
			snapshot: cluster().InForce().Where(third, builders.IsSilent, builders.HasOldTemplate),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers},
		},
		{
			name:     "so are all pods of a set that the operator cannot reach",
			snapshot: cluster().InForce().WhereAll(shard, builders.IsSilent, builders.HasOldTemplate),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers},
		},
		{
			name: "a shard of which nobody answers holds up the next one",
			snapshot: cluster().Shards(2).InForce().WhereAll(shard, builders.IsSilent, builders.IsNotReady).
				Where("demo-shard-1-1", builders.NeedsRestart),
			want: want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers},
		},
		{
			name: "but not its return",
			snapshot: cluster().Shards(2).InForce().WhereAll(shard, builders.IsSilent, builders.IsNotReady).
				Where("demo-shard-1-1", builders.NeedsRestart).But(func(c *plan.Cluster) {
				c.Progress = plan.Progress{Verified: "demo-before", Rollout: v1alpha1.RolloutStatus{
					Revision: c.Revision, Step: v1alpha1.StepReturning, Canary: "demo-shard-1-1", Breach: "dirty cache is 40 %",
				}}
			}),
			want: want{kind: plan.Restart, member: "demo-shard-1-1", reason: v1alpha1.ReasonRestarting},
		},
		{
			name: "nor does it keep the others from the new key file, without which it never answers again",
			snapshot: cluster().Shards(2).InForce().WhereAll(shard, builders.IsSilent, builders.IsNotReady).
				Where("demo-shard-1-1", func(_ *plan.ReplicaSet, member *observed.Member) { member.Pod.KeyFileID = "lost" }),
			want: want{kind: plan.ReplaceKeyFile, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "a pod that was ended once and is ready is not made anew with its file",
			snapshot: cluster().InForce().Where(third, builders.IsSilent, builders.Exited(0, 1), builders.HasOldFile),
			want:     want{kind: plan.WriteConfig, member: third, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "one that is not ready is",
			snapshot: cluster().InForce().Where(third, builders.IsSilent, builders.IsNotReady, builders.Exited(0, 1), builders.HasOldFile),
			want:     want{kind: plan.WriteConfig, member: third, reason: v1alpha1.ReasonApplying, recreates: true},
		},
		{
			name:     "and so does one whose set has nobody left who answers",
			snapshot: cluster().InForce().WhereAll(shard, builders.IsSilent, builders.IsNotReady, builders.Exited(14, 2), builders.HasOldFile),
			want:     want{kind: plan.WriteConfig, member: first, reason: v1alpha1.ReasonApplying, recreates: true},
		},
		{
			name: "config servers of which nobody answers get a corrected file as well",
			snapshot: cluster().InForce().WhereAll(config, builders.IsSilent, builders.IsNotReady, builders.Exited(14, 2), builders.HasOldFile).But(func(c *plan.Cluster) {
				c.Progress.Verified = c.Revision
			}),
			want: want{kind: plan.WriteConfig, member: config + "-0", reason: v1alpha1.ReasonApplying, recreates: true},
		},
		{
			name:     "a set that may never have been brought into being is only waited for",
			snapshot: cluster().InForce().WhereAll(shard, builders.IsSilent, builders.HasOldFile).But(func(c *plan.Cluster) { c.ReplicaSets[0].Seen.Listed = false }),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonBuilding},
		},
		{
			name:     "a member that serves and could not be judged is waited for",
			snapshot: cluster().InForce().Where(second, builders.IsLockedOut),
			want:     want{kind: plan.Wait, member: second, reason: v1alpha1.ReasonWaitingForMembers, says: "does not know the operator"},
		},
	})
}

func TestTrialStarts(t *testing.T) {
	untried := func(state observed.TrialState) *builders.Snapshot {
		return cluster().InForce().WhereAll(shard, builders.HasOldFile).TrialsAre(state)
	}
	check(t, []row{
		{
			name:     "no member gets a file with which no server has started",
			snapshot: untried(observed.TrialNone),
			want:     want{kind: plan.StartTrial, reason: v1alpha1.ReasonApplying, says: "before any member gets it"},
		},
		{
			name:     "members wait while the trial start is under way",
			snapshot: untried(observed.TrialRunning),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonApplying, says: "waiting for the trial start"},
		},
		{
			name:     "a file with which the server does not start stalls before any member is touched",
			snapshot: untried(observed.TrialFailed),
			want:     want{kind: plan.Stall, reason: v1alpha1.ReasonTrialStartFailed, says: "words of the server; no member was touched"},
		},
		{
			name:     "after a trial start that passed the members get the file",
			snapshot: untried(observed.TrialPassed),
			want:     want{kind: plan.WriteConfig, member: second, reason: v1alpha1.ReasonApplying},
		},
		{
			name: "a member whose file is lost gets it back without a trial",
			snapshot: cluster().InForce().TrialsAre(observed.TrialNone).Where(second, func(set *plan.ReplicaSet, member *observed.Member) {
				delete(set.Seen.Files, member.Name)
			}),
			want: want{kind: plan.WriteConfig, member: second, reason: v1alpha1.ReasonApplying},
		},
	})
}

func TestOrderOfMembers(t *testing.T) {
	check(t, []row{
		{
			name:     "whoever does not serve comes first: it is disturbed already",
			snapshot: cluster().InForce().WhereAll(shard, builders.HasOldFile).Where(third, builders.IsSilent),
			want:     want{kind: plan.WriteConfig, member: third, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "secondaries come before the primary",
			snapshot: cluster().InForce().WhereAll(shard, builders.HasOldFile),
			want:     want{kind: plan.WriteConfig, member: second, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "the primary comes last, wherever it sits",
			snapshot: cluster().InForce().WhereAll(shard, builders.HasOldFile).Where(first, builders.IsSecondary).Where(third, builders.IsPrimary),
			want:     want{kind: plan.WriteConfig, member: first, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "one member is finished before the next is begun",
			snapshot: cluster().InForce().Where(second, builders.NeedsRestart).Where(third, builders.HasOldFile),
			want:     want{kind: plan.Restart, member: second, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "shards come before the config servers",
			snapshot: cluster().InForce().Where(first, builders.HasOldFile).Where(config0, builders.HasOldFile),
			want:     want{kind: plan.WriteConfig, member: first, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "one shard is finished before the next is begun",
			snapshot: cluster().Shards(2).InForce().Where(first, builders.NeedsRestart).Where("demo-shard-1-1", builders.HasOldFile),
			want:     want{kind: plan.StepDown, member: first, reason: v1alpha1.ReasonRestarting},
		},
	})
}

func TestGatesOfARestart(t *testing.T) {
	waiting := func(says string) want {
		return want{kind: plan.Wait, member: second, reason: v1alpha1.ReasonWaitingForMembers, says: says}
	}
	restart := func() *builders.Snapshot { return cluster().InForce().Where(second, builders.NeedsRestart) }
	check(t, []row{
		{
			name:     "no restart while another member has no pod",
			snapshot: cluster().InForce().Where(second, builders.NeedsRestart).Where(third, builders.HasNoPod),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers, says: "its pod does not exist yet"},
		},
		{
			name:     "no restart while another member is not ready",
			snapshot: restart().Where(third, builders.IsNotReady),
			want:     waiting(third + " is not ready"),
		},
		{
			name:     "no restart while the primary hears nothing of another member",
			snapshot: restart().Where(third, builders.SendsNoHeartbeats),
			want:     waiting("the primary does not say how far " + third + " is"),
		},
		{
			name:     "a secondary ten seconds behind is near enough",
			snapshot: restart().Where(third, builders.Lags(10*time.Second)),
			want:     want{kind: plan.Restart, member: second, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "no restart while another secondary is eleven seconds behind",
			snapshot: restart().Where(third, builders.Lags(11*time.Second)),
			want:     waiting(third + " is 11s behind, the limit is 10s"),
		},
		{
			name:     "the lag of the member itself does not keep it from its restart",
			snapshot: restart().Where(second, builders.Lags(time.Hour)),
			want:     want{kind: plan.Restart, member: second, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "the primary does not step down while a secondary is behind",
			snapshot: cluster().InForce().Where(first, builders.NeedsRestart).Where(third, builders.Lags(11*time.Second)),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers, says: third + " is 11s behind"},
		},
		{
			name:     "no restart while another member is silent",
			snapshot: cluster().InForce().Where(second, builders.NeedsRestart).Where(third, builders.IsSilent),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers, says: "i/o timeout"},
		},
		{
			name:     "no restart while another pod is on its way out",
			snapshot: cluster().InForce().Where(second, builders.NeedsRestart).Where(third, builders.IsBeingDeleted),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers, says: "its pod is being deleted"},
		},
		{
			name:     "no restart while nobody leads",
			snapshot: cluster().InForce().WhereAll(shard, builders.IsSecondary, builders.NeedsRestart),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers, says: "the replica set has no primary"},
		},
		{
			name:     "trouble in one shard does not keep another from going on being watched: the first one is told",
			snapshot: cluster().Shards(2).InForce().Where(first, builders.IsSecondary).Where("demo-shard-1-1", builders.NeedsRestart),
			want:     want{kind: plan.Restart, member: "demo-shard-1-1", reason: v1alpha1.ReasonRestarting},
		},
	})
}

func TestLostKeyFile(t *testing.T) {
	check(t, []row{
		{
			name:     "members with a lost key file are all replaced at once: they cannot speak to the others",
			snapshot: cluster().InForce().Where(third, builders.HasOldKeyFile),
			want:     want{kind: plan.ReplaceKeyFile, reason: v1alpha1.ReasonRestarting, says: third + " has the lost one"},
		},
		{
			name:     "a pod with a lost key file that is on its way out needs no replacing",
			snapshot: cluster().InForce().Where(third, builders.HasOldKeyFile, builders.IsBeingDeleted),
			want:     want{kind: plan.Wait, member: third, reason: v1alpha1.ReasonWaitingForMembers},
		},
		{
			name:     "the key file comes before everything else, since nothing else works without",
			snapshot: cluster().InForce().Where(second, builders.HasOldFile).Where(third, builders.HasOldKeyFile),
			want:     want{kind: plan.ReplaceKeyFile, reason: v1alpha1.ReasonRestarting},
		},
	})
}

func TestPodTemplates(t *testing.T) {
	check(t, []row{
		{
			name:     "a template is written when every file fits under its memory limit",
			snapshot: cluster().InForce().TemplateDiffers(shard),
			want:     want{kind: plan.WriteTemplate, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "a template whose limit does not hold a member's cache waits until the file is smaller",
			snapshot: cluster().InForce().TemplateDiffers(shard).Where(third, builders.HasFileWithCache("1.7")),
			want:     want{kind: plan.WriteConfig, member: third, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "pods are not restarted for a template that is not written yet",
			snapshot: cluster().InForce().TemplateDiffers(shard).WhereAll(shard, builders.HasOldTemplate),
			want:     want{kind: plan.WriteTemplate, reason: v1alpha1.ReasonApplying},
		},
		{
			name:     "a file that cannot be read keeps the template from being written",
			snapshot: cluster().InForce().TemplateDiffers(shard).Where(third, func(set *plan.ReplicaSet, member *observed.Member) { set.Seen.Files[member.Name] = "{" }),
			want:     want{kind: plan.WriteConfig, member: third, reason: v1alpha1.ReasonApplying},
		},
	})
}

func TestActionsNameThePodThatWasSeen(t *testing.T) {
	for name, snapshot := range map[string]*builders.Snapshot{
		"restart":        cluster().InForce().Where(second, builders.NeedsRestart),
		"step down":      cluster().InForce().Where(first, builders.NeedsRestart),
		"set parameters": cluster().InForce().Where(second, builders.NeedsSetting),
		"write config":   cluster().InForce().Where(second, builders.HasOldFile),
		"recreate":       cluster().InForce().Where(second, builders.IsSilent, builders.IsNotReady, builders.HasOldTemplate),
	} {
		action := snapshot.Next()
		seen := ""
		for _, member := range snapshot.Set(action.ReplicaSet).Seen.Members {
			if member.Name == action.Member {
				seen = member.Pod.UID
			}
		}
		if diff := cmp.Diff(seen, action.PodUID); diff != "" || seen == "" {
			t.Errorf("%s does not name the pod that was seen (-want +got):\n%s", name, diff)
		}
	}
}

func TestSetParametersSendsTheWholeWiredTigerString(t *testing.T) {
	action := cluster().DirtyTrigger(30).InForce().Where(second, builders.NeedsSetting).Next()
	const wanted = "cache_size=1024M"
	if got := action.Changes.WiredTigerString; len(got) < len(wanted) || !contains(got, wanted) || !contains(got, "eviction_dirty_trigger=30") {
		t.Errorf("the string %q lacks what is declared", got)
	}
}
