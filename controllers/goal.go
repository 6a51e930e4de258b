// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/internal/window"
)

// goal puts the wanted revision and the one verified last beside each other.
func (r *MongoTuningReconciler) goal(ctx context.Context, want wanted, as secrets) (plan.Wanted, error) {
	goal := plan.Wanted{
		Cluster: desired.Cluster{
			Tuning: want.tuning, Resolved: want.resolved,
			OperatorImage: r.OperatorImage, OperatorNamespace: r.OperatorNamespace, ClusterDomain: r.ClusterDomain,
			KeyFileID: as.keyFileID(),
		},
		Revision: want.revision,
		Progress: status.ProgressOf(want.tuning.Status),
		Hosts:    want.tuning.Status.HostTuning,
	}
	if previous := goal.Progress.Previous; previous != "" {
		_, found, err := r.readRevision(ctx, want.tuning, previous)
		if err != nil {
			return goal, err
		}
		if !found {
			goal.Progress.Previous = ""
		}
	}
	if goal.Progress.Verified == "" || goal.Progress.Verified == want.revision {
		return goal, nil
	}
	content, found, err := r.readRevision(ctx, want.tuning, goal.Progress.Verified)
	if err != nil {
		return goal, err
	}
	if !found {
		// Nothing is left to return to, so the change travels as the first one did.
		goal.Progress.Verified, goal.Progress.Rollout = "", v1alpha1.RolloutStatus{}
		return goal, nil
	}
	verified := goal.Cluster
	verified.Tuning = content.LaidOver(want.tuning)
	// The patch number of the servers is no part of a revision.
	content.Resolved.Version = want.resolved.Version
	verified.Resolved = content.Resolved
	goal.Verified = &verified
	return goal, nil
}

// judge completes the pure judgement with what only the reconciler knows: how changes travel, since when
// it watches, and what people asked for.
func (r *MongoTuningReconciler) judge(ctx context.Context, tuning *v1alpha1.MongoTuning, goal plan.Wanted, seen observed.Cluster) (plan.Cluster, error) {
	key := client.ObjectKeyFromObject(tuning)
	missed := r.watches.note(key, &seen)
	cluster := plan.Judge(goal, seen)
	r.watches.tell(key, &cluster)
	cluster.Policy = plan.PolicyOf(tuning.Spec.Rollout)
	cluster.BaselineTime = baselineLooks * verify.Period(tuning.Spec.Verification)
	cluster.ClosedUntil = closedUntil(tuning.Spec.Rollout, seen.Now)
	cluster.Weigh(r.gauges.judge(tuning, goal, cluster))
	r.gauges.compare(key, &cluster, goal.Cluster.Resolved.Version.Line())
	cluster.Settled = status.Settled(tuning.Status, goal.Revision)
	cluster.ReportDrift = tuning.Spec.DriftPolicy == v1alpha1.DriftPolicyReport
	cluster.Proceed = tuning.Annotations[v1alpha1.AnnotationProceed] == goal.Revision
	if asked := tuning.Annotations[v1alpha1.AnnotationRetry]; asked == goal.Revision || strings.HasPrefix(asked, goal.Revision+"/") {
		cluster.Retry = asked
	}
	heldBack, err := r.heldBack(ctx, tuning, goal.Revision)
	cluster.HeldBack = heldBack
	if err == nil && len(missed) > 0 {
		err = &missedLookError{who: missed}
	}
	return cluster, err
}

// baselineLooks is how many looks a member's baseline takes at least.
const baselineLooks = 3

// closedUntil is when the next window opens, zero while one is open. Windows that cannot be read stall
// before.
func closedUntil(spec *v1alpha1.RolloutSpec, now time.Time) time.Time {
	if spec == nil {
		return time.Time{}
	}
	windows, _ := window.Parse(spec.Windows, now)
	opens, _ := windows.Closed(now)
	return opens
}

// heldBack says where the profile to change to was taken back: what broke one cluster is not tried on
// the next without a person.
func (r *MongoTuningReconciler) heldBack(ctx context.Context, tuning *v1alpha1.MongoTuning, revision string) (string, error) {
	if tuning.Spec.ProfileRef == nil {
		return "", nil
	}
	others := &v1alpha1.MongoTuningList{}
	if err := r.List(ctx, others); err != nil {
		return "", fmt.Errorf("list MongoTunings of the profile: %w", err)
	}
	for i := range others.Items {
		other := &others.Items[i]
		if other.UID != tuning.UID && other.Status.Revisions.FailedProfile == tuning.Spec.ProfileRef.Name {
			return fmt.Sprintf("profile %s was taken back on %s; retry it there, or set the annotation %s=%s here",
				tuning.Spec.ProfileRef.Name, client.ObjectKeyFromObject(other), v1alpha1.AnnotationRetry, revision), nil
		}
	}
	return "", nil
}
