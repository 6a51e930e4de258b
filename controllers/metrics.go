// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/metrics"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// recordMetrics shows what the look has found. While nothing could ever be resolved there are conditions
// and no members.
func (r *MongoTuningReconciler) recordMetrics(tuning *v1alpha1.MongoTuning, facts status.Facts) {
	found := metrics.Cluster{
		LookedAt: facts.Now, Period: verify.Period(tuning.Spec.Verification), Conditions: tuning.Status.Conditions,
		Step: tuning.Status.Rollout.Step, Waiting: tuning.Status.Waiting, MongoDBVersion: tuning.Spec.MongoDB.Version, Profile: facts.Profile,
	}
	for _, set := range facts.Cluster.ReplicaSets {
		for _, seen := range set.Seen.Members {
			verdict := set.Verdicts[seen.Name]
			member := metrics.Member{IsAnswering: verdict.Unknown == "", Gauges: facts.Cluster.Gauges.Of(seen.Name)}
			member.Proved, member.Declared = verdict.Proved()
			for _, knob := range verdict.Knobs {
				if knob.Verdict == v1alpha1.KnobMismatched || knob.Verdict == v1alpha1.KnobPendingRestart {
					member.Mismatched++
				}
			}
			member.Gauges.ReplicaSet = set.Name
			found.Members = append(found.Members, member)
		}
	}
	found.Hosts, found.HostWarnings = hostMetrics(tuning.Status.HostTuning), len(tuning.Status.HostTuning.Warnings)
	r.Metrics.Record(client.ObjectKeyFromObject(tuning), found)
}

// countTurn counts that a change went to its next step, once that is written. A change is on its way no
// more when it has arrived, and also when it is retried or taken back by a new spec; those are not counted.
func (r *MongoTuningReconciler) countTurn(tuning *v1alpha1.MongoTuning, before v1alpha1.MongoTuningStatus, facts status.Facts) {
	if facts.Action.Kind != plan.Turn || facts.Stall != nil || facts.Suspended {
		return
	}
	step := tuning.Status.Rollout.Step
	if step != "" || before.Revisions.Verified != tuning.Status.Revisions.Verified {
		r.Metrics.Turned(client.ObjectKeyFromObject(tuning), step)
	}
}
