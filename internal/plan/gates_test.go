// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/builders"
	"github.com/mongotuning/mongotuning/test/scripted"
)

// ofChange is a look at a cluster of two shards of which a change has come to a step.
func ofChange(t *testing.T, step v1alpha1.RolloutStep, change *builders.Cluster) *builders.Snapshot {
	t.Helper()
	return (&builders.Snapshot{Cluster: travelling(t, step, change).Judged()}).Clone().TrialsAre(observed.TrialPassed)
}

// beginning is a look at a cluster of which a change is about to begin.
func beginning(change *builders.Cluster) *builders.Snapshot {
	running := cluster().Shards(2).Running()
	running.Desired = change.Desired()
	return (&builders.Snapshot{Cluster: running.Judged()}).Clone()
}

func moves(from, to string) func(*plan.Cluster) {
	return func(c *plan.Cluster) {
		config := c.ReplicaSets[len(c.ReplicaSets)-1].Seen.Primary()
		config.Look.Migrations = []observed.Migration{{Namespace: "shop.orders", From: from, To: to}}
	}
}

func keepsOplog(window time.Duration) builders.Fact {
	return func(set *plan.ReplicaSet, member *observed.Member) {
		health := set.Health[member.Name]
		health.Oplog = window
		set.Health[member.Name] = health
	}
}

func TestPreflight(t *testing.T) {
	waits := func(reason, says string) want { return want{kind: plan.Wait, reason: reason, says: says} }
	begins := want{kind: plan.Turn, reason: v1alpha1.ReasonApplying, says: "goes to the canary " + second + " first"}
	initialSync := func(set *plan.ReplicaSet, member *observed.Member) {
		builders.IsRecovering(set, member)
		member.Look.InInitialSync = true
	}
	check(t, []row{
		{name: "a change begins when nothing speaks against it", snapshot: beginning(restarting()), want: begins},
		{
			name: "a change does not begin while a member is in initial sync", snapshot: beginning(online()).Where("demo-shard-1-2", initialSync),
			want: waits(v1alpha1.ReasonWaitingForMembers, "demo-shard-1-2 does not serve (it is in initial sync)"),
		},
		{
			name: "a change does not begin while its canary is behind", snapshot: beginning(online()).Where(second, builders.Lags(11*time.Second)),
			want: waits(v1alpha1.ReasonWaitingForMembers, second+" is 11s behind"),
		},
		{
			name: "a change does not begin while a chunk moves to the shard of its canary", snapshot: beginning(online()).But(moves("demo-shard-1", shard)),
			want: waits(v1alpha1.ReasonWaitingForMigration, "a chunk of shop.orders moves from demo-shard-1 to "+shard),
		},
		{
			name: "a chunk that moves elsewhere keeps nobody", snapshot: beginning(online()).But(moves("demo-shard-1", "demo-shard-2")), want: begins,
		},
		{
			name: "that it is not known whether chunks move opens nothing",
			snapshot: beginning(online()).But(func(c *plan.Cluster) {
				c.ReplicaSets[len(c.ReplicaSets)-1].Seen.Primary().Look.MigrationsError = "it does not answer"
			}),
			want: waits(v1alpha1.ReasonWaitingForMigration, "it is not known whether chunks move"),
		},
		{
			name: "a change that restarts does not begin while an oplog is too short", snapshot: beginning(restarting()).Where(third, keepsOplog(20*time.Minute-time.Second)),
			want: waits(v1alpha1.ReasonWaitingForOplog, "the oplog of "+third+" reaches back 19m59s, a restart needs 20m0s"),
		},
		{name: "an oplog of exactly what is needed will do", snapshot: beginning(restarting()).Where(third, keepsOplog(20*time.Minute)), want: begins},
		{
			name: "an oplog that could not be read opens nothing", snapshot: beginning(restarting()).Where(third, keepsOplog(0)),
			want: waits(v1alpha1.ReasonWaitingForOplog, "it is not known how far the oplog of "+third+" reaches back"),
		},
		{name: "what is set online needs no oplog", snapshot: beginning(online()).Where(third, keepsOplog(0)), want: begins},
		{
			name:     "a restart that was measured counts more than what is assumed",
			snapshot: beginning(restarting()).Where(third, keepsOplog(30*time.Minute)).But(func(c *plan.Cluster) { c.ReplicaSets[0].RestartTook = 10 * time.Minute }),
			want:     waits(v1alpha1.ReasonWaitingForOplog, "a restart needs 40m0s: 4 times the 10m0s"),
		},
		{
			name:     "a change waits until its baseline is known",
			snapshot: beginning(online()).But(func(c *plan.Cluster) { c.WatchedSince, c.BaselineTime = c.Now.Add(-29*time.Second), 30*time.Second }),
			want:     waits(v1alpha1.ReasonWaitingForMembers, "it looks for 30s first"),
		},
		{
			name:     "the primary does not step down while a chunk moves from its shard",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()).But(moves(shard, "demo-shard-1")),
			want:     want{kind: plan.Wait, member: second, reason: v1alpha1.ReasonWaitingForMigration, says: "waits to lead: a chunk of shop.orders moves"},
		},
		{
			name:     "a primary that refused to step down is left alone for a minute",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()).But(func(c *plan.Cluster) { c.StepDownRefused = c.Now.Add(-59 * time.Second) }),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonStepDownRefused, says: "asked again after 1m0s"},
		},
		{
			name:     "and is then asked again",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()).But(func(c *plan.Cluster) { c.StepDownRefused = c.Now.Add(-time.Minute) }),
			want:     want{kind: plan.StepDown, member: first, reason: v1alpha1.ReasonRestarting},
		},
		{
			name:     "a primary that was elected just now leads for a while before it is asked",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()).Where(first, leadsFor(19*time.Second)),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers, says: first + " was elected less than 20s ago"},
		},
		{
			name:     "whoever hands over may be elected again soon",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()),
			want:     want{kind: plan.StepDown, member: first, reason: v1alpha1.ReasonRestarting, stayAway: 20 * time.Second},
		},
		{
			name: "unless the canary has waited for a minute to lead",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()).But(func(c *plan.Cluster) {
				c.Progress.Rollout.Since = new(metav1.NewTime(c.Now.Add(-61 * time.Second)))
			}),
			want: want{kind: plan.StepDown, member: first, reason: v1alpha1.ReasonRestarting, stayAway: time.Minute},
		},
		{
			name:     "nobody is asked of whom it is not known since when it leads",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()).Where(first, leadsFor(0)),
			want:     want{kind: plan.Wait, member: first, reason: v1alpha1.ReasonWaitingForMembers, says: "it is not known since when " + first + " leads"},
		},
		{
			name:     "after that it is asked",
			snapshot: ofChange(t, v1alpha1.StepCanaryLeads, restarting()).Where(first, leadsFor(20*time.Second)),
			want:     want{kind: plan.StepDown, member: first, reason: v1alpha1.ReasonRestarting},
		},
	})
}

func leadsFor(span time.Duration) func(*plan.ReplicaSet, *observed.Member) {
	return func(_ *plan.ReplicaSet, member *observed.Member) { member.Look.LeadsFor = span }
}

func TestWindowsAndSlots(t *testing.T) {
	closed := func(c *plan.Cluster) { c.ClosedUntil = time.Date(2026, time.January, 2, 2, 0, 0, 0, time.UTC) }
	full := func(c *plan.Cluster) { c.NoSlot = "at most 1 objects roll out at once, now shop/other" }
	soak := func() *builders.Snapshot { return ofChange(t, v1alpha1.StepCanarySoak, online()) }
	check(t, []row{
		{
			name: "a closed window keeps a change from beginning and says when it opens", snapshot: beginning(online()).But(closed),
			want: want{kind: plan.Wait, reason: v1alpha1.ReasonWaitingForWindow, says: "the next window opens at 2026-01-02 02:00 UTC"},
		},
		{
			name: "the proceed annotation opens it", snapshot: beginning(online()).But(closed).But(func(c *plan.Cluster) { c.Proceed = true }),
			want: want{kind: plan.Turn, reason: v1alpha1.ReasonApplying},
		},
		{
			name: "a change that has begun goes on when its window closes", snapshot: soak().But(closed).But(func(c *plan.Cluster) { c.WatchedSince, c.Progress.Rollout.Since = time.Time{}, nil }),
			want: want{kind: plan.Turn, reason: v1alpha1.ReasonApplying},
		},
		{
			name: "a return asks no window", snapshot: soak().But(closed).Where(second, builders.Breaks("lag is 40 s")),
			want: want{kind: plan.Turn, reason: v1alpha1.ReasonReturning},
		},
		{
			name: "without a slot no change begins", snapshot: beginning(online()).But(full),
			want: want{kind: plan.Wait, reason: v1alpha1.ReasonWaitingForSlot, says: "now shop/other"},
		},
		{
			name: "without a slot no change goes on", snapshot: soak().But(full).But(func(c *plan.Cluster) { c.WatchedSince, c.Progress.Rollout.Since = time.Time{}, nil }),
			want: want{kind: plan.Wait, reason: v1alpha1.ReasonWaitingForSlot},
		},
		{
			name: "what is waited for anyway is told rather than the slot", snapshot: soak().But(full),
			want: want{kind: plan.Wait, reason: v1alpha1.ReasonCanarySoaking},
		},
		{
			name: "a return asks no slot", snapshot: soak().But(full).Where(second, builders.Breaks("lag is 40 s")),
			want: want{kind: plan.Turn, reason: v1alpha1.ReasonReturning},
		},
		{
			name: "a cluster that is not rolled out asks no slot", snapshot: cluster().InForce().But(full).Where(second, builders.NeedsRestart),
			want: want{kind: plan.Restart, member: second, reason: v1alpha1.ReasonRestarting},
		},
	})
}

func TestConsent(t *testing.T) {
	broken := func(c *plan.Cluster) { c.Progress.Rollout.BreachedBefore = []string{"dirty-cache"} }
	atCanary := func() *builders.Snapshot {
		snapshot := ofChange(t, v1alpha1.StepCanary, cluster().Shards(2).Executor(v1alpha1.ServiceExecutorAdaptive))
		for range 3 { // the file comes first
			if action := snapshot.Next(); action.Kind == plan.WriteConfig {
				snapshot.Set(action.ReplicaSet).Seen.Files[action.Member] = action.File
			}
		}
		return snapshot.Where(second, builders.NeedsRestart).But(broken)
	}
	check(t, []row{
		{
			name: "a restart for a change that began while a limit was broken needs consent", snapshot: atCanary(),
			want: want{kind: plan.Wait, member: second, reason: v1alpha1.ReasonWaitingForConsent, says: "limit dirty-cache was broken before the change began; set the annotation mongotuning.io/proceed="},
		},
		{
			name: "and has it by the proceed annotation", snapshot: atCanary().But(func(c *plan.Cluster) { c.Proceed = true }),
			want: want{kind: plan.Restart, member: second, reason: v1alpha1.ReasonRestarting},
		},
		{
			name: "the online part goes ahead without", snapshot: atCanary().Where(second, builders.NeedsSetting),
			want: want{kind: plan.SetParameters, member: second, reason: v1alpha1.ReasonApplying},
		},
	})
}

func TestOverdueWaitsStall(t *testing.T) {
	began := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	waiting := func(reason string) *v1alpha1.WaitStatus {
		return &v1alpha1.WaitStatus{Reason: reason, Since: metav1.NewTime(began)}
	}
	action := func(reason string) plan.Action {
		return plan.Action{Kind: plan.Wait, Reason: reason, Message: "nobody leads"}
	}
	for _, row := range []struct {
		name    string
		action  plan.Action
		waiting *v1alpha1.WaitStatus
		after   time.Duration
		stalls  bool
	}{
		{"a wait until the deadline is a wait", action(v1alpha1.ReasonWaitingForMembers), waiting(v1alpha1.ReasonWaitingForMembers), 30*time.Minute - time.Second, false},
		{"a wait as long as the deadline stalls", action(v1alpha1.ReasonWaitingForMembers), waiting(v1alpha1.ReasonWaitingForMembers), 30 * time.Minute, true},
		{"a primary that keeps refusing to step down stalls", action(v1alpha1.ReasonStepDownRefused), waiting(v1alpha1.ReasonStepDownRefused), time.Hour, true},
		{"a wait for consent stalls", action(v1alpha1.ReasonWaitingForConsent), waiting(v1alpha1.ReasonWaitingForConsent), time.Hour, true},
		{"a wait for something else begins anew", action(v1alpha1.ReasonWaitingForMembers), waiting(v1alpha1.ReasonWaitingForOplog), time.Hour, false},
		{"a wait that has just begun is one", action(v1alpha1.ReasonWaitingForMembers), nil, time.Hour, false},
		{"a closed window is waited for as long as it takes", action(v1alpha1.ReasonWaitingForWindow), waiting(v1alpha1.ReasonWaitingForWindow), 100 * time.Hour, false},
		{"so is a slot", action(v1alpha1.ReasonWaitingForSlot), waiting(v1alpha1.ReasonWaitingForSlot), 100 * time.Hour, false},
		{"and a soak", action(v1alpha1.ReasonCanarySoaking), waiting(v1alpha1.ReasonCanarySoaking), 100 * time.Hour, false},
		{"what is done is no wait", plan.Action{Kind: plan.Restart, Reason: v1alpha1.ReasonRestarting}, waiting(v1alpha1.ReasonRestarting), 100 * time.Hour, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := plan.Overdue(row.action, row.waiting, began.Add(row.after), 30*time.Minute)
			if (got.Kind == plan.Stall) != row.stalls || got.IsOverdue != row.stalls {
				t.Fatalf("became %s", got.Kind)
			}
			if row.stalls && (got.Reason != row.action.Reason || !strings.Contains(got.Message, "nobody leads; it has waited since 2026-01-01 12:00:00 UTC")) {
				t.Errorf("stalls with %s: %s", got.Reason, got.Message)
			}
		})
	}
}

func TestBaselineOfAChange(t *testing.T) {
	knows := func(role v1alpha1.MemberRole) func(string) v1alpha1.MemberBaseline {
		return func(name string) v1alpha1.MemberBaseline {
			return v1alpha1.MemberBaseline{Member: name, Role: role, Gauges: []v1alpha1.GaugeMean{
				{Gauge: v1alpha1.GaugeDirtyCache, Mean: "25"}, {Gauge: v1alpha1.GaugeReplicationLag, Mean: "1"}, {Gauge: v1alpha1.GaugeCacheFill, Mean: "70"},
			}}
		}
	}
	snapshot := beginning(online()).But(func(c *plan.Cluster) {
		c.Baselines = map[string]v1alpha1.MemberBaseline{}
		for _, name := range []string{second, third, "demo-shard-1-1"} {
			c.Baselines[name] = knows(v1alpha1.MemberSecondary)(name)
		}
		c.Baselines[first] = knows(v1alpha1.MemberPrimary)(first)
		c.Gauges.Members = []verify.MemberGauges{{Member: third, Judgements: []verify.Judgement{{
			Limit:   verify.Limit{Name: "dirty-cache", Gauge: v1alpha1.GaugeDirtyCache, Enforcement: v1alpha1.EnforcementEnforce},
			Verdict: verify.Breached,
		}}}}
	})
	rollout := snapshot.Next().Progress.Rollout
	var members []string
	for _, baseline := range rollout.Baseline {
		members = append(members, baseline.Member)
		if len(baseline.Gauges) != 2 || baseline.Gauges[0].Gauge != v1alpha1.GaugeDirtyCache || baseline.Gauges[1].Gauge != v1alpha1.GaugeReplicationLag {
			t.Errorf("the baseline of %s holds %v, wanted what is compared and what is broken", baseline.Member, baseline.Gauges)
		}
	}
	if strings.Join(members, " ") != second+" "+third {
		t.Errorf("the baseline is that of %v, wanted the canary and its twin", members)
	}
	if rollout.Canary != second || rollout.Step != v1alpha1.StepCanary || len(rollout.BreachedBefore) != 1 {
		t.Errorf("it is not written with canary and step: %+v", rollout)
	}
}

func TestAWorseCanaryIsTakenBack(t *testing.T) {
	running := travelling(t, v1alpha1.StepCanarySoak, online())
	running.Worse = "reads of the canary took 14 ms"
	last, counts := run(t, running, func(int) {
		if running.Progress.Rollout.Step == v1alpha1.StepReturning {
			running.Worse = ""
		}
	})
	if last.Reason != v1alpha1.ReasonRolledBack || !strings.Contains(last.Message, "reads of the canary took 14 ms") {
		t.Fatalf("ended in %s: %s", last.Reason, last.Message)
	}
	if got := running.Progress.Rollout.BreachReason; got != v1alpha1.ReasonWorseThanTwins {
		t.Errorf("the reason is %q", got)
	}
	if counts[plan.Restart]+counts[plan.StepDown] > 0 {
		t.Errorf("members were disturbed: %v", counts)
	}
	later := travelling(t, v1alpha1.StepOtherShards, online())
	later.Worse = "reads of the canary took 14 ms"
	if action := later.Next(); action.Reason == v1alpha1.ReasonReturning {
		t.Error("a canary is held against its twins although they have the change too")
	}
}

// steady is a cluster whose second revision is verified.
func steady(t *testing.T, rollout v1alpha1.OnSteadyBreach) *scripted.Cluster {
	t.Helper()
	declare := func(c *builders.Cluster) *builders.Cluster {
		return c.Shards(2).Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Rollout.OnSteadyBreach = rollout })
	}
	running := declare(cluster()).Running()
	running.Desired = declare(restarting()).Desired()
	if last, _ := run(t, running, undisturbed); last.Kind != plan.Nothing {
		t.Fatalf("ended in %s: %s", last.Kind, last.Message)
	}
	return running
}

func TestABreachOutsideOfAChange(t *testing.T) {
	reports := steady(t, v1alpha1.OnSteadyBreachReport)
	reports.Broken[first] = "dirty cache is 40 %"
	if action := reports.Next(); action.Kind != plan.Nothing {
		t.Errorf("a breach that is only reported leads to %s: %s", action.Kind, action.Message)
	}
	returns := steady(t, v1alpha1.OnSteadyBreachRollback)
	failed, before := returns.Progress.Verified, returns.Progress.Previous
	returns.Broken[first] = "dirty cache is 40 %"
	last, _ := run(t, returns, func(int) {
		if returns.Progress.Rollout.Step == v1alpha1.StepReturned {
			clear(returns.Broken)
		}
	})
	if last.Reason != v1alpha1.ReasonRolledBack || returns.Progress.Verified != before || returns.Progress.Failed != failed {
		t.Fatalf("ended in %s (%s) with %+v", last.Reason, last.Message, returns.Progress)
	}
	for _, set := range returns.Judged().ReplicaSets {
		for _, member := range set.Pods() {
			if !set.Verdicts[member].InForce() {
				t.Errorf("%s is not back on what was verified before", member)
			}
		}
	}
	returns.Broken[first] = "dirty cache is 40 %"
	if action := returns.Next(); action.Kind != plan.Stall {
		t.Errorf("a breach after the return leads to %s: %s", action.Kind, action.Message)
	}
	first := cluster().Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Rollout.OnSteadyBreach = v1alpha1.OnSteadyBreachRollback
	}).Running()
	first.Broken[second] = "dirty cache is 40 %"
	if action := first.Next(); action.Kind != plan.Nothing {
		t.Errorf("there is nothing to return to, and %s follows", action.Kind)
	}
}

// TestShardsInParallel counts how many shards of three have a member away at once.
func TestShardsInParallel(t *testing.T) {
	for _, most := range []int32{1, 2} {
		declare := func(c *builders.Cluster) *builders.Cluster {
			return c.Shards(3).ConfigServers(1).Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Rollout.MaxShardsInParallel = &most })
		}
		running := declare(cluster()).Running()
		running.Desired = declare(restarting()).Desired()
		seen := 0
		last, counts := run(t, running, func(int) {
			shards := 0
			for _, set := range running.Judged().ReplicaSets {
				away := 0
				for _, member := range set.Seen.Members {
					if !member.Serves() {
						away++
					}
				}
				if away > 1 {
					t.Fatalf("%d members of %s are away at once", away, set.Name)
				}
				shards += away
			}
			seen = max(seen, shards)
		})
		if last.Kind != plan.Nothing || counts[plan.Restart] != 9 {
			t.Errorf("ended in %s (%s) after %v", last.Kind, last.Message, counts)
		}
		if seen != int(most) {
			t.Errorf("%d shards were disturbed at once, wanted %d", seen, most)
		}
	}
}

func TestASecondChangeStartsAgainAtTheCanary(t *testing.T) {
	for _, step := range []v1alpha1.RolloutStep{
		v1alpha1.StepCanary, v1alpha1.StepCanarySoak, v1alpha1.StepLeadSoak, v1alpha1.StepRestOfShard, v1alpha1.StepOtherShards, v1alpha1.StepConfigServers,
	} {
		t.Run("at step "+string(step), func(t *testing.T) {
			running := travelling(t, step, restarting())
			before, verified := running.Progress.Rollout.Revision, running.Progress.Verified
			running.Desired = restarting().DirtyTrigger(35).Desired()
			action := running.Next()
			if action.Kind != plan.Turn || action.Progress.Rollout.Step != v1alpha1.StepCanary || action.Progress.Rollout.Revision == before {
				t.Fatalf("%s: %s", action.Kind, action.Message)
			}
			last, _ := run(t, running, undisturbed)
			if last.Kind != plan.Nothing || running.Progress.Verified == verified || running.Progress.Verified == before {
				t.Errorf("ended in %s (%s) with %+v", last.Kind, last.Message, running.Progress)
			}
		})
	}
}

// TestASecondChangeCuresWhatTheFirstTookDown lets a canary not come back, and declares something else: the
// member that is down gets it first, and nobody else is touched meanwhile.
func TestASecondChangeCuresWhatTheFirstTookDown(t *testing.T) {
	running := travelling(t, v1alpha1.StepCanarySoak, restarting())
	canary := running.Progress.Rollout.Canary
	running.Servers.Silence(canary)
	running.Desired = restarting().DirtyTrigger(35).Desired()
	action := running.Next()
	if action.Kind != plan.Turn || action.Progress.Rollout.Canary != canary || action.Progress.Rollout.Step != v1alpha1.StepCanary {
		t.Fatalf("%s: %s", action.Kind, action.Message)
	}
	cured := false
	last, _ := run(t, running, func(step int) {
		if step == 3 {
			cured = true
			running.Servers.Unsilence(canary)
		}
	})
	if !cured || last.Kind != plan.Nothing {
		t.Errorf("ended in %s: %s", last.Kind, last.Message)
	}
}

func TestUndoingAChangeGoesBack(t *testing.T) {
	for _, step := range []v1alpha1.RolloutStep{v1alpha1.StepCanary, v1alpha1.StepLeadSoak, v1alpha1.StepOtherShards, v1alpha1.StepVerifying} {
		t.Run("at step "+string(step), func(t *testing.T) {
			running := travelling(t, step, restarting())
			verified := running.Progress.Verified
			running.Desired = cluster().Shards(2).Desired()
			last, counts := run(t, running, undisturbed)
			if last.Kind != plan.Nothing || running.Progress.Verified != verified || running.Progress.Rollout.Step != "" || running.Progress.Failed != "" {
				t.Errorf("ended in %s (%s) with %+v", last.Kind, last.Message, running.Progress)
			}
			if counts[plan.Restart] > 6 {
				t.Errorf("%d restarts to go back", counts[plan.Restart])
			}
		})
	}
}

// TestAClosedGateGoesOnByItself closes gates in the middle of a change: nobody is disturbed while they are
// closed, and the change ends once they open.
func TestAClosedGateGoesOnByItself(t *testing.T) {
	for _, row := range []struct {
		name        string
		close, open func(*scripted.Cluster)
		reason      string
	}{
		{
			"an oplog too short", func(c *scripted.Cluster) { c.Oplog = time.Minute }, func(c *scripted.Cluster) { c.Oplog = time.Hour },
			v1alpha1.ReasonWaitingForOplog,
		},
		{
			"chunks that move", func(c *scripted.Cluster) { c.Servers.Migrate(true) }, func(c *scripted.Cluster) { c.Servers.Migrate(false) },
			v1alpha1.ReasonWaitingForMigration,
		},
		{
			"a secondary that is behind", func(c *scripted.Cluster) { c.Servers.LagBehind(third, time.Minute) }, func(c *scripted.Cluster) { c.Servers.LagBehind(third, 0) },
			v1alpha1.ReasonWaitingForMembers,
		},
		{
			"primaries that refuse to step down", func(c *scripted.Cluster) { c.Servers.RefuseStepDowns(true) }, func(c *scripted.Cluster) { c.Servers.RefuseStepDowns(false) },
			v1alpha1.ReasonStepDownRefused,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			running := travelling(t, v1alpha1.StepCanaryLeads, restarting())
			row.close(running)
			for range 20 {
				running.Tick()
				action := running.Next()
				if action.Kind != plan.Wait && action.Kind != plan.StepDown || action.Kind == plan.Wait && action.Reason != row.reason {
					t.Fatalf("%s (%s) at a closed gate: %s", action.Kind, action.Reason, action.Message)
				}
				_ = running.Perform(action)
			}
			if got := running.Servers.Counted("StepDown"); got > 0 {
				t.Errorf("%d step downs at a closed gate", got)
			}
			row.open(running)
			if last, _ := run(t, running, undisturbed); last.Kind != plan.Nothing {
				t.Errorf("ended in %s: %s", last.Kind, last.Message)
			}
		})
	}
}
