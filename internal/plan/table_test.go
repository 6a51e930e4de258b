// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/builders"
)

// row is one snapshot and the action that has to follow from it.
type row struct {
	name     string
	snapshot *builders.Snapshot
	want     want
}

// want is what matters of an action; says is a part of its message. How long a primary stays away counts
// where a row gives it.
type want struct {
	kind      plan.Kind
	member    string
	reason    string
	says      string
	recreates bool
	stayAway  time.Duration
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			action := row.snapshot.Next()
			got := want{kind: action.Kind, member: action.Member, reason: action.Reason, says: row.want.says, recreates: action.Recreate}
			if row.want.stayAway != 0 {
				got.stayAway = action.StayAway
			}
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("another action than wanted (-want +got):\n%s\nits message: %s", diff, action.Message)
			}
			if !strings.Contains(action.Message, row.want.says) {
				t.Errorf("the message %q does not say %q", action.Message, row.want.says)
			}
			if action.Kind != plan.Nothing && action.Message == "" {
				t.Error("the action says nothing to the user")
			}
		})
	}
}

const (
	shard   = "demo-shard-0"
	config  = "demo-config"
	first   = "demo-shard-0-0" // the primary of the shard
	second  = "demo-shard-0-1"
	third   = "demo-shard-0-2"
	config0 = "demo-config-0" // the primary of the config servers
)

func cluster() *builders.Cluster { return builders.ShardedCluster() }

func TestBootstrap(t *testing.T) {
	check(t, []row{
		{
			name:     "a set whose members all belong to no set is initiated through its first member",
			snapshot: cluster().FirstSeen(),
			want:     want{kind: plan.Initiate, member: first, reason: v1alpha1.ReasonBootstrapping},
		},
		{
			name:     "a set is not initiated while one member does not answer",
			snapshot: cluster().FirstSeen().Where(third, builders.IsSilent).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonBuilding, says: "waiting for member " + third + ": i/o timeout"},
		},
		{
			name:     "a set is not initiated while one member has no pod",
			snapshot: cluster().FirstSeen().Where(second, builders.HasNoPod).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonBuilding, says: "its pod does not exist yet"},
		},
		{
			name:     "a set is not initiated when one member has data: it is joined",
			snapshot: cluster().FirstSeen().Where(second, builders.IsPrimary).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.CreateUsers, member: second, reason: v1alpha1.ReasonBootstrapping},
		},
		{
			name:     "a set is not initiated when one member recovers",
			snapshot: cluster().FirstSeen().Where(second, builders.IsRecovering).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers, says: "it belongs to no replica set"},
		},
		{
			name:     "a set of which nobody answers does not keep another from being initiated",
			snapshot: cluster().FirstSeen().WhereAll(shard, builders.IsSilent),
			want:     want{kind: plan.Initiate, member: config0, reason: v1alpha1.ReasonBootstrapping},
		},
		{
			name:     "a primary that does not know the operator is given the user",
			snapshot: cluster().InForce().WhereAll(shard, builders.IsLockedOut),
			want:     want{kind: plan.CreateUsers, member: first, reason: v1alpha1.ReasonBootstrapping},
		},
		{
			name:     "users are made on the primary only, so a set without one waits",
			snapshot: cluster().InForce().WhereAll(shard, builders.IsLockedOut, builders.IsSecondary),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers, says: "does not know the operator"},
		},
		{
			name:     "two members that claim to lead are taken for none",
			snapshot: cluster().InForce().Where(second, builders.IsPrimary),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonWaitingForMembers, says: "has no primary"},
		},
		{
			name:     "a shard that mongos does not list is added",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.ReplicaSets[0].Seen.Listed = false }),
			want:     want{kind: plan.AddShard, reason: v1alpha1.ReasonBootstrapping},
		},
		{
			name: "a shard is not added while no mongos answers",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) {
				c.ReplicaSets[0].Seen.Listed = false
				c.Mongos.Answered, c.Mongos.Error = false, "no mongos is ready"
			}),
			want: want{kind: plan.Wait, reason: v1alpha1.ReasonBootstrapping, says: "no mongos is ready"},
		},
		{
			name:     "a member that ended twice with the exit code of a refused file stalls the set",
			snapshot: cluster().FirstSeen().Where(third, builders.IsSilent, builders.Exited(2, 2)).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.Stall, member: third, reason: v1alpha1.ReasonMemberRefusesConfiguration, says: "exit code 2"},
		},
		{
			name:     "one such end may be a race with the volume",
			snapshot: cluster().FirstSeen().Where(third, builders.IsSilent, builders.Exited(2, 1)).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonBuilding},
		},
		{
			name:     "a member that was killed does not refuse its file",
			snapshot: cluster().FirstSeen().Where(third, builders.IsSilent, builders.Exited(137, 9)).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonBuilding},
		},
		{
			name:     "a member that answers again does not refuse its file, whatever it did before",
			snapshot: cluster().InForce().Where(third, builders.Exited(14, 5)),
			want:     want{kind: plan.Nothing, reason: v1alpha1.ReasonVerified},
		},
		{
			name:     "what Kubernetes says of a pod is told to the user",
			snapshot: cluster().FirstSeen().Where(third, builders.IsSilent, builders.IsInTrouble("container mongodb waits: ImagePullBackOff")).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonBuilding, says: "ImagePullBackOff"},
		},
		{
			name:     "a set that runs is tuned although another one is still being built",
			snapshot: cluster().InForce().Where(second, builders.NeedsSetting).WhereAll(config, builders.IsSilent),
			want:     want{kind: plan.SetParameters, member: second, reason: v1alpha1.ReasonApplying},
		},
	})
}

func TestEndOfTheJob(t *testing.T) {
	check(t, []row{
		{
			name:     "nothing is to do when everything is in force",
			snapshot: cluster().Shards(2).InForce(),
			want:     want{kind: plan.Nothing, reason: v1alpha1.ReasonVerified, says: "every declared value is in force and proved"},
		},
		{
			name:     "values of mongos are never called proved",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.DeclaresMongos = true }),
			want:     want{kind: plan.Nothing, reason: v1alpha1.ReasonVerified, says: "the values of mongos are in its file, and are not read back"},
		},
		{
			name:     "an application's user that the config servers refuse is given the password of its Secret",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.AppUnknown = true }),
			want:     want{kind: plan.CreateApp, member: config0, reason: v1alpha1.ReasonBootstrapping},
		},
		{
			name:     "an application's user that could not be checked is waited for",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.AppError = "i/o timeout" }),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonVerifying, says: "i/o timeout"},
		},
		{
			name:     "mongos that are not ready are waited for",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.Mongos.Ready = 0 }),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonBuilding, says: "0 of 1 mongos are ready"},
		},
		{
			name:     "mongos on an older template are waited for",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.Mongos.Updated = 0 }),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonRestarting, says: "0 of 1 mongos run on the newest template"},
		},
		{
			name:     "mongos that are ready and do not answer are waited for",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.Mongos.Answered, c.Mongos.Error = false, "no route" }),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonVerifying, says: "no route"},
		},
	})
}

func TestDrift(t *testing.T) {
	settled := func(c *plan.Cluster) { c.Settled = true }
	check(t, []row{
		{
			name:     "a value that was proved and changed by hand is set back, and told as drift",
			snapshot: cluster().InForce().But(settled).Where(second, builders.NeedsSetting),
			want:     want{kind: plan.SetParameters, member: second, reason: v1alpha1.ReasonCorrectingDrift, says: "changed by hand"},
		},
		{
			name:     "driftPolicy Report leaves it, and tells",
			snapshot: cluster().InForce().But(settled).But(func(c *plan.Cluster) { c.ReportDrift = true }).Where(second, builders.NeedsSetting),
			want:     want{kind: plan.Nothing, reason: v1alpha1.ReasonDriftReported, says: "driftPolicy Report"},
		},
		{
			name: "while a limit is breached it is left: it may be what on-call does against that",
			snapshot: cluster().InForce().But(settled).Where(second, builders.NeedsSetting).But(func(c *plan.Cluster) {
				c.Gauges = verify.ClusterGauges{Members: []verify.MemberGauges{{Member: first, Judgements: []verify.Judgement{{
					Limit: verify.Limit{Name: verify.LimitDirtyCache, Enforcement: v1alpha1.EnforcementEnforce}, Verdict: verify.Breached,
				}}}}}
			}),
			want: want{kind: plan.Nothing, reason: v1alpha1.ReasonDriftHeld, says: "while limit dirty-cache is breached"},
		},
		{
			name:     "driftPolicy Report does not hold up a declared change",
			snapshot: cluster().InForce().But(func(c *plan.Cluster) { c.ReportDrift = true }).Where(second, builders.NeedsSetting),
			want:     want{kind: plan.SetParameters, member: second, reason: v1alpha1.ReasonApplying},
		},
	})
}

func TestActionSaysWhatItIs(t *testing.T) {
	for kind := plan.Nothing; kind <= plan.ReplaceKeyFile; kind++ {
		if kind.String() == "" {
			t.Errorf("action %d has no name", kind)
		}
	}
	disturbing := map[plan.Kind]bool{plan.StepDown: true, plan.Restart: true, plan.ReplaceKeyFile: true}
	idle := map[plan.Kind]bool{plan.Nothing: true, plan.Wait: true, plan.Stall: true}
	for kind := plan.Nothing; kind <= plan.ReplaceKeyFile; kind++ {
		action := plan.Action{Kind: kind}
		if action.Disturbs() != disturbing[kind] {
			t.Errorf("%s disturbs a serving member: %t", kind, action.Disturbs())
		}
		if action.IsAct() == idle[kind] {
			t.Errorf("%s is an act: %t", kind, action.IsAct())
		}
	}
}

func contains(text, part string) bool { return strings.Contains(text, part) }
