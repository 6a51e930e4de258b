// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/test/builders"
)

// facts are all that a random snapshot is made of.
var facts = []builders.Fact{
	builders.HasNoPod, builders.IsSilent, builders.IsBeingDeleted, builders.IsNotReady, builders.IsRecovering,
	builders.IsPrimary, builders.IsSecondary, builders.IsUninitiated, builders.IsLockedOut,
	builders.HasOldTemplate, builders.HasOldFile, builders.HasFileWithCache("1.7"),
	builders.NeedsSetting, builders.NeedsRestart, builders.IsStuck, builders.Runs("4.4.3"),
	builders.Lags(10 * time.Second), builders.Lags(11 * time.Second), builders.SendsNoHeartbeats,
	builders.Exited(0, 3), builders.Exited(14, 2), builders.Exited(137, 2),
	builders.Breaks("dirty cache is 40 %"), builders.CannotBeMeasured, builders.IsSilentFor(2 * time.Minute),
	keepsOplog(0), keepsOplog(time.Minute), builders.HasTheChange,
}

// bases are snapshots to start from, built once.
var bases = func() []*builders.Snapshot {
	return []*builders.Snapshot{
		cluster().InForce(), cluster().Shards(2).InForce(), cluster().Members(1).InForce(), cluster().Members(5).InForce(),
		cluster().FirstSeen(), travellingTo(v1alpha1.StepCanary), travellingTo(v1alpha1.StepCanarySoak), travellingTo(v1alpha1.StepCanaryLeads),
		travellingTo(v1alpha1.StepRestOfShard), travellingTo(v1alpha1.StepOtherShards), travellingTo(v1alpha1.StepReturning), travellingTo(""),
	}
}

// travellingTo is a cluster of two shards of which a change that restarts has come to a step, or is about
// to begin.
func travellingTo(step v1alpha1.RolloutStep) *builders.Snapshot {
	running := cluster().Shards(2).Running()
	running.Desired = restarting().Desired()
	for running.Progress.Rollout.Step != step {
		if running.Progress.Rollout.Step == v1alpha1.StepLeadSoak && step == v1alpha1.StepReturning {
			running.Broken[second] = "dirty cache is 40 %"
		}
		if err := running.Perform(running.Next()); err != nil {
			panic("bring a change on its way: " + err.Error())
		}
		running.Tick()
	}
	return (&builders.Snapshot{Cluster: running.Judged()}).Clone().TrialsAre(observed.TrialPassed)
}

// drawCircumstances are what a decision takes besides the members.
func drawCircumstances(t *rapid.T, snapshot *builders.Snapshot) {
	sometimes := func(what string, happens func()) {
		if rapid.IntRange(0, 9).Draw(t, what) == 0 {
			happens()
		}
	}
	sometimes("a chunk moves", func() {
		for i := range snapshot.ReplicaSets[len(snapshot.ReplicaSets)-1].Seen.Members {
			look := &snapshot.ReplicaSets[len(snapshot.ReplicaSets)-1].Seen.Members[i].Look
			look.Migrations = []observed.Migration{{Namespace: "shop.orders", From: snapshot.ReplicaSets[0].Name, To: "elsewhere"}}
		}
	})
	sometimes("it is unknown whether chunks move", func() {
		for i := range snapshot.ReplicaSets[len(snapshot.ReplicaSets)-1].Seen.Members {
			snapshot.ReplicaSets[len(snapshot.ReplicaSets)-1].Seen.Members[i].Look.MigrationsError = "it does not answer"
		}
	})
	sometimes("oplogs are short", func() {
		for _, set := range snapshot.ReplicaSets {
			for _, member := range set.Pods() {
				health := set.Health[member]
				health.Oplog = 19 * time.Minute
				set.Health[member] = health
			}
		}
	})
	sometimes("no slot is free", func() { snapshot.NoSlot = "at most 1 objects roll out at once" })
	sometimes("no window is open", func() { snapshot.ClosedUntil = snapshot.Now.Add(time.Hour) })
	sometimes("the baseline is not known", func() { snapshot.WatchedSince, snapshot.BaselineTime = snapshot.Now, 30*time.Second })
	sometimes("a step down was refused", func() { snapshot.StepDownRefused = snapshot.Now.Add(-time.Second) })
	sometimes("the canary is worse", func() { snapshot.Worse = "the canary is worse than its twins" })
	sometimes("a limit was broken before", func() { snapshot.Progress.Rollout.BreachedBefore = []string{"dirty-cache"} })
	sometimes("proceed", func() { snapshot.Proceed = true })
	sometimes("steady breaches return", func() { snapshot.Policy.SteadyReturn, snapshot.Progress.Previous = true, "revision-before" })
	snapshot.Policy.Shards = rapid.IntRange(1, 3).Draw(t, "shards at once")
}

// holdsGates holds an action to the gates that concern all of a change, in words of its own.
func holdsGates(t *rapid.T, action plan.Action, snapshot *builders.Snapshot) {
	before := snapshot.Progress.Rollout
	travels := snapshot.Progress.Verified != "" && snapshot.Progress.Verified != snapshot.Revision && before.Step != "" &&
		before.Step != v1alpha1.StepReturning && before.Step != v1alpha1.StepReturned
	switch action.Kind {
	case plan.Turn:
		holdsTurn(t, action, snapshot, travels)
	case plan.StepDown, plan.Restart:
		if travels {
			holdsChange(t, action, snapshot)
		}
		if action.Kind == plan.StepDown && !snapshot.StepDownRefused.IsZero() {
			t.Fatalf("%s is asked again to step down at once", action.Member)
		}
		holdsMigrations(t, action, snapshot)
		holdsOplogs(t, action, snapshot)
	default:
	}
}

// holdsTurn holds the beginning of a change to what it takes; travels tells that another is on its way.
func holdsTurn(t *rapid.T, action plan.Action, snapshot *builders.Snapshot, travels bool) {
	before, after := snapshot.Progress.Rollout, action.Progress.Rollout
	if after.Revision == before.Revision || !plan.IsTravelling(after.Step) {
		return
	}
	switch {
	case snapshot.NoSlot != "":
		t.Fatalf("a change begins without a slot: %s", action.Message)
	case !snapshot.ClosedUntil.IsZero() && !snapshot.Proceed && !travels:
		t.Fatalf("a change begins outside of its windows: %s", action.Message)
	case after.Step == v1alpha1.StepCanary && after.Canary == "":
		t.Fatalf("a change begins without naming its canary")
	}
}

// holdsChange holds a disturbance for a change to what only a change takes.
func holdsChange(t *rapid.T, action plan.Action, snapshot *builders.Snapshot) {
	switch {
	case snapshot.NoSlot != "":
		t.Fatalf("%s of %s without a slot", action.Kind, action.Member)
	case action.Kind == plan.Restart && len(snapshot.Progress.Rollout.BreachedBefore) > 0 && !snapshot.Proceed:
		t.Fatalf("%s is restarted although a limit was broken before, and nobody consented", action.Member)
	}
}

func holdsMigrations(t *rapid.T, action plan.Action, snapshot *builders.Snapshot) {
	set := snapshot.Set(action.ReplicaSet)
	if set.Component != v1alpha1.ComponentShardMember {
		return
	}
	look := snapshot.ReplicaSets[len(snapshot.ReplicaSets)-1].Seen.Primary().Look
	if look.MigrationsError != "" {
		t.Fatalf("%s of %s while it is not known whether chunks move", action.Kind, action.Member)
	}
	for _, migration := range look.Migrations {
		if migration.From == set.Name || migration.To == set.Name {
			t.Fatalf("%s of %s while a chunk moves", action.Kind, action.Member)
		}
	}
}

func holdsOplogs(t *rapid.T, action plan.Action, snapshot *builders.Snapshot) {
	set := snapshot.Set(action.ReplicaSet)
	for _, other := range set.Seen.Members {
		if other.Name != action.Member && set.Health[other.Name].Oplog < 20*time.Minute {
			t.Fatalf("%s of %s while the oplog of %s reaches back %s", action.Kind, action.Member, other.Name, set.Health[other.Name].Oplog)
		}
	}
}

// drawSnapshot is a base of which up to six things are otherwise.
func drawSnapshot(t *rapid.T, from []*builders.Snapshot) *builders.Snapshot {
	snapshot := from[rapid.IntRange(0, len(from)-1).Draw(t, "base")].Clone()
	for range rapid.IntRange(0, 6).Draw(t, "how many things are otherwise") {
		set := snapshot.ReplicaSets[rapid.IntRange(0, len(snapshot.ReplicaSets)-1).Draw(t, "set")]
		member := set.Pods()[rapid.IntRange(0, len(set.Seen.Members)-1).Draw(t, "member")]
		snapshot.Where(member, facts[rapid.IntRange(0, len(facts)-1).Draw(t, "fact")])
	}
	if rapid.IntRange(0, 9).Draw(t, "template differs") == 0 {
		snapshot.TemplateDiffers(snapshot.ReplicaSets[0].Name)
	}
	if rapid.IntRange(0, 9).Draw(t, "mongos is silent") == 0 {
		snapshot.Mongos.Answered = false
	}
	return snapshot
}

func TestActionsAreSafeWhateverIsSeen(t *testing.T) {
	runs(t, 300, 5000)
	from := bases()
	rapid.Check(t, func(t *rapid.T) {
		snapshot := drawSnapshot(t, from)
		drawCircumstances(t, snapshot)
		action := snapshot.Next()
		holdsGates(t, action, snapshot)
		if again := snapshot.Next(); !cmp.Equal(action, again) {
			t.Fatalf("the same snapshot led to two actions: %+v and %+v", action, again)
		}
		if action.Reason == "" || action.Message == "" {
			t.Fatalf("%s does not say why", action.Kind)
		}
		if action.ReplicaSet == "" {
			if action.IsAct() && action.Kind != plan.Turn {
				t.Fatalf("%s names no replica set", action.Kind)
			}
			return
		}
		set := snapshot.Set(action.ReplicaSet)
		checkAct(t, action, *set)
		if action.Kind == plan.Restart || action.Kind == plan.StepDown {
			checkDisturbance(t, action, *set)
		}
	})
}

// checkDisturbance holds a restart or a step down to the gates, in words of its own.
func checkDisturbance(t *rapid.T, action plan.Action, set plan.ReplicaSet) {
	primaries := 0
	var target observed.Member
	for _, member := range set.Seen.Members {
		if member.Look.State == observed.StatePrimary {
			primaries++
		}
		if member.Name == action.Member {
			target = member
			continue
		}
		checkTwin(t, action, set, member)
	}
	if primaries != 1 {
		t.Fatalf("%s of %s while %d members claim to lead", action.Kind, action.Member, primaries)
	}
	if set.Verdicts[target.Name].Unknown != "" || !target.Serves() {
		t.Fatalf("%s of %s, of which nothing is known", action.Kind, action.Member)
	}
	leads := target.Look.State == observed.StatePrimary
	if action.Kind == plan.StepDown && !leads {
		t.Fatalf("%s is asked to step down and does not lead", action.Member)
	}
	if action.Kind == plan.Restart && leads && set.Members > 1 {
		t.Fatalf("the primary %s is restarted without handing over", action.Member)
	}
}

// checkTwin holds another member of the set to what it has to be while one is taken away.
func checkTwin(t *rapid.T, action plan.Action, set plan.ReplicaSet, member observed.Member) {
	switch {
	case !member.Pod.Exists, member.Pod.Terminating, !member.Pod.Ready:
		t.Fatalf("%s of %s while pod %s is away", action.Kind, action.Member, member.Name)
	case member.Look.State != observed.StatePrimary && member.Look.State != observed.StateSecondary:
		t.Fatalf("%s of %s while %s does not serve", action.Kind, action.Member, member.Name)
	}
	if lag, known := set.Seen.Lag(set.Hosts[member.Name]); !known || lag > 10*time.Second {
		t.Fatalf("%s of %s while %s is %s behind (known: %t)", action.Kind, action.Member, member.Name, lag, known)
	}
}

// checkAct holds the other actions to what has to be true of them.
func checkAct(t *rapid.T, action plan.Action, set plan.ReplicaSet) {
	var target observed.Member
	for _, member := range set.Seen.Members {
		if member.Name == action.Member {
			target = member
		}
		if action.Kind == plan.Initiate && member.Look.State != observed.StateUninitiated {
			t.Fatalf("the set is initiated while %s is not known to be empty", member.Name)
		}
		if file := set.Seen.Files[member.Name]; action.Kind == plan.WriteTemplate && !desired.CacheFits(file, set.Resources.Limits.Memory.Value()) {
			t.Fatalf("the template is written while the file of %s does not fit under it", member.Name)
		}
	}
	if target.Pod.UID != action.PodUID {
		t.Fatalf("%s names pod %q, seen was %q", action.Kind, action.PodUID, target.Pod.UID)
	}
	if holds, known := preconditions[action.Kind]; known && !holds(action, set, target) {
		t.Fatalf("%s of %s, which is %+v", action.Kind, action.Member, target.Pod)
	}
}

// preconditions are what has to be true of the member that an act concerns.
var preconditions = map[plan.Kind]func(plan.Action, plan.ReplicaSet, observed.Member) bool{
	plan.SetParameters: func(action plan.Action, set plan.ReplicaSet, target observed.Member) bool {
		return target.Serves() && set.Verdicts[target.Name].Unknown == "" && !action.Changes.IsEmpty()
	},
	plan.Recreate: func(_ plan.Action, _ plan.ReplicaSet, target observed.Member) bool {
		return !target.Serves() && target.Pod.Exists && !target.Pod.Terminating
	},
	plan.CreateUsers: func(_ plan.Action, _ plan.ReplicaSet, target observed.Member) bool {
		return target.Look.State == observed.StatePrimary && target.Look.LockedOut
	},
	plan.WriteConfig: func(action plan.Action, set plan.ReplicaSet, target observed.Member) bool {
		return action.File != "" && action.File != set.Seen.Files[target.Name]
	},
}
