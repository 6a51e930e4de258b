// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/builders"
)

var (
	noon    = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	evening = noon.Add(6 * time.Hour)
)

const (
	shard  = "demo-shard-0"
	config = "demo-config"
	first  = "demo-shard-0-0"
	second = "demo-shard-0-1"
)

// breached is a limit of the gauge's own name that is broken on a member.
func breached(gauge v1alpha1.Gauge, member, found, bound string) verify.Judgement {
	return verify.Judgement{
		Limit:  verify.Limit{Name: string(gauge), Gauge: gauge, Enforcement: v1alpha1.EnforcementEnforce},
		Member: member, Verdict: verify.Breached, Found: found, BoundText: bound,
	}
}

// facts are those of a look at a snapshot, with the action that follows from it.
func facts(snapshot *builders.Snapshot) status.Facts {
	wanted := builders.ShardedCluster().Desired()
	return status.Facts{
		Now: noon, Generation: 7, Cluster: snapshot.Cluster, Resolved: wanted.Resolved, Revision: snapshot.Revision,
		Action: snapshot.Next(),
	}
}

func inForce() *builders.Snapshot { return builders.ShardedCluster().InForce() }

func suspended(facts status.Facts) status.Facts {
	facts.Suspended = true
	return facts
}

// line is a condition in one line, without times: "Ready=True Verified".
func line(conditions []metav1.Condition, name string) string {
	condition := meta.FindStatusCondition(conditions, name)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func TestConditions(t *testing.T) {
	for _, row := range []struct {
		name  string
		facts status.Facts
		// want are conditions by name; an empty text stands for one that is absent.
		want map[string]string
		says string
	}{
		{
			name:  "a cluster with everything in force is Ready and nothing else is to say",
			facts: facts(inForce()),
			want: map[string]string{
				v1alpha1.ConditionReady: "True Verified", v1alpha1.ConditionAvailable: "True AllMembersServe",
				v1alpha1.ConditionApplied: "True Applied", v1alpha1.ConditionVerified: "True Verified",
				v1alpha1.ConditionReconciling: "", v1alpha1.ConditionStalled: "", v1alpha1.ConditionSuspended: "", v1alpha1.ConditionRolledBack: "",
			},
		},
		{
			name:  "while work is under way Ready is Unknown and Reconciling says which",
			facts: facts(inForce().Where(second, builders.NeedsSetting)),
			want: map[string]string{
				v1alpha1.ConditionReady: "Unknown Applying", v1alpha1.ConditionReconciling: "True Applying",
				v1alpha1.ConditionVerified: "False KnobMismatch", v1alpha1.ConditionApplied: "False Applying",
			},
			says: "setting values online on " + second,
		},
		{
			name:  "a stall of the plan makes Ready False and ends Reconciling",
			facts: facts(inForce().Where(second, builders.IsStuck)),
			want: map[string]string{
				v1alpha1.ConditionReady: "False KnobMismatch", v1alpha1.ConditionStalled: "True KnobMismatch", v1alpha1.ConditionReconciling: "",
			},
			says: "something outside of the operator decides",
		},
		{
			name: "a refused spec makes Ready False and the members are judged all the same",
			facts: func() status.Facts {
				refused := facts(inForce())
				refused.Stall = &status.Stall{Reason: v1alpha1.ReasonInvalidTuning, Message: "tuning.cacheSizeGB: 9 is too much"}
				return refused
			}(),
			want: map[string]string{
				v1alpha1.ConditionReady: "False InvalidTuning", v1alpha1.ConditionStalled: "True InvalidTuning",
				v1alpha1.ConditionVerified: "True Verified", v1alpha1.ConditionAvailable: "True AllMembersServe",
			},
			says: "tuning.cacheSizeGB: 9 is too much",
		},
		{
			name:  "a spec that was refused from the start leaves everything else unknown",
			facts: status.Facts{Now: noon, Generation: 7, Stall: &status.Stall{Reason: v1alpha1.ReasonProfileNotFound, Message: "there is none"}},
			want: map[string]string{
				v1alpha1.ConditionReady: "False ProfileNotFound", v1alpha1.ConditionStalled: "True ProfileNotFound",
				v1alpha1.ConditionAvailable: "Unknown MembersUnknown", v1alpha1.ConditionApplied: "Unknown MembersUnknown",
				v1alpha1.ConditionVerified: "Unknown MembersUnknown",
			},
		},
		{
			name:  "a suspended object says so, and Ready is not touched",
			facts: suspended(facts(inForce().Where(second, builders.NeedsSetting))),
			want: map[string]string{
				v1alpha1.ConditionSuspended: "True SuspendedByUser", v1alpha1.ConditionReady: "", v1alpha1.ConditionReconciling: "",
				v1alpha1.ConditionVerified: "False KnobMismatch",
			},
		},
		{
			name:  "a replica set that answers and has no primary is not available",
			facts: facts(inForce().WhereAll(shard, builders.IsSecondary)),
			want:  map[string]string{v1alpha1.ConditionAvailable: "False NoPrimary"},
		},
		{
			name:  "a replica set that is not initiated yet is not available",
			facts: facts(builders.ShardedCluster().FirstSeen()),
			want:  map[string]string{v1alpha1.ConditionAvailable: "False NoPrimary", v1alpha1.ConditionReady: "Unknown Bootstrapping"},
		},
		{
			name:  "of a replica set that does not answer nothing is known",
			facts: facts(inForce().WhereAll(config, builders.IsSilent)),
			want:  map[string]string{v1alpha1.ConditionAvailable: "Unknown MembersUnknown", v1alpha1.ConditionVerified: "Unknown MembersUnknown"},
		},
		{
			name:  "without a mongos that answers applications cannot work",
			facts: facts(inForce().But(func(c *plan.Cluster) { c.Mongos = observed.Mongos{Wanted: 1, Error: "no mongos is ready"} })),
			want:  map[string]string{v1alpha1.ConditionAvailable: "False MongosUnavailable"},
		},
		{
			name:  "members that wait for a restart are counted",
			facts: facts(inForce().WhereAll(shard, builders.NeedsRestart)),
			want:  map[string]string{v1alpha1.ConditionApplied: "False RestartPending", v1alpha1.ConditionReconciling: "True Restarting"},
		},
		{
			name:  "a pod that does not exist leaves open whether everything is applied",
			facts: facts(inForce().Where(second, builders.HasNoPod)),
			want:  map[string]string{v1alpha1.ConditionApplied: "Unknown Building", v1alpha1.ConditionVerified: "Unknown MembersUnknown"},
		},
		{
			name:  "a value that differs weighs more than a member that is silent",
			facts: facts(inForce().Where(first, builders.IsSilent).Where(second, builders.NeedsSetting)),
			want:  map[string]string{v1alpha1.ConditionVerified: "False KnobMismatch"},
		},
		{
			name: "a change on its way is not applied everywhere",
			facts: facts(inForce().But(func(c *plan.Cluster) {
				c.Progress.Verified = "demo-before"
				c.Progress.Rollout = v1alpha1.RolloutStatus{Revision: c.Revision, Step: v1alpha1.StepCanarySoak, Canary: second}
			})),
			want: map[string]string{v1alpha1.ConditionApplied: "False Applying"},
		},
		{
			name: "every limit that is broken is told, with the member where it broke first",
			facts: facts(inForce().But(func(c *plan.Cluster) {
				c.Gauges = verify.ClusterGauges{Members: []verify.MemberGauges{
					{Member: first, Judgements: []verify.Judgement{breached(v1alpha1.GaugePinnedHistory, first, "12 s", "9 s")}},
					{Member: second, Judgements: []verify.Judgement{
						breached(v1alpha1.GaugeReplicationLag, second, "11 s", "10 s"), breached(v1alpha1.GaugePinnedHistory, second, "13 s", "9 s"),
					}},
				}}
			})),
			want: map[string]string{v1alpha1.ConditionVerified: "False PinnedHistoryAboveLimit"},
			says: "Pinned history of " + first + " was 12 s when it rose above the limit of 9 s; Replication lag of " + second + " was 11 s when it rose above the limit of 10 s",
		},
		{
			name: "a change that was taken back says so",
			facts: facts(inForce().But(func(c *plan.Cluster) {
				c.Progress.Verified = "demo-before"
				c.Progress.Rollout = v1alpha1.RolloutStatus{Revision: c.Revision, Step: v1alpha1.StepReturned, Canary: second, Breach: "dirty cache is 40 %"}
			})),
			want: map[string]string{v1alpha1.ConditionRolledBack: "True RolledBack", v1alpha1.ConditionStalled: "True RolledBack", v1alpha1.ConditionReady: "False RolledBack"},
			says: "dirty cache is 40 %",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			computed := status.Compute(v1alpha1.MongoTuningStatus{ObservedGeneration: -1}, row.facts)
			got := map[string]string{}
			said := false
			for name := range row.want {
				got[name] = line(computed.Conditions, name)
			}
			for _, condition := range computed.Conditions {
				said = said || strings.Contains(condition.Message, row.says)
				if condition.ObservedGeneration != 7 || condition.LastTransitionTime.Time != noon || condition.Message == "" {
					t.Errorf("%s lacks its generation, time or message: %+v", condition.Type, condition)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("other conditions than wanted (-want +got):\n%s", diff)
			}
			if !said {
				t.Errorf("no condition says %q", row.says)
			}
			if computed.ObservedGeneration != 7 {
				t.Errorf("observedGeneration is %d", computed.ObservedGeneration)
			}
		})
	}
}

func TestNothingChangesWhenNoFactDoes(t *testing.T) {
	for name, snapshot := range map[string]*builders.Snapshot{
		"everything in force": inForce(), "work under way": inForce().Where(second, builders.NeedsSetting),
		"a member away": inForce().Where(second, builders.IsSilent), "first look": builders.ShardedCluster().FirstSeen(),
	} {
		before := status.Compute(v1alpha1.MongoTuningStatus{}, facts(snapshot))
		later := facts(snapshot)
		later.Now = evening
		if diff := cmp.Diff(before, status.Compute(before, later)); diff != "" {
			t.Errorf("%s: the status changed although only time went by (-before +after):\n%s", name, diff)
		}
	}
}

func TestTransitionTimesOfWhatStaysAreKept(t *testing.T) {
	before := status.Compute(v1alpha1.MongoTuningStatus{}, facts(inForce()))
	later := facts(inForce().Where(second, builders.NeedsSetting))
	later.Now = evening
	after := status.Compute(before, later)
	for name, want := range map[string]time.Time{
		v1alpha1.ConditionAvailable: noon, v1alpha1.ConditionReady: evening, v1alpha1.ConditionVerified: evening, v1alpha1.ConditionReconciling: evening,
	} {
		if got := meta.FindStatusCondition(after.Conditions, name).LastTransitionTime.Time; !got.Equal(want) {
			t.Errorf("%s turned at %s, wanted %s", name, got, want)
		}
	}
}

func TestAbnormalConditionsGoAwayAgain(t *testing.T) {
	stalled := status.Compute(v1alpha1.MongoTuningStatus{}, suspended(facts(inForce().Where(second, builders.IsStuck))))
	reconciling := status.Compute(stalled, facts(inForce().Where(second, builders.NeedsSetting)))
	for _, name := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionSuspended} {
		if line(stalled.Conditions, name) == "" || line(reconciling.Conditions, name) != "" {
			t.Errorf("%s: first %q, then %q", name, line(stalled.Conditions, name), line(reconciling.Conditions, name))
		}
	}
	settled := status.Compute(reconciling, facts(inForce()))
	if line(reconciling.Conditions, v1alpha1.ConditionReconciling) == "" || line(settled.Conditions, v1alpha1.ConditionReconciling) != "" {
		t.Error("Reconciling does not come and go")
	}
}

func TestReadyStaysWhenSuspended(t *testing.T) {
	ready := status.Compute(v1alpha1.MongoTuningStatus{}, facts(inForce()))
	after := status.Compute(ready, suspended(facts(inForce().Where(second, builders.NeedsSetting))))
	if got := line(after.Conditions, v1alpha1.ConditionReady); got != "True Verified" {
		t.Errorf("Ready is %q", got)
	}
}

func TestRefusedSpecKeepsWhatIsInForce(t *testing.T) {
	before := status.Compute(v1alpha1.MongoTuningStatus{}, facts(inForce()))
	refused := status.Facts{Now: evening, Generation: 8, Stall: &status.Stall{Reason: v1alpha1.ReasonProfileNotFound, Message: "there is none"}}
	after := status.Compute(before, refused)
	if diff := cmp.Diff(before.Effective, after.Effective); diff != "" || after.Revisions.Current != before.Revisions.Current {
		t.Errorf("a refused spec changed what is said to be in force:\n%s", diff)
	}
	if diff := cmp.Diff(before.Members, after.Members); diff != "" {
		t.Errorf("a refused spec changed what is said of the members:\n%s", diff)
	}
}

func TestMembers(t *testing.T) {
	computed := status.Compute(v1alpha1.MongoTuningStatus{}, facts(builders.ShardedCluster().InForce().Where(second, builders.NeedsRestart)))
	if computed.ProvedMembers != "5/6" {
		t.Errorf("proved %s, wanted 5/6", computed.ProvedMembers)
	}
	want := v1alpha1.MemberStatus{
		Name: second, ReplicaSet: shard, Role: v1alpha1.MemberSecondary, Proved: 1, Declared: 2, PendingRestart: true,
		Mismatches: []v1alpha1.KnobMismatch{{Knob: "serviceExecutor", Verdict: v1alpha1.KnobPendingRestart, Wanted: "wanted", Found: "found", Evidence: "evidence"}},
	}
	if diff := cmp.Diff(want, computed.Members[1]); diff != "" {
		t.Errorf("other words on the member than wanted (-want +got):\n%s", diff)
	}
	silent := status.Compute(v1alpha1.MongoTuningStatus{}, facts(inForce().Where(second, builders.IsSilent))).Members[1]
	if silent.Role != v1alpha1.MemberUnknown || silent.Proved != 0 || silent.Declared != 1 {
		t.Errorf("a silent member is said to be %+v", silent)
	}
}

func TestReplicaSets(t *testing.T) {
	state := func(snapshot *builders.Snapshot, set int) string {
		computed := status.Compute(v1alpha1.MongoTuningStatus{}, facts(snapshot)).ReplicaSets[set]
		return string(computed.State) + " " + computed.Primary
	}
	for _, row := range []struct{ name, got, want string }{
		{"a shard that mongos lists is a member", state(inForce(), 0), "Member " + first},
		{"config servers are a member once they know the operator", state(inForce(), 1), "Member demo-config-0"},
		{"a set with silent members is being built", state(builders.ShardedCluster().FirstSeen().Where(second, builders.IsSilent), 0), "Building "},
		{"a set whose members all answer is being initiated", state(builders.ShardedCluster().FirstSeen(), 0), "Initiating "},
		{"a shard that mongos does not list is being added", state(inForce().But(func(c *plan.Cluster) { c.ReplicaSets[0].Seen.Listed = false }), 0), "Adding " + first},
	} {
		if row.got != row.want {
			t.Errorf("%s: %q, wanted %q", row.name, row.got, row.want)
		}
	}
}

func TestSettled(t *testing.T) {
	ready := status.Compute(v1alpha1.MongoTuningStatus{}, facts(inForce()))
	revision := ready.Revisions.Current
	for name, row := range map[string]struct {
		got, want bool
	}{
		"proved for this revision":              {status.Settled(ready, revision), true},
		"another revision is a declared change": {status.Settled(ready, "demo-other"), false},
		"nothing was ever proved":               {status.Settled(v1alpha1.MongoTuningStatus{}, revision), false},
		"work under way is not settled":         {status.Settled(status.Compute(ready, facts(inForce().Where(second, builders.NeedsSetting))), revision), false},
	} {
		if row.got != row.want {
			t.Errorf("%s: %t", name, row.got)
		}
	}
}
