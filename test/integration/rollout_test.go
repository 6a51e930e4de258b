// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/test/builders"
)

// declare changes the tuning as a user does: what is set online, and what takes restarts.
func declare(w *world, cluster *builders.Cluster) {
	w.t.Helper()
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Tuning = cluster.Object().Spec.Tuning })
}

func restarting() *builders.Cluster {
	return small().DirtyTrigger(30).Executor(v1alpha1.ServiceExecutorAdaptive)
}

// untilWaiting goes on until the operator waits for a reason.
func (w *world) untilWaiting(reason string) *v1alpha1.MongoTuning {
	w.t.Helper()
	return w.until("waiting "+reason, func(tuning *v1alpha1.MongoTuning) bool {
		return tuning.Status.Waiting != nil && tuning.Status.Waiting.Reason == reason
	})
}

func messageOf(tuning *v1alpha1.MongoTuning, condition string) string {
	found := meta.FindStatusCondition(tuning.Status.Conditions, condition)
	if found == nil {
		return ""
	}
	return found.Message
}

func TestAChangeWaitsForItsWindow(t *testing.T) {
	w := newWorld(t)
	w.create(small().Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Rollout.Windows = []v1alpha1.RolloutWindow{{Cron: "0 2 * * *", DurationMinutes: 60, TimeZone: "Europe/Berlin"}}
	}))
	w.clock.SetTime(time.Date(2026, time.January, 1, 6, 0, 0, 0, time.UTC))
	w.untilReady()
	declare(w, restarting())
	tuning := w.untilWaiting(v1alpha1.ReasonWaitingForWindow)
	if message := messageOf(tuning, v1alpha1.ConditionReconciling); !strings.Contains(message, "2026-01-02 02:00 CET") {
		t.Errorf("it does not say when the next window opens: %s", message)
	}
	w.isQuiet()
	w.startOperator()
	since := tuning.Status.Waiting.Since
	if again := w.untilWaiting(v1alpha1.ReasonWaitingForWindow); !again.Status.Waiting.Since.Equal(&since) {
		t.Errorf("since %s became %s with a new operator", since, again.Status.Waiting.Since)
	}
	w.clock.SetTime(time.Date(2026, time.January, 2, 1, 0, 0, 0, time.UTC))
	w.untilReady()
	w.isQuiet()
}

func TestAWindowThatNeverOpensIsRefused(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Rollout.Windows = []v1alpha1.RolloutWindow{{Cron: "0 2 30 2 *", DurationMinutes: 60}}
	})
	tuning := w.untilStalled(v1alpha1.ReasonInvalidSpec)
	if message := messageOf(tuning, v1alpha1.ConditionStalled); !strings.HasPrefix(message, "rollout.windows[0].cron:") {
		t.Errorf("the message does not begin with the path: %s", message)
	}
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Rollout.Windows = nil })
	w.untilReady()
}

// TestAWaitThatLastsStalls lets a secondary lag in the middle of a change: nobody is disturbed, the object
// stalls after the deadline, an operator that starts anew still knows since when, and it goes on by itself.
func TestAWaitThatLastsStalls(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	declare(w, restarting())
	w.until("canary", func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Canary != "" })
	w.servers.LagBehind("demo-shard-0-2", time.Minute)
	tuning := w.untilWaiting(v1alpha1.ReasonWaitingForMembers)
	since, disturbed := tuning.Status.Waiting.Since, w.outcome().PodsMade
	w.startOperator()
	w.clock.SetTime(w.clock.Now().Add(29 * time.Minute))
	w.step()
	if tuning = w.tuning(); !tuning.Status.Waiting.Since.Equal(&since) || meta.IsStatusConditionTrue(tuning.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Fatalf("since %s, and now:\n%s", since, describe(tuning))
	}
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	tuning = w.untilStalled(v1alpha1.ReasonWaitingForMembers)
	if message := messageOf(tuning, v1alpha1.ConditionStalled); !strings.Contains(message, "demo-shard-0-2 is 1m0s behind") || !strings.Contains(message, "goes on by itself") {
		t.Errorf("the message is %s", message)
	}
	for range 3 {
		w.step()
	}
	for pod, made := range w.outcome().PodsMade {
		if made != disturbed[pod] {
			t.Errorf("%s was restarted at a closed gate", pod)
		}
	}
	w.servers.LagBehind("demo-shard-0-2", 0)
	w.untilReady()
	w.isQuiet()
}

// TestAPrimaryThatRefusesToStepDownIsLeftAlone shows that code 262 is a wait and no error, and that the
// primary is not asked again at once.
func TestAPrimaryThatRefusesToStepDownIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	w.servers.RefuseStepDowns(true)
	declare(w, restarting())
	tuning := w.untilWaiting(v1alpha1.ReasonStepDownRefused)
	since := tuning.Status.Waiting.Since
	asked := func() int {
		count := 0
		for _, write := range w.journal.since(0) {
			if strings.HasPrefix(write, "step down") {
				count++
			}
		}
		return count
	}
	before := asked()
	for range 12 {
		w.step()
	}
	if again := asked() - before; again < 1 || again > 2 {
		t.Errorf("asked %d times more in two minutes, wanted once a minute", again)
	}
	if tuning = w.tuning(); tuning.Status.Waiting == nil || !tuning.Status.Waiting.Since.Equal(&since) {
		t.Errorf("the wait began anew:\n%s", describe(tuning))
	}
	w.servers.RefuseStepDowns(false)
	w.untilReady()
	w.isQuiet()
}

// TestTheBaselineIsWrittenBeforeAnybodyIsDisturbed reads the status at the first act of a change.
func TestTheBaselineIsWrittenBeforeAnybodyIsDisturbed(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	acts := len(w.servers.Acts())
	declare(w, restarting())
	tuning := w.until("canary", func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Canary != "" })
	if after := w.servers.Acts()[acts:]; len(after) > 0 {
		t.Errorf("members were touched before the canary was written: %v", after)
	}
	var members []string
	for _, baseline := range tuning.Status.Rollout.Baseline {
		members = append(members, baseline.Member)
		lag := slices.IndexFunc(baseline.Gauges, func(mean v1alpha1.GaugeMean) bool { return mean.Gauge == v1alpha1.GaugeReplicationLag })
		if lag < 0 || baseline.Gauges[lag].Mean != "0" || baseline.Role != v1alpha1.MemberSecondary {
			t.Errorf("the baseline of %s is %+v", baseline.Member, baseline)
		}
	}
	if !slices.Equal(members, []string{"demo-shard-0-1", "demo-shard-0-2"}) {
		t.Errorf("the baseline is that of %v, wanted the canary and its twin", members)
	}
	before := tuning.Status.Rollout.Baseline
	tuning = w.until("rest", func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Step == v1alpha1.StepRestOfShard })
	if len(tuning.Status.Rollout.Baseline) != len(before) || tuning.Status.Rollout.Baseline[0].Gauges[0] != before[0].Gauges[0] {
		t.Errorf("the baseline changed on the way: %+v", tuning.Status.Rollout.Baseline)
	}
	w.untilReady()
	w.isQuiet()
}

func TestASteadyBreachReturnsWhereAskedFor(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	first := w.tuning().Status.Revisions.Verified
	declare(w, small().DirtyTrigger(30))
	w.untilReady()
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Rollout.OnSteadyBreach = v1alpha1.OnSteadyBreachRollback
		tuning.Spec.Verification.Limits = append(tuning.Spec.Verification.Limits, v1alpha1.Limit{
			Name: "near", Gauge: v1alpha1.GaugeReplicationLag, Max: new(int64(5)), ForSeconds: new(int32(30)),
		})
	})
	tuning := w.untilReady()
	second := tuning.Status.Revisions.Verified
	if second == first || tuning.Status.Revisions.Previous != first {
		t.Fatalf("revisions are %+v, the first was %s", tuning.Status.Revisions, first)
	}
	w.isQuiet()
	w.servers.LagBehind("demo-shard-0-1", 8*time.Second)
	tuning = w.untilStalled(v1alpha1.ReasonRolledBack)
	if revisions := tuning.Status.Revisions; revisions.Verified != first || revisions.Failed != second {
		t.Errorf("revisions are %+v", revisions)
	}
	if reason := tuning.Status.Rollout.BreachReason; reason != v1alpha1.ReasonReplicationLagAboveLimit {
		t.Errorf("the reason is %q", reason)
	}
	w.servers.LagBehind("demo-shard-0-1", 0)
}

// TestOneRolloutAtATime lets two clusters change at once under an operator that lets one.
func TestOneRolloutAtATime(t *testing.T) {
	worlds := []*world{newWorld(t), newWorld(t)}
	namespaces := []string{worlds[0].namespace, worlds[1].namespace}
	for _, w := range worlds {
		// Other tests leave objects behind.
		w.list = func(ctx context.Context, c client.WithWatch, objects client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, objects, options...)
			if tunings, ok := objects.(*v1alpha1.MongoTuningList); ok {
				tunings.Items = slices.DeleteFunc(tunings.Items, func(tuning v1alpha1.MongoTuning) bool { return !slices.Contains(namespaces, tuning.Namespace) })
			}
			return err
		}
		bootstrap(w)
		w.reconciler.MaxRollouts = 1
		declare(w, restarting())
	}
	waited := false
	for range manySteps {
		travelling, done := 0, 0
		for _, w := range worlds {
			w.step()
			tuning := w.tuning()
			if tuning.Status.Rollout.Step != "" {
				travelling++
			}
			if waiting := tuning.Status.Waiting; waiting != nil && waiting.Reason == v1alpha1.ReasonWaitingForSlot {
				waited = true
				if message := messageOf(tuning, v1alpha1.ConditionReconciling); !strings.Contains(message, worlds[0].namespace+"/demo") {
					t.Errorf("it does not say who holds the slot: %s", message)
				}
			}
			if conditionIs(tuning, v1alpha1.ConditionReady, "True") {
				done++
			}
		}
		if travelling > 1 {
			t.Fatal("both roll out at once")
		}
		if done == len(worlds) {
			break
		}
	}
	for _, w := range worlds {
		if !conditionIs(w.tuning(), v1alpha1.ConditionReady, "True") {
			t.Errorf("not done:\n%s", describe(w.tuning()))
		}
	}
	if !waited {
		t.Error("nobody waited for a slot")
	}
}
