// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// defaultRestoreDeadline is how long a deletion waits for its nodes when nobody says.
const defaultRestoreDeadline = 120 * time.Second

// Why a node keeps settings when its MongoTuning goes.
const (
	abandonedGone        = "gone"
	abandonedTerminating = "namespace-terminating"
	abandonedDeadline    = "deadline"
)

// restoreHosts puts every touched node back before the object goes. It is true when none is left: put
// back, or given up because the node is gone, because nothing can be made in a namespace that goes, or
// because the deadline is over. A deletion never waits longer.
func (r *MongoTuningReconciler) restoreHosts(ctx context.Context, tuning *v1alpha1.MongoTuning) (bool, error) {
	if len(tuning.Status.HostTuning.NodesTouched) == 0 {
		return true, nil
	}
	cluster := desired.Cluster{Tuning: tuning, OperatorImage: r.OperatorImage, OperatorNamespace: r.OperatorNamespace, ClusterDomain: r.ClusterDomain}
	if err := r.releaseHosts(ctx, cluster); err != nil {
		return false, err
	}
	pods, err := r.pods(ctx, tuning)
	if err != nil {
		return false, err
	}
	jobs, err := r.observeHostJobs(ctx, tuning, pods)
	if err != nil {
		return false, err
	}
	before := tuning.DeepCopy()
	left := []string{}
	for _, node := range before.Status.HostTuning.NodesTouched {
		restored, abandoned, err := r.restoreHost(ctx, cluster, node, jobs)
		switch {
		case err != nil:
			return false, err
		case restored:
			r.say(tuning, corev1.EventTypeNormal, v1alpha1.EventHostRestored, "RestoreHost", "node "+node+" was put back")
		case abandoned != "":
			r.abandon(tuning, node, abandoned)
		default:
			left = append(left, node)
		}
	}
	if len(left) == len(before.Status.HostTuning.NodesTouched) {
		return false, nil
	}
	tuning.Status.HostTuning.NodesTouched = left
	tuning.Status.HostTuning.Nodes = slices.DeleteFunc(tuning.Status.HostTuning.Nodes, func(node v1alpha1.HostNodeStatus) bool { return !slices.Contains(left, node.Name) })
	err = r.Status().Patch(ctx, tuning, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return len(left) == 0, client.IgnoreNotFound(wrap(err, "write status"))
}

// releaseHosts takes the settings of all nodes away, so that a member that starts meanwhile writes
// nothing.
func (r *MongoTuningReconciler) releaseHosts(ctx context.Context, cluster desired.Cluster) error {
	before, err := r.hostFiles(ctx, cluster.Tuning)
	if err != nil || len(before) == 0 {
		return err
	}
	err = r.apply(ctx, cluster.Tuning, cluster.HostSettingsReleased())
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// restoreHost brings one node a step nearer to what it was: restored, or the reason why it is given up,
// or neither while it is under way.
func (r *MongoTuningReconciler) restoreHost(ctx context.Context, cluster desired.Cluster, node string, jobs []observed.HostJob) (restored bool, abandoned string, err error) {
	if gone, err := r.isGone(ctx, node); err != nil || gone {
		return false, abandonedGone, err
	}
	since := cluster.Tuning.Status.HostTuning.Of(node)
	name := desired.HostJobName(cluster.Tuning, since, naming.HostJobRestore, "")
	i := slices.IndexFunc(jobs, func(job observed.HostJob) bool { return job.Name == name })
	if i >= 0 && jobs[i].State == observed.TrialPassed {
		return true, "", nil
	}
	if r.Clock.Since(cluster.Tuning.DeletionTimestamp.Time) >= restoreDeadline(cluster.Tuning) {
		return false, abandonedDeadline, nil
	}
	if i >= 0 {
		return false, "", nil
	}
	err = r.startHostJob(ctx, cluster, cluster.RestoreHost(since))
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, abandonedTerminating, nil
	case stallFrom(err) != nil:
		// Refused now; a person may still let it through before the deadline.
		r.say(cluster.Tuning, corev1.EventTypeWarning, v1alpha1.ReasonPodRefused, "RestoreHost", err.Error())
		return false, "", nil
	}
	return false, "", err
}

func restoreDeadline(tuning *v1alpha1.MongoTuning) time.Duration {
	if spec := tuning.Spec.HostTuning; spec != nil && spec.RestoreDeadlineSeconds != nil {
		return time.Duration(*spec.RestoreDeadlineSeconds) * time.Second
	}
	return defaultRestoreDeadline
}

// abandon tells that a node keeps what was set on it.
func (r *MongoTuningReconciler) abandon(tuning *v1alpha1.MongoTuning, node, why string) {
	sentence := map[string]string{
		abandonedGone:        "it does not exist any more",
		abandonedTerminating: "its namespace is being deleted, and nothing can be made in it",
		abandonedDeadline:    fmt.Sprintf("hostTuning.restoreDeadlineSeconds (%d) is over", int(restoreDeadline(tuning).Seconds())),
	}[why]
	r.Metrics.HostRestoreAbandoned(why)
	r.say(tuning, corev1.EventTypeWarning, v1alpha1.EventHostRestoreAbandoned, "RestoreHost", fmt.Sprintf(
		"node %s was not put back: %s. What was found there first stays recorded in /var/lib/mongotuning on the node", node, cmp.Or(sentence, why)))
}
