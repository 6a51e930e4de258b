// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientkubernetes "k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/controllers"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/test/builders"
	"github.com/mongotuning/mongotuning/test/scripted"
)

// world is one namespace with one MongoTuning, its servers, and an operator that a test moves by hand:
// one reconcile at a time, so that every order of things can be had and nothing is waited for.
type world struct {
	t         *testing.T
	ctx       context.Context
	namespace string
	// admin may do everything; the operator goes through its own account.
	admin      client.Client
	operator   client.WithWatch
	logs       corev1client.PodsGetter
	servers    *scripted.Servers
	databases  *databases
	kubernetes *kubernetes
	journal    *journal
	clock      *clocktesting.FakePassiveClock
	events     *events.FakeRecorder
	reconciler *controllers.MongoTuningReconciler
	key        client.ObjectKey
	// list answers the operator's lists instead of the API server, when set.
	list listFunc
	// tolerates are errors of reconciles that a test expects.
	tolerates func(error) bool
}

const (
	// stepTime is how much time passes between two reconciles.
	stepTime = 10 * time.Second
	// manySteps are more than any story below takes.
	manySteps = 400
)

func newWorld(t *testing.T) *world {
	t.Helper()
	admin, err := client.New(shared.config, client.Options{Scheme: shared.scheme})
	if err != nil {
		t.Fatal(err)
	}
	operator, err := client.NewWithWatch(asOperator(), client.Options{Scheme: shared.scheme})
	if err != nil {
		t.Fatal(err)
	}
	clients, err := clientkubernetes.NewForConfig(asOperator())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		logs: clients.CoreV1(),
		t:    t, ctx: t.Context(), admin: admin, operator: operator, servers: scripted.NewServers(), journal: &journal{},
		clock:     clocktesting.NewFakePassiveClock(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)),
		tolerates: func(error) bool { return false },
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "test-",
		// The API server itself refuses pods that are not restricted.
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	w.must(admin.Create(w.ctx, namespace))
	w.namespace = namespace.Name
	w.key = client.ObjectKey{Namespace: w.namespace, Name: "demo"}
	w.kubernetes = &kubernetes{t: t, client: admin, namespace: w.namespace, servers: w.servers, made: map[string]int{}, node: "node", hosts: newPlayedHosts()}
	w.databases = &databases{servers: w.servers, journal: w.journal, tuning: "demo", frozen: map[string]observed.Look{}}
	w.startOperator()
	return w
}

// startOperator starts an operator with an empty memory, in the place of the one before.
func (w *world) startOperator() {
	w.events = events.NewFakeRecorder(10000)
	list := func(ctx context.Context, c client.WithWatch, objects client.ObjectList, options ...client.ListOption) error {
		if w.list != nil {
			return w.list(ctx, c, objects, options...)
		}
		return c.List(ctx, objects, options...)
	}
	through := w.journal.over(w.operator, list)
	w.reconciler = &controllers.MongoTuningReconciler{
		Client: through, Uncached: through, Recorder: w.events, Databases: w.databases, Clock: w.clock,
		ExitLogs:      &controllers.ExitLogs{Pods: w.logs},
		HostReaders:   &playedReaders{kubernetes: w.kubernetes},
		OperatorImage: "example.org/mongotuning:test", OperatorNamespace: operatorNamespace, ClusterDomain: "cluster.local",
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// create makes the MongoTuning, with the limits off: servers that only play have no gauges.
func (w *world) create(cluster *builders.Cluster) {
	w.t.Helper()
	object := cluster.WithoutLimits().In(w.namespace).Object()
	object.UID = ""
	w.must(w.admin.Create(w.ctx, object))
}

// small is the cluster of most stories: as few members as a story of replica sets can have.
func small() *builders.Cluster { return builders.ShardedCluster().ConfigServers(1).Soak(0) }

// tuning is the object as it is now.
func (w *world) tuning() *v1alpha1.MongoTuning {
	w.t.Helper()
	tuning := &v1alpha1.MongoTuning{}
	w.must(w.admin.Get(w.ctx, w.key, tuning))
	return tuning
}

// change changes the object as a user does.
func (w *world) change(change func(*v1alpha1.MongoTuning)) {
	w.t.Helper()
	tuning := w.tuning()
	change(tuning)
	w.must(w.admin.Update(w.ctx, tuning))
}

// reconcile lets the operator look once.
func (w *world) reconcile() error {
	_, err := w.reconciler.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key})
	if w.journal.hasCrashed() {
		w.journal.restart()
		w.startOperator()
		return nil
	}
	if errors.Is(err, errLost) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// step lets Kubernetes do what there is to do, time pass, and the operator look once.
func (w *world) step() {
	w.t.Helper()
	w.kubernetes.step(w.ctx)
	w.clock.SetTime(w.clock.Now().Add(stepTime))
	if err := w.reconcile(); err != nil && !w.tolerates(err) {
		w.t.Fatalf("reconcile: %v", err)
	}
}

// until goes on until something holds.
func (w *world) until(what string, holds func(*v1alpha1.MongoTuning) bool) *v1alpha1.MongoTuning {
	w.t.Helper()
	for range manySteps {
		w.step()
		if tuning := w.tuning(); holds(tuning) {
			return tuning
		}
	}
	w.t.Fatalf("%s did not come about:\n%s", what, describe(w.tuning()))
	return nil
}

// untilReady goes on until the declared generation is in force and proved.
func (w *world) untilReady() *v1alpha1.MongoTuning {
	w.t.Helper()
	return w.until("Ready", func(tuning *v1alpha1.MongoTuning) bool {
		return tuning.Status.ObservedGeneration == tuning.Generation && conditionIs(tuning, v1alpha1.ConditionReady, metav1.ConditionTrue)
	})
}

// untilStalled goes on until the object stalls for a reason.
func (w *world) untilStalled(reason string) *v1alpha1.MongoTuning {
	w.t.Helper()
	return w.until("Stalled "+reason, func(tuning *v1alpha1.MongoTuning) bool {
		stalled := meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionStalled)
		return stalled != nil && stalled.Reason == reason && tuning.Status.ObservedGeneration == tuning.Generation
	})
}

func conditionIs(tuning *v1alpha1.MongoTuning, name string, status metav1.ConditionStatus) bool {
	condition := meta.FindStatusCondition(tuning.Status.Conditions, name)
	return condition != nil && condition.Status == status && condition.ObservedGeneration == tuning.Generation
}

// describe is a status in a few lines.
func describe(tuning *v1alpha1.MongoTuning) string {
	text := fmt.Sprintf("generation %d, observed %d, proved %s, rollout %+v, revisions %+v\n",
		tuning.Generation, tuning.Status.ObservedGeneration, tuning.Status.ProvedMembers, tuning.Status.Rollout, tuning.Status.Revisions)
	for _, condition := range tuning.Status.Conditions {
		text += fmt.Sprintf("  %s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return text
}

// isQuiet fails when the operator writes anything in a few more looks.
func (w *world) isQuiet() {
	w.t.Helper()
	before, acts := w.journal.count(), len(w.servers.Acts())
	for range 3 {
		w.step()
	}
	if written := w.journal.since(before); len(written) > 0 {
		w.t.Errorf("the operator writes although everything is as it should be: %v", written)
	}
	if after := len(w.servers.Acts()); after != acts {
		w.t.Errorf("%d acts on servers although everything is as it should be", after-acts)
	}
}
