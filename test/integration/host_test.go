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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/test/builders"
)

// tuned is a small cluster that sets the swappiness of its nodes to 1.
func tuned() *builders.Cluster {
	return small().Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.HostTuning = &v1alpha1.HostTuningSpec{
			Mode: v1alpha1.HostTuningInitContainer, Sysctls: []v1alpha1.Sysctl{{Name: "vm.swappiness", Value: "1"}},
		}
	})
}

// newHostWorld is a world with a node of its own.
func newHostWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.kubernetes.node = "node-of-" + w.namespace
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.kubernetes.node}}
	w.must(w.admin.Create(w.ctx, node))
	t.Cleanup(func() { _ = w.admin.Delete(context.Background(), node) })
	return w
}

func (w *world) swappinessIs(want string) {
	w.t.Helper()
	if got := w.kubernetes.hosts.values["vm.swappiness"]; got != want {
		w.t.Errorf("vm.swappiness of the node is %s, wanted %s", got, want)
	}
}

func (w *world) madeOnce() {
	w.t.Helper()
	for pod, made := range w.outcome().PodsMade {
		if made != 1 {
			w.t.Errorf("%s was made %d times", pod, made)
		}
	}
}

// untilGone goes on until the object is gone.
func (w *world) untilGone() {
	w.t.Helper()
	for range 10 {
		w.kubernetes.step(w.ctx)
		if err := w.reconcile(); err != nil {
			w.t.Fatal(err)
		}
		if w.isGone() {
			return
		}
	}
	w.t.Fatalf("the object does not go:\n%s", describe(w.tuning()))
}

func (w *world) isGone() bool {
	return apierrors.IsNotFound(w.admin.Get(w.ctx, w.key, &v1alpha1.MongoTuning{}))
}

// heard are the events so far that contain a word.
func (w *world) heard(word string) (found []string) {
	for {
		select {
		case event := <-w.events.Events:
			if strings.Contains(event, word) {
				found = append(found, event)
			}
		default:
			return found
		}
	}
}

// TestPodSecurityIsAskedFirst is the story of a namespace that does not allow privileged pods: no pod is
// missing, the message says what to do, and it goes on by itself.
func TestPodSecurityIsAskedFirst(t *testing.T) {
	w := newHostWorld(t)
	w.create(tuned())
	stalled := meta.FindStatusCondition(w.untilStalled(v1alpha1.ReasonPodRefused).Status.Conditions, v1alpha1.ConditionStalled)
	command := "kubectl label namespace " + w.namespace + " pod-security.kubernetes.io/enforce=privileged --overwrite"
	if !strings.Contains(stalled.Message, command) || !strings.Contains(stalled.Message, naming.HostTuneContainer) {
		t.Errorf("the message does not say what refused it and what to do: %s", stalled.Message)
	}
	sets := &appsv1.StatefulSetList{}
	w.must(w.admin.List(w.ctx, sets, client.InNamespace(w.namespace)))
	if len(sets.Items) > 0 || len(w.kubernetes.pods(w.ctx)) > 0 {
		t.Errorf("%d StatefulSets, %d pods", len(sets.Items), len(w.kubernetes.pods(w.ctx)))
	}
	w.swappinessIs("60")

	w.allowPrivilegedPods()
	tuning := w.untilReady()
	w.swappinessIs("1")
	w.madeOnce()
	if got := tuning.Status.HostTuning; !slices.Equal(got.NodesTouched, []string{w.kubernetes.node}) || len(got.Nodes) != 1 || got.Nodes[0].InForce != "1/1" {
		t.Errorf("status: %+v", got)
	}
	if setting := tuning.Status.HostTuning.Nodes[0].Settings[0]; setting.Result != v1alpha1.HostApplied || setting.Found != "60" {
		t.Errorf("the report is %+v", setting)
	}
	if !conditionIs(tuning, v1alpha1.ConditionHostTuned, metav1.ConditionTrue) {
		t.Errorf("not tuned:\n%s", describe(tuning))
	}
	w.isQuiet()
}

// TestTurningOnStarvesNobody is the same for a cluster that runs.
func TestTurningOnStarvesNobody(t *testing.T) {
	w := newHostWorld(t)
	w.create(small())
	w.untilReady()
	before := &appsv1.StatefulSet{}
	w.must(w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "demo-shard-0"}, before))
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.HostTuning = tuned().Object().Spec.HostTuning })
	w.untilStalled(v1alpha1.ReasonPodRefused)
	after := &appsv1.StatefulSet{}
	w.must(w.admin.Get(w.ctx, client.ObjectKeyFromObject(before), after))
	if before.Generation != after.Generation {
		t.Error("the pod template was written although its pods would be refused")
	}
	w.madeOnce()
	w.allowPrivilegedPods()
	w.untilReady()
	w.swappinessIs("1")
}

// TestQuotaIsAskedFirst shows that whatever else refuses pods is told as well, in its own words.
func TestQuotaIsAskedFirst(t *testing.T) {
	w := newHostWorld(t)
	w.allowPrivilegedPods()
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	w.must(w.admin.Create(w.ctx, quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	w.must(w.admin.Status().Update(w.ctx, quota))
	w.create(tuned())
	stalled := meta.FindStatusCondition(w.untilStalled(v1alpha1.ReasonPodRefused).Status.Conditions, v1alpha1.ConditionStalled)
	if !strings.Contains(stalled.Message, "exceeded quota: none") || strings.Contains(stalled.Message, "kubectl label") {
		t.Errorf("the message is %s", stalled.Message)
	}
	w.must(w.admin.Delete(w.ctx, quota))
	w.untilReady()
}

// TestHostSettingsChangeWithoutARestart also takes a setting away, and refuses one.
func TestHostSettingsChangeWithoutARestart(t *testing.T) {
	w := newHostWorld(t)
	w.allowPrivilegedPods()
	w.create(tuned())
	w.untilReady()
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.HostTuning.Sysctls[0].Value = "10" })
	w.untilReady()
	w.swappinessIs("10")
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.HostTuning.Sysctls = []v1alpha1.Sysctl{{Name: "vm.max_map_count", Value: "262144"}}
	})
	w.untilReady()
	w.swappinessIs("60")
	w.kubernetes.hosts.refuses["vm.dirty_ratio"] = true
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.HostTuning.Sysctls = append(tuning.Spec.HostTuning.Sysctls, v1alpha1.Sysctl{Name: "vm.dirty_ratio", Value: "15"})
	})
	tuning := w.untilReady()
	condition := meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionHostTuned)
	if condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "vm.dirty_ratio on node "+w.kubernetes.node) || !strings.Contains(condition.Message, "EPERM") {
		t.Errorf("HostTuned is %s: %s", condition.Status, condition.Message)
	}
	if heard := w.heard("vm.dirty_ratio"); len(heard) != 1 || !strings.HasPrefix(heard[0], "Warning "+v1alpha1.ReasonHostTuningFailed) {
		t.Errorf("events: %q", heard)
	}
	w.madeOnce()
	w.kubernetes.forgetHostJobs(w.ctx)
	w.isQuiet()
}

func TestHostDrift(t *testing.T) {
	w := newHostWorld(t)
	w.allowPrivilegedPods()
	w.create(tuned())
	w.untilReady()
	w.kubernetes.hosts.writers = []string{"tuned"}
	w.kubernetes.hosts.values["vm.swappiness"] = "30"
	w.until("the drift is corrected", func(*v1alpha1.MongoTuning) bool { return w.kubernetes.hosts.values["vm.swappiness"] == "1" })
	if heard := w.heard(v1alpha1.EventDriftCorrected); len(heard) == 0 || !strings.Contains(heard[0], "vm.swappiness") {
		t.Errorf("events: %q", heard)
	}
	w.untilReady()
	w.kubernetes.forgetHostJobs(w.ctx)
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.DriftPolicy = v1alpha1.DriftPolicyReport })
	w.untilReady()
	w.kubernetes.hosts.values["vm.swappiness"] = "30"
	tuning := w.until("the drift is told", func(tuning *v1alpha1.MongoTuning) bool {
		return conditionIs(tuning, v1alpha1.ConditionHostTuned, metav1.ConditionFalse)
	})
	if condition := meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionHostTuned); condition.Reason != v1alpha1.ReasonHostDrift || !strings.Contains(condition.Message, "tuned runs there") {
		t.Errorf("%s: %s", condition.Reason, condition.Message)
	}
	w.isQuiet()
	w.swappinessIs("30")
}

// TestTurningOffPutsNodesBack restarts the members without the containers and then restores.
func TestTurningOffPutsNodesBack(t *testing.T) {
	w := newHostWorld(t)
	w.allowPrivilegedPods()
	w.create(tuned())
	w.untilReady()
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.HostTuning.Mode = v1alpha1.HostTuningDisabled })
	tuning := w.until("nodes are put back", func(tuning *v1alpha1.MongoTuning) bool {
		return len(tuning.Status.HostTuning.NodesTouched) == 0 && conditionIs(tuning, v1alpha1.ConditionReady, metav1.ConditionTrue)
	})
	w.swappinessIs("60")
	if meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionHostTuned) != nil || len(tuning.Status.HostTuning.Nodes) > 0 {
		t.Errorf("something is still told: %+v\n%s", tuning.Status.HostTuning, describe(tuning))
	}
	for _, pod := range w.kubernetes.pods(w.ctx) {
		if tunesHost(pod) {
			t.Errorf("%s still tunes its node", pod.Name)
		}
	}
	if heard := w.heard(v1alpha1.EventHostRestored); len(heard) != 1 {
		t.Errorf("the restore is told once, not so: %q", heard)
	}
	w.isQuiet()
}

func TestDeletionPutsNodesBack(t *testing.T) {
	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			w := newHostWorld(t)
			w.allowPrivilegedPods()
			w.create(tuned().Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.DeletionPolicy = policy }))
			w.untilReady()
			w.must(w.admin.Delete(w.ctx, w.tuning()))
			w.untilGone()
			w.swappinessIs("60")
			if len(w.heard(v1alpha1.EventHostRestored)) != 1 {
				t.Error("the restore was not told once")
			}
			files := &corev1.ConfigMap{}
			w.must(w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: naming.HostSettings("demo")}, files))
			if _, released := files.Data[hosttune.ReleasedKey]; !released || len(files.Data) != 1 {
				t.Errorf("members that start later would still tune: %v", files.Data)
			}
		})
	}
}

// TestDeletionNeverHangs covers every reason to give a node up.
func TestDeletionNeverHangs(t *testing.T) {
	for _, row := range []struct {
		name   string
		before func(*world)
		says   string
	}{
		{"the namespace is being deleted", func(w *world) {
			w.must(w.admin.Delete(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
			NewWithT(t).Eventually(func() bool {
				something := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "something"}}
				return apierrors.HasStatusCause(w.admin.Create(w.ctx, something, client.DryRunAll), corev1.NamespaceTerminatingCause)
			}, patience, glance).Should(BeTrue())
		}, "its namespace is being deleted"},
		{"the node is gone", func(w *world) {
			w.must(w.admin.Delete(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.kubernetes.node}}))
		}, "it does not exist any more"},
		{"the deadline is over", func(w *world) { w.kubernetes.hosts.stuck = true }, "restoreDeadlineSeconds (30) is over"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newHostWorld(t)
			w.allowPrivilegedPods()
			w.create(tuned().Change(func(tuning *v1alpha1.MongoTuning) {
				tuning.Spec.HostTuning.RestoreDeadlineSeconds = new(int32(30))
			}))
			w.untilReady()
			row.before(w)
			w.must(client.IgnoreNotFound(w.admin.Delete(w.ctx, w.tuning())))
			deleted := w.tuning().DeletionTimestamp.Time
			if w.kubernetes.hosts.stuck {
				w.clock.SetTime(deleted.Add(29 * time.Second))
				for range 3 {
					w.must(w.reconcile())
				}
				if w.isGone() {
					t.Fatal("the object went before its deadline")
				}
				w.clock.SetTime(deleted.Add(30 * time.Second))
			}
			w.untilGoneAlone()
			if heard := w.heard(v1alpha1.EventHostRestoreAbandoned); len(heard) != 1 || !strings.Contains(heard[0], row.says) || !strings.Contains(heard[0], w.kubernetes.node) {
				t.Errorf("events: %q", heard)
			}
		})
	}
}

// untilGoneAlone goes on without anything happening in Kubernetes.
func (w *world) untilGoneAlone() {
	w.t.Helper()
	for range 5 {
		w.must(w.reconcile())
		if w.isGone() {
			return
		}
	}
	w.t.Fatalf("the object does not go:\n%s", describe(w.tuning()))
}
