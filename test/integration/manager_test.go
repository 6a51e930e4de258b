// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega" //nolint:revive // the usual way to read its sentences
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientkubernetes "k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/controllers"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// startManager runs the reconciler as the operator's process does: with a cache, woken by watches.
func (w *world) startManager() *controllers.MongoTuningReconciler {
	w.t.Helper()
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{naming.LabelManagedBy: naming.ManagedBy})}
	options := ctrl.Options{
		Scheme: shared.scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{w.namespace: {}},
			ByObject: map[client.Object]cache.ByObject{
				&appsv1.StatefulSet{}: ours, &appsv1.Deployment{}: ours, &appsv1.ControllerRevision{}: ours, &batchv1.Job{}: ours,
				&corev1.Pod{}: ours, &corev1.ConfigMap{}: ours, &corev1.Service{}: ours, &corev1.ServiceAccount{}: ours,
				&policyv1.PodDisruptionBudget{}: ours, &networkingv1.NetworkPolicy{}: ours,
			},
		},
	}
	mgr, err := ctrl.NewManager(asOperator(), options)
	w.must(err)
	clients, err := clientkubernetes.NewForConfig(asOperator())
	w.must(err)
	reconciler := &controllers.MongoTuningReconciler{
		Client: mgr.GetClient(), Uncached: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(naming.FieldOwner),
		Databases: w.databases, Clock: clock.RealClock{}, ExitLogs: &controllers.ExitLogs{Pods: clients.CoreV1()},
		OperatorImage: "example.org/mongotuning:test", OperatorNamespace: operatorNamespace, ClusterDomain: "cluster.local", Concurrency: 1,
	}
	w.must(reconciler.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the manager ended with %v", err)
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		w.t.Fatal("the cache never filled")
	}
	return reconciler
}

const (
	patience = 3 * time.Minute
	glance   = 100 * time.Millisecond
)

// TestWatchesWakeTheOperator lets everything happen by watches alone: the profile that appears, the pods
// that become ready, the change of a spec, a lost object. It is also where the rights to list and watch
// are used.
func TestWatchesWakeTheOperator(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	reconciler := w.startManager()
	profile := profileWith("of-"+w.namespace, 30)
	w.create(small().Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.ProfileRef = &v1alpha1.ProfileReference{Name: profile.Name}
	}))
	reason := func() string {
		w.kubernetes.step(w.ctx)
		tuning := w.tuning()
		for _, condition := range tuning.Status.Conditions {
			if condition.Type == v1alpha1.ConditionReady && condition.ObservedGeneration == tuning.Generation {
				return string(condition.Status) + " " + condition.Reason
			}
		}
		return ""
	}
	g.Eventually(reason, patience, glance).Should(Equal("False " + v1alpha1.ReasonProfileNotFound))
	w.must(w.admin.Create(w.ctx, profile))
	t.Cleanup(func() { _ = w.admin.Delete(context.Background(), profile) })
	g.Eventually(reason, patience, glance).Should(Equal("True " + v1alpha1.ReasonVerified))

	// A look at a settled cluster asks for the three Secrets, which are not cached, and writes nothing.
	look := func() []string {
		mark := shared.rights.mark()
		if _, err := reconciler.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key}); err != nil {
			return []string{err.Error()}
		}
		return slices.DeleteFunc(shared.rights.since(mark), func(request string) bool { return strings.HasPrefix(request, "watch") })
	}
	g.Eventually(look, patience, glance).Should(Equal([]string{"get /secrets", "get /secrets", "get /secrets"}))

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-shard-0", Namespace: w.namespace}}
	w.must(w.admin.Delete(w.ctx, service))
	g.Eventually(func() error {
		return w.admin.Get(w.ctx, client.ObjectKeyFromObject(service), service)
	}, patience, glance).Should(Succeed())
}
