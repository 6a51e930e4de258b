// SPDX-License-Identifier: Apache-2.0

// Package controllers holds the reconcilers. They are glue: fetch, apply, observe, perform, record. What
// to do is decided in internal/plan, how it stands in internal/verify and internal/status.
package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/metrics"
	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// MongoTuningReconciler brings one MongoTuning to its declared tuning and keeps watching it there.
type MongoTuningReconciler struct {
	client.Client
	// Uncached reads Secrets by name; the operator has no right to list them.
	Uncached client.Reader
	// Recorder writes events.
	Recorder events.EventRecorder
	// Databases talks to the servers.
	Databases Databases
	// ExitLogs reads why a server ended; nil leaves its log unread.
	ExitLogs *ExitLogs
	// HostReaders asks the readers in the pods for host settings; nil leaves hosts unread.
	HostReaders HostReaders
	// Clock gives the one reading of the time that a look uses.
	Clock clock.PassiveClock
	// Metrics shows what every look finds; nil shows nothing.
	Metrics *metrics.Recorder
	// OperatorImage prepares and probes the database pods.
	OperatorImage string
	// OperatorNamespace is where the operator runs.
	OperatorNamespace string
	// ClusterDomain is the DNS suffix of the Kubernetes cluster.
	ClusterDomain string
	// Concurrency is how many MongoTunings are looked at at once.
	Concurrency int
	// MaxRollouts is how many MongoTunings may roll out at once; 0 is as many as there are.
	MaxRollouts int

	applied appliedObjects
	apps    knownApps
	watches watches
	slots   slots
	gauges  gaugeMemory

	recordings recordings
}

// How soon to look again. Pods and objects wake the reconciler by themselves; servers do not.
const (
	// waitPeriod is the time between looks while something is under way in a server.
	waitPeriod = 2 * time.Second
	// actPeriod is the time to the look that shows what an act has done.
	actPeriod = 200 * time.Millisecond
)

// +kubebuilder:rbac:groups=mongotuning.io,resources=mongotunings,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=mongotuning.io,resources=mongotunings/status,verbs=patch
// +kubebuilder:rbac:groups=mongotuning.io,resources=mongotunings/finalizers,verbs=update
// +kubebuilder:rbac:groups=mongotuning.io,resources=tuningprofiles,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=statefulsets;deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=configmaps;services;serviceaccounts,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Reconcile brings one MongoTuning a step nearer to its declared tuning and records how it stands.
func (r *MongoTuningReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	tuning := &v1alpha1.MongoTuning{}
	if err := r.Get(ctx, req.NamespacedName, tuning); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !tuning.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, tuning)
	}
	if err := r.ensureFinalizer(ctx, tuning); err != nil {
		return ctrl.Result{}, err
	}
	facts, err := r.reconcile(ctx, tuning)
	if missed := (*missedLookError)(nil); errors.As(err, &missed) {
		log.FromContext(ctx).Info("Looking again", "why", missed.Error())
		r.recordMetrics(tuning, facts)
		return ctrl.Result{RequeueAfter: waitPeriod}, nil
	}
	if stall := stallFrom(err); stall != nil {
		// Trying again at once helps nobody; the next look will.
		facts.Stall, err = stall, nil
	}
	if err != nil {
		return ctrl.Result{}, errors.Join(err, r.recordFailure(ctx, tuning, facts, err))
	}
	if err := r.record(ctx, tuning, facts); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: nextLook(facts, verify.Period(tuning.Spec.Verification))}, nil
}

// recordFailure tells in the status why the act that was chosen failed; it is tried again with backoff.
// Without a look there is nothing true to say, and the status stays as it was.
func (r *MongoTuningReconciler) recordFailure(ctx context.Context, tuning *v1alpha1.MongoTuning, facts status.Facts, failure error) error {
	if len(facts.Cluster.ReplicaSets) == 0 {
		return nil
	}
	facts.Action = plan.Action{Kind: plan.Wait, Reason: facts.Action.Reason, Message: "failed and will be tried again: " + failure.Error()}
	return r.record(ctx, tuning, facts)
}

// reconcile tells the job in order. It performs at most one act and then returns; a refused or
// suspended spec skips the acts and nothing else.
func (r *MongoTuningReconciler) reconcile(ctx context.Context, tuning *v1alpha1.MongoTuning) (status.Facts, error) {
	facts := status.Facts{Now: r.Clock.Now(), Generation: tuning.Generation, Suspended: isSuspended(tuning)}
	want, err := r.resolve(ctx, tuning)
	if err != nil {
		return facts, err
	}
	facts.Resolved, facts.Revision, facts.Stall = want.resolved, want.revision, want.stall
	if ref := tuning.Spec.ProfileRef; ref != nil {
		facts.Profile = ref.Name
	}
	if !want.known {
		return facts, nil
	}
	mayAct := want.stall == nil && !facts.Suspended
	credentialsOf := r.findSecrets
	if mayAct {
		credentialsOf = r.ensureSecrets
	}
	credentials, err := credentialsOf(ctx, tuning)
	if err != nil {
		return facts, err
	}
	goal, err := r.goal(ctx, want, credentials)
	if err != nil {
		return facts, err
	}
	barred := error(nil)
	if mayAct {
		// What bars the way here does not end the watch: look and judge all the same.
		if barred = r.prepare(ctx, want, goal); barred != nil && stallFrom(barred) == nil {
			return facts, barred
		}
	}
	if err := cmp.Or(r.lookAndAdmit(ctx, tuning, goal, credentials, &facts), barred); err != nil {
		return facts, err
	}
	if mayAct && facts.Action.IsAct() {
		err = r.act(ctx, goal, credentials, &facts)
	}
	return facts, err
}

// act carries out the action that was chosen. What somebody refuses for the moment becomes a wait.
func (r *MongoTuningReconciler) act(ctx context.Context, goal plan.Wanted, as secrets, facts *status.Facts) error {
	err := r.perform(ctx, goal, as, facts.Action)
	switch {
	case errors.Is(err, errBudgetClosed):
		facts.Action, err = waitForBudget(facts.Action), nil
	case facts.Action.Kind == plan.StepDown && errors.Is(err, mongodb.ErrExceededTimeLimit):
		r.watches.refuseStepDown(keyOf(goal.Cluster.Tuning), facts.Now)
		facts.Action, err = waitForSecondary(facts.Action), nil
	}
	return err
}

// prepare records the wanted revision and applies what restarts nobody.
func (r *MongoTuningReconciler) prepare(ctx context.Context, want wanted, goal plan.Wanted) error {
	if err := r.recordRevision(ctx, want); err != nil {
		return err
	}
	return r.applyHarmless(ctx, goal)
}

// lookAndAdmit looks, and lets those members go on that wait for the settings of their node. That is done
// also while a spec is refused: a member that has to start on another node must not wait for a person.
func (r *MongoTuningReconciler) lookAndAdmit(ctx context.Context, tuning *v1alpha1.MongoTuning, goal plan.Wanted, as secrets, facts *status.Facts) error {
	if err := r.lookAndJudge(ctx, tuning, goal, as, facts); err != nil || facts.Suspended {
		return err
	}
	return r.admitHosts(ctx, tuning, goal, facts.Cluster.Hosts)
}

// lookAndJudge takes one snapshot, judges it, and chooses the next action.
func (r *MongoTuningReconciler) lookAndJudge(ctx context.Context, tuning *v1alpha1.MongoTuning, goal plan.Wanted, as secrets, facts *status.Facts) error {
	began := r.Clock.Now()
	seen, err := r.observe(ctx, goal.Cluster, as)
	if err != nil {
		return err
	}
	r.Metrics.Looked(r.Clock.Since(began))
	if facts.Cluster, err = r.judge(ctx, tuning, goal, seen); err != nil {
		return err
	}
	facts.Action = plan.Next(facts.Cluster)
	if mayAct := facts.Stall == nil && !facts.Suspended; !mayAct || !plan.NeedsSlot(facts.Cluster, facts.Action) {
		return nil
	}
	if facts.Cluster.NoSlot, err = r.takeSlot(ctx, tuning, seen.Now); err == nil && facts.Cluster.NoSlot != "" {
		facts.Action = plan.Next(facts.Cluster)
	}
	return err
}

// stallFrom is the stall that an error amounts to; nil when trying again may help.
func stallFrom(err error) *status.Stall {
	var foreign *foreignObjectError
	var refused *podRefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &foreign):
		return &status.Stall{Reason: v1alpha1.ReasonForeignObject, Message: foreign.Error()}
	case errors.As(err, &refused):
		return &status.Stall{Reason: v1alpha1.ReasonPodRefused, Message: refused.Error()}
	case apierrors.IsForbidden(err):
		return &status.Stall{Reason: v1alpha1.ReasonForbidden, Message: err.Error()}
	case apierrors.IsInvalid(err):
		return &status.Stall{Reason: v1alpha1.ReasonImmutableFieldChanged, Message: err.Error()}
	default:
		return nil
	}
}

func isSuspended(tuning *v1alpha1.MongoTuning) bool {
	asked := tuning.Spec.Suspend != nil && *tuning.Spec.Suspend
	return asked || tuning.Annotations[v1alpha1.AnnotationSuspend] == "true"
}

// nextLook is how soon to look again; period is the time between looks at a cluster that is as it should
// be.
func nextLook(facts status.Facts, period time.Duration) time.Duration {
	switch {
	case facts.Stall != nil || facts.Suspended || facts.Action.Kind == plan.Nothing || facts.Action.Kind == plan.Stall:
		return jittered(period)
	case facts.Action.IsAct():
		return actPeriod
	default:
		return waitPeriod
	}
}

// jitter is by which share a period is made longer or shorter at random, so that an operator that has
// just started does not look at all its clusters in the same moment for ever.
const jitter = 0.1

func jittered(period time.Duration) time.Duration {
	return period + time.Duration((2*rand.Float64()-1)*jitter*float64(period)) //nolint:gosec // nobody gains by guessing it
}

// ensureFinalizer adds the finalizer by a patch of that one list, so that nothing of what the user
// wrote is written back in another spelling.
func (r *MongoTuningReconciler) ensureFinalizer(ctx context.Context, tuning *v1alpha1.MongoTuning) error {
	if controllerutil.ContainsFinalizer(tuning, v1alpha1.Finalizer) {
		return nil
	}
	before := tuning.DeepCopy()
	controllerutil.AddFinalizer(tuning, v1alpha1.Finalizer)
	if err := r.Patch(ctx, tuning, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add finalizer: %w", err)
	}
	return nil
}

// record writes the status when a fact has changed, and tells what changed as events.
func (r *MongoTuningReconciler) record(ctx context.Context, tuning *v1alpha1.MongoTuning, facts status.Facts) error {
	before := tuning.DeepCopy()
	facts.Action = plan.Overdue(facts.Action, tuning.Status.Waiting, facts.Now, plan.PolicyOf(tuning.Spec.Rollout).WaitDeadline)
	tuning.Status = status.Compute(tuning.Status, facts)
	if !holdsSlot(tuning) {
		r.slots.giveBack(client.ObjectKeyFromObject(tuning))
	}
	r.recordMetrics(tuning, facts)
	if equality.Semantic.DeepEqual(before.Status, tuning.Status) {
		r.keepRecording(ctx, tuning, facts)
		return nil
	}
	// Under the condition that nobody wrote since: a status made from an old one would tell turns twice.
	err := r.Status().Patch(ctx, tuning, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the look that follows the newer object writes it
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	r.keepRecording(ctx, tuning, facts)
	r.tellWarnings(tuning, before.Status, facts)
	// The cause before what follows from it.
	r.tellBreaches(tuning, before.Status.Breaches, facts.Cluster.Gauges)
	r.countTurn(tuning, before.Status, facts)
	r.tellTurn(tuning, before.Status, facts)
	r.tell(tuning, before.Status)
	r.tellDrift(tuning, before.Status, facts)
	r.tellHosts(tuning, before.Status.HostTuning, facts)
	log.FromContext(ctx).Info("Recorded status", "proved", tuning.Status.ProvedMembers, "action", facts.Action.Kind.String(), "message", facts.Action.Message)
	return nil
}

// SetupWithManager makes the manager wake the reconciler for its object, everything it owns, the pods
// of its members, and the profiles that objects refer to.
func (r *MongoTuningReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.MongoTuning{}).
		Owns(&appsv1.StatefulSet{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.ConfigMap{}).
		// By label, since the Jobs that put nodes back belong to nobody.
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(tuningOfPod)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(tuningOfPod)).
		Watches(&v1alpha1.TuningProfile{}, handler.EnqueueRequestsFromMapFunc(r.tuningsOfProfile)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Complete(r)
}

// tuningsOfProfile are the objects that refer to a profile: they may be waiting for it to appear.
func (r *MongoTuningReconciler) tuningsOfProfile(ctx context.Context, profile client.Object) []reconcile.Request {
	tunings := &v1alpha1.MongoTuningList{}
	if err := r.List(ctx, tunings); err != nil {
		log.FromContext(ctx).Error(err, "Could not list the MongoTunings of a profile", "profile", profile.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range tunings.Items {
		if ref := tunings.Items[i].Spec.ProfileRef; ref != nil && ref.Name == profile.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&tunings.Items[i])})
		}
	}
	return requests
}
