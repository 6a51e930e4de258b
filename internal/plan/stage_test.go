// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/test/builders"
	"github.com/mongotuning/mongotuning/test/scripted"
)

// travelling is a cluster of two shards of which a change has come to a step: another dirty trigger, and
// with it, when asked, another executor, which takes restarts.
func travelling(t *testing.T, step v1alpha1.RolloutStep, change *builders.Cluster) *scripted.Cluster {
	t.Helper()
	running := cluster().Shards(2).Running()
	running.Desired = change.Desired()
	for range manySteps {
		if running.Progress.Rollout.Step == step {
			return running
		}
		action := running.Next()
		if err := running.Perform(action); err != nil {
			t.Fatal(err)
		}
		running.Tick()
	}
	t.Fatalf("the change never came to step %s", step)
	return nil
}

func online() *builders.Cluster { return cluster().Shards(2).DirtyTrigger(30) }

func restarting() *builders.Cluster { return online().Executor(v1alpha1.ServiceExecutorAdaptive) }

// steps are the steps that a change goes through until it is verified.
func steps(t *testing.T, change *builders.Cluster) []v1alpha1.RolloutStep {
	t.Helper()
	running := cluster().Shards(2).Running()
	running.Desired = change.Desired()
	var steps []v1alpha1.RolloutStep
	for range manySteps {
		action := running.Next()
		if action.Kind == plan.Nothing {
			return steps
		}
		if action.Kind == plan.Turn && action.Progress.Rollout.Step != "" {
			steps = append(steps, action.Progress.Rollout.Step)
		}
		if err := running.Perform(action); err != nil {
			t.Fatal(err)
		}
		running.Tick()
	}
	t.Fatal("the change never ends")
	return nil
}

func TestStepsOfAChange(t *testing.T) {
	for _, change := range []struct {
		name  string
		to    *builders.Cluster
		steps string
	}{
		{
			"what is set online goes to the canary, which need not lead", online(),
			"Canary CanarySoak RestOfShard OtherShards ConfigServers Mongos Verifying",
		},
		{
			"what takes restarts lets the canary lead before it spreads", restarting(),
			"Canary CanarySoak CanaryLeads LeadSoak RestOfShard OtherShards ConfigServers Mongos Verifying",
		},
		{
			"a change of the config servers alone begins with them", cluster().Shards(2).ConfigServerCacheGB(0.5),
			"ConfigServers Mongos Verifying",
		},
	} {
		t.Run(change.name, func(t *testing.T) {
			var names []string
			for _, step := range steps(t, change.to) {
				names = append(names, string(step))
			}
			if got := strings.Join(names, " "); got != change.steps {
				t.Errorf("went through\n%s, wanted\n%s", got, change.steps)
			}
		})
	}
}

func TestABreachIsTakenBack(t *testing.T) {
	for _, step := range []v1alpha1.RolloutStep{
		v1alpha1.StepCanary, v1alpha1.StepCanarySoak, v1alpha1.StepCanaryLeads, v1alpha1.StepLeadSoak,
		v1alpha1.StepRestOfShard, v1alpha1.StepOtherShards, v1alpha1.StepConfigServers,
	} {
		t.Run("at step "+string(step), func(t *testing.T) {
			running := travelling(t, step, restarting())
			failed := running.Progress.Rollout.Revision
			running.Broken[running.Progress.Rollout.Canary] = "dirty cache is 40 %"
			last, counts := run(t, running, undisturbed)
			if last.Kind != plan.Stall || last.Reason != v1alpha1.ReasonRolledBack || !strings.Contains(last.Message, "dirty cache is 40 %") {
				t.Fatalf("ended in %s (%s): %s", last.Kind, last.Reason, last.Message)
			}
			if running.Progress.Failed != failed || running.Progress.Verified == failed {
				t.Errorf("what failed is not remembered: %+v", running.Progress)
			}
			for _, set := range running.Judged().ReplicaSets {
				for _, member := range set.Pods() {
					if !set.Verdicts[member].InForce() {
						t.Errorf("%s is not back on what was verified before", member)
					}
				}
			}
			if counts[plan.Restart] > 6 {
				t.Errorf("%d restarts for a return", counts[plan.Restart])
			}
			running.Broken = map[string]string{}
			if again := running.Next(); again.Kind != plan.Stall {
				t.Errorf("what was taken back is tried again without being asked: %s", again.Message)
			}
		})
	}
}

func TestASilentChangedMemberIsABreach(t *testing.T) {
	running := travelling(t, v1alpha1.StepCanarySoak, online())
	running.Servers.Silence(running.Progress.Rollout.Canary)
	returned := false
	last, _ := run(t, running, func(int) {
		if !returned && running.Progress.Rollout.Step == v1alpha1.StepReturning {
			returned = true
			running.Servers.Unsilence(running.Progress.Rollout.Canary)
		}
	})
	if !returned || last.Reason != v1alpha1.ReasonRolledBack {
		t.Errorf("ended in %s: %s", last.Kind, last.Message)
	}
}

func TestGoingBackToTheVerifiedRevisionEndsAChange(t *testing.T) {
	running := travelling(t, v1alpha1.StepCanarySoak, online())
	running.Desired = cluster().Shards(2).Desired()
	last, counts := run(t, running, undisturbed)
	if last.Kind != plan.Nothing || running.Progress.Rollout.Step != "" || running.Progress.Failed != "" {
		t.Errorf("ended in %s (%s) with %+v", last.Kind, last.Message, running.Progress)
	}
	if counts[plan.Restart]+counts[plan.StepDown] > 0 {
		t.Errorf("members were disturbed for nothing: %v", counts)
	}
}

func TestGatesOfAChange(t *testing.T) {
	changing := func(snapshot func(*scripted.Cluster)) *builders.Snapshot {
		running := cluster().Running()
		running.Desired = cluster().DirtyTrigger(30).Desired()
		snapshot(running)
		return &builders.Snapshot{Cluster: running.Judged()}
	}
	unchanged := func(*scripted.Cluster) {}
	check(t, []row{
		{
			name:     "a change begins by naming its canary: the secondary with the lowest id",
			snapshot: changing(unchanged),
			want:     want{kind: plan.Turn, reason: v1alpha1.ReasonApplying, says: "goes to the canary " + second + " first"},
		},
		{
			name:     "a change does not begin while a member is away",
			snapshot: changing(unchanged).Where(third, builders.IsSilent),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonWaitingForMembers, says: third + " does not serve"},
		},
		{
			name:     "a change that was taken back on another cluster waits for a person",
			snapshot: changing(unchanged).But(func(c *plan.Cluster) { c.HeldBack = "profile p was taken back on other/demo" }),
			want:     want{kind: plan.Stall, reason: v1alpha1.ReasonHeldBack, says: "other/demo"},
		},
		{
			name: "the retry annotation lets it begin all the same",
			snapshot: changing(unchanged).But(func(c *plan.Cluster) {
				c.HeldBack, c.Retry = "profile p was taken back on other/demo", c.Revision
			}),
			want: want{kind: plan.Turn, reason: v1alpha1.ReasonApplying, says: "goes to the canary"},
		},
	})
	soaking := travelling(t, v1alpha1.StepCanarySoak, cluster().Shards(2).DirtyTrigger(30).Soak(60))
	canary := soaking.Progress.Rollout.Canary
	snapshot := func() *builders.Snapshot { return (&builders.Snapshot{Cluster: soaking.Judged()}).Clone() }
	since := func(ago time.Duration) func(*plan.Cluster) {
		return func(c *plan.Cluster) { c.WatchedSince, c.Progress.Rollout.Since = c.Now.Add(-ago), nil }
	}
	check(t, []row{
		{
			name:     "a canary that was watched for a second less than asked is watched on",
			snapshot: snapshot().But(since(59 * time.Second)),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonCanarySoaking, says: "watching the canary " + canary},
		},
		{
			name:     "a canary that was watched for as long as asked lets the change spread",
			snapshot: snapshot().But(since(60 * time.Second)),
			want:     want{kind: plan.Turn, reason: v1alpha1.ReasonApplying, says: ""},
		},
		{
			name:     "time in which the canary could not be measured proves nothing",
			snapshot: snapshot().But(since(time.Hour)).Where(canary, builders.CannotBeMeasured),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonCanarySoaking, says: "two samples are needed"},
		},
		{
			name:     "a broken limit on a member that has the change takes it back",
			snapshot: snapshot().Where(canary, builders.Breaks("lag is 40 s")),
			want:     want{kind: plan.Turn, reason: v1alpha1.ReasonReturning, says: "lag is 40 s"},
		},
		{
			name:     "a broken limit on a member that does not have the change speaks against nobody",
			snapshot: snapshot().Where("demo-shard-1-1", builders.Breaks("lag is 40 s")),
			want:     want{kind: plan.Wait, reason: v1alpha1.ReasonCanarySoaking},
		},
		{
			name:     "onBreach Pause keeps the change where it is",
			snapshot: snapshot().Where(canary, builders.Breaks("lag is 40 s")).But(func(c *plan.Cluster) { c.Policy.Return = false }),
			want:     want{kind: plan.Turn, reason: v1alpha1.ReasonPaused, says: "lag is 40 s"},
		},
		{
			name:     "a changed member that has been silent for a minute is not given up yet",
			snapshot: snapshot().Where(canary, builders.IsSilentFor(time.Minute)),
			want:     want{kind: plan.Wait, member: canary, reason: v1alpha1.ReasonWaitingForMembers},
		},
		{
			name:     "a changed member that has been silent for longer takes the change back",
			snapshot: snapshot().Where(canary, builders.IsSilentFor(61*time.Second)),
			want:     want{kind: plan.Turn, reason: v1alpha1.ReasonReturning, says: "does not answer for more than 1m0s"},
		},
		{
			name:     "a silent member proves nothing while its twin is silent too",
			snapshot: snapshot().Where(canary, builders.IsSilentFor(time.Hour)).Where(third, builders.IsSilentFor(time.Hour)),
			want:     want{kind: plan.Wait, member: canary, reason: v1alpha1.ReasonWaitingForMembers},
		},
	})
}
