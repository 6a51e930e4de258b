// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/test/source"
)

func at(step v1alpha1.RolloutStep, change func(*v1alpha1.MongoTuningStatus)) v1alpha1.MongoTuningStatus {
	status := v1alpha1.MongoTuningStatus{
		Revisions: v1alpha1.RevisionsStatus{Current: "demo-2", Verified: "demo-1"},
		Rollout:   v1alpha1.RolloutStatus{Revision: "demo-2", Step: step},
	}
	if step == "" {
		status.Rollout = v1alpha1.RolloutStatus{}
	}
	if change != nil {
		change(&status)
	}
	return status
}

func TestEachTurnHasAReasonOfItsOwn(t *testing.T) {
	arrived := func(s *v1alpha1.MongoTuningStatus) { s.Revisions.Verified = "demo-2" }
	retried := func(s *v1alpha1.MongoTuningStatus) { s.LastHandledRetry = "demo-2" }
	broken := func(s *v1alpha1.MongoTuningStatus) { s.Rollout.Breach = "dirty cache 30% is above 20%" }
	other := func(s *v1alpha1.MongoTuningStatus) { s.Rollout.Revision = "demo-3" }
	for _, row := range []struct {
		name          string
		before, after v1alpha1.MongoTuningStatus
		want          string
	}{
		{"a change begins", at("", nil), at(v1alpha1.StepCanary, nil), v1alpha1.EventRolloutStarted},
		{"a change of mongos alone begins", at("", nil), at(v1alpha1.StepMongos, nil), v1alpha1.EventRolloutStarted},
		{"a newer change takes the place of one on its way", at(v1alpha1.StepCanarySoak, nil), at(v1alpha1.StepCanary, other), v1alpha1.EventRolloutStarted},
		{"the canary has it", at(v1alpha1.StepCanary, nil), at(v1alpha1.StepCanarySoak, nil), v1alpha1.EventCanarySoaking},
		{"the canary has to lead", at(v1alpha1.StepCanarySoak, nil), at(v1alpha1.StepCanaryLeads, nil), v1alpha1.EventCanaryTakesLead},
		{"the canary leads", at(v1alpha1.StepCanaryLeads, nil), at(v1alpha1.StepLeadSoak, nil), v1alpha1.EventCanaryLeading},
		{"the canary has passed", at(v1alpha1.StepLeadSoak, nil), at(v1alpha1.StepRestOfShard, nil), v1alpha1.EventCanaryPassed},
		{"its shard is done", at(v1alpha1.StepRestOfShard, nil), at(v1alpha1.StepOtherShards, nil), v1alpha1.EventShardFinished},
		{"all shards are done", at(v1alpha1.StepOtherShards, nil), at(v1alpha1.StepConfigServers, nil), v1alpha1.EventShardsFinished},
		{"all members are done", at(v1alpha1.StepConfigServers, nil), at(v1alpha1.StepMongos, nil), v1alpha1.EventMembersFinished},
		{"all of it is watched", at(v1alpha1.StepMongos, nil), at(v1alpha1.StepVerifying, nil), v1alpha1.EventRolloutVerifying},
		{"it has arrived", at(v1alpha1.StepVerifying, nil), at("", arrived), v1alpha1.EventRolloutCompleted},
		{"it broke a limit", at(v1alpha1.StepCanarySoak, nil), at(v1alpha1.StepReturning, broken), v1alpha1.EventRollbackStarted},
		{"a revision that had arrived broke a limit", at("", nil), at(v1alpha1.StepReturning, broken), v1alpha1.EventRollbackStarted},
		{"it is back", at(v1alpha1.StepReturning, broken), at(v1alpha1.StepReturned, broken), v1alpha1.EventRolledBack},
		{"it broke a limit and stays", at(v1alpha1.StepCanarySoak, nil), at(v1alpha1.StepCanarySoak, broken), v1alpha1.EventRolloutPaused},
		{"it is tried again", at(v1alpha1.StepReturned, broken), at("", retried), v1alpha1.EventRolloutRetried},
		{"the spec takes it back", at(v1alpha1.StepCanarySoak, nil), at("", nil), v1alpha1.EventRolloutAbandoned},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := turnReason(row.before, row.after); got != row.want {
				t.Errorf("reason is %s, want %s", got, row.want)
			}
		})
	}
}

func TestEachActHasAReasonOfItsOwn(t *testing.T) {
	seen := map[string]plan.Kind{}
	for kind := plan.Nothing; kind <= plan.RestoreHost; kind++ {
		action := plan.Action{Kind: kind, Reason: "Other"}
		if !action.IsAct() || kind == plan.Turn {
			continue
		}
		reason := actReason(action)
		if other, taken := seen[reason]; taken || reason == "Other" {
			t.Errorf("%s is told as %s, as %s is", kind, reason, other)
		}
		seen[reason] = kind
	}
	if len(seen) < 12 {
		t.Errorf("found %d acts only", len(seen))
	}
}

func TestEachStepHasAReason(t *testing.T) {
	for name, value := range source.Constants(t, "../api/v1alpha1/rollout_types.go") {
		if strings.HasPrefix(name, "Step") && stepReasons[v1alpha1.RolloutStep(value)] == "" {
			t.Errorf("no event tells that a change came to step %s", value)
		}
	}
}
