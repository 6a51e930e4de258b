// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// actReasons are the reasons of the events that tell an act. The reasons of conditions say what is waited
// for, and are the same for many acts.
var actReasons = map[plan.Kind]string{
	plan.Initiate:       v1alpha1.EventReplicaSetInitiated,
	plan.CreateUsers:    v1alpha1.EventUsersCreated,
	plan.CreateApp:      v1alpha1.EventApplicationUserCreated,
	plan.AddShard:       v1alpha1.EventShardAdded,
	plan.StartTrial:     v1alpha1.EventTrialStarted,
	plan.WriteConfig:    v1alpha1.EventFileWritten,
	plan.WriteTemplate:  v1alpha1.EventTemplateWritten,
	plan.SetParameters:  v1alpha1.EventValuesSet,
	plan.StepDown:       v1alpha1.EventStepDownAsked,
	plan.Restart:        v1alpha1.EventMemberRestarted,
	plan.Recreate:       v1alpha1.EventPodRecreated,
	plan.ReplaceKeyFile: v1alpha1.EventKeyFileReplaced,
	plan.TuneHost:       v1alpha1.EventHostTuned,
	plan.RestoreHost:    v1alpha1.EventHostRestoring,
}

// actReason is the reason of the event that tells an act.
func actReason(action plan.Action) string {
	if reason, known := actReasons[action.Kind]; known {
		return reason
	}
	return action.Reason
}

// stepReasons are the reasons of the events that tell that a change has come to a step.
var stepReasons = map[v1alpha1.RolloutStep]string{
	v1alpha1.StepCanary:        v1alpha1.EventRolloutStarted,
	v1alpha1.StepCanarySoak:    v1alpha1.EventCanarySoaking,
	v1alpha1.StepCanaryLeads:   v1alpha1.EventCanaryTakesLead,
	v1alpha1.StepLeadSoak:      v1alpha1.EventCanaryLeading,
	v1alpha1.StepRestOfShard:   v1alpha1.EventCanaryPassed,
	v1alpha1.StepOtherShards:   v1alpha1.EventShardFinished,
	v1alpha1.StepConfigServers: v1alpha1.EventShardsFinished,
	v1alpha1.StepMongos:        v1alpha1.EventMembersFinished,
	v1alpha1.StepVerifying:     v1alpha1.EventRolloutVerifying,
	v1alpha1.StepReturning:     v1alpha1.EventRollbackStarted,
	v1alpha1.StepReturned:      v1alpha1.EventRolledBack,
}

// turnReason is the reason of the event that tells that a change went from one state to the next.
func turnReason(before, after v1alpha1.MongoTuningStatus) string {
	from, to := before.Rollout, after.Rollout
	switch {
	case to.Step == "" && before.Revisions.Verified != after.Revisions.Verified:
		return v1alpha1.EventRolloutCompleted
	case to.Step == "" && before.LastHandledRetry != after.LastHandledRetry:
		return v1alpha1.EventRolloutRetried
	case to.Step == "":
		return v1alpha1.EventRolloutAbandoned
	case to.Revision != from.Revision && to.Step != v1alpha1.StepReturning:
		return v1alpha1.EventRolloutStarted
	case to.Step == from.Step && to.Breach != "":
		return v1alpha1.EventRolloutPaused
	default:
		return stepReasons[to.Step]
	}
}
