// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/test/builders"
)

func profileWith(name string, percent int32) *v1alpha1.TuningProfile {
	return &v1alpha1.TuningProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.TuningProfileSpec{Tuning: &v1alpha1.MongodTuning{
			Eviction: &v1alpha1.EvictionTuning{DirtyTriggerPercent: &percent},
		}},
	}
}

func TestUnknownProfileIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	profile := profileWith("of-"+w.namespace, 30)
	w.create(small().Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.ProfileRef = &v1alpha1.ProfileReference{Name: profile.Name}
	}))
	tuning := w.untilStalled(v1alpha1.ReasonProfileNotFound)
	if !strings.Contains(describe(tuning), profile.Name) {
		t.Errorf("the profile is not named:\n%s", describe(tuning))
	}
	w.must(w.admin.Create(w.ctx, profile))
	t.Cleanup(func() { _ = w.admin.Delete(w.ctx, profile) })
	tuning = w.untilReady()
	found := false
	for _, value := range tuning.Status.Effective {
		found = found || value.Knob == "eviction.dirtyTriggerPercent" && value.Value == "30" && value.Source == v1alpha1.SourceProfile
	}
	if !found {
		t.Errorf("the profile's value is not in force: %+v", tuning.Status.Effective)
	}
}

// TestRefusedSpecKeepsTheWatch shows that members are judged against the revision in force while the
// declared one is refused, and that nothing of the refused one is written.
func TestRefusedSpecKeepsTheWatch(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	before := w.outcome().Files
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.ProfileRef = &v1alpha1.ProfileReference{Name: "nobody-made-it"}
		tuning.Spec.Tuning.CacheSizeGB = nil
		tuning.Spec.Tuning.Eviction = &v1alpha1.EvictionTuning{DirtyTriggerPercent: new(int32(30))}
	})
	w.untilStalled(v1alpha1.ReasonProfileNotFound)
	w.servers.SetByHand("demo-shard-0-1", "cache_size=512M")
	tuning := w.until("drift seen", func(tuning *v1alpha1.MongoTuning) bool {
		return conditionIs(tuning, v1alpha1.ConditionVerified, metav1.ConditionFalse)
	})
	if !strings.Contains(describe(tuning), "demo-shard-0-1") {
		t.Errorf("the member is not named:\n%s", describe(tuning))
	}
	for name, content := range w.outcome().Files {
		if before[name] != content {
			t.Errorf("file %s was written for a refused spec", name)
		}
	}
	if got := w.servers.Counted("Set"); got != 0 {
		t.Errorf("%d times values were set for a refused spec", got)
	}
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.ProfileRef = nil
		tuning.Spec.Tuning = small().Object().Spec.Tuning
	})
	w.untilReady()
}

func TestUnsupportedKnobIsRefusedBeforeAnythingIsMade(t *testing.T) {
	w := newWorld(t)
	w.create(small().Version("6.0.27").Executor(v1alpha1.ServiceExecutorAdaptive))
	tuning := w.untilStalled(v1alpha1.ReasonKnobUnsupported)
	if !strings.Contains(describe(tuning), "serviceExecutor") {
		t.Errorf("the knob is not named:\n%s", describe(tuning))
	}
	if len(w.kubernetes.made) > 0 {
		t.Errorf("pods were made for a refused spec: %v", w.kubernetes.made)
	}
}

func TestFailedTrialStartTouchesNobody(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	before := w.outcome()
	w.kubernetes.failTrials = "Failed to parse: bad option"
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Tuning.Eviction = &v1alpha1.EvictionTuning{DirtyTriggerPercent: new(int32(30))}
	})
	tuning := w.untilStalled(v1alpha1.ReasonTrialStartFailed)
	if !strings.Contains(describe(tuning), "Failed to parse: bad option") {
		t.Errorf("the server's words are not told:\n%s", describe(tuning))
	}
	after := w.outcome()
	for name, content := range after.Files {
		if before.Files[name] != content {
			t.Errorf("file %s was written although no server starts with it", name)
		}
	}
	if w.servers.Counted("Set") > 0 || after.StepDowns > 0 {
		t.Errorf("members were touched: %v", w.servers.Acts())
	}
	w.isQuiet()
}

func TestSuspend(t *testing.T) {
	for _, way := range []struct {
		name        string
		set, remove func(*v1alpha1.MongoTuning)
	}{
		{
			"by spec",
			func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = new(true) },
			func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = nil },
		},
		{
			"by annotation",
			func(tuning *v1alpha1.MongoTuning) {
				tuning.Annotations = map[string]string{v1alpha1.AnnotationSuspend: "true"}
			},
			func(tuning *v1alpha1.MongoTuning) { tuning.Annotations = nil },
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			w := newWorld(t)
			bootstrap(w)
			w.change(func(tuning *v1alpha1.MongoTuning) {
				way.set(tuning)
				tuning.Spec.Tuning = small().DirtyTrigger(30).Object().Spec.Tuning
			})
			w.step()
			w.servers.SetByHand("demo-shard-0-1", "cache_size=512M")
			before := w.journal.count()
			w.step()
			w.step()
			for _, write := range w.journal.since(before) {
				if !strings.HasPrefix(write, "patch status") {
					t.Errorf("a suspended object is worked on: %s", write)
				}
			}
			tuning := w.tuning()
			if tuning.Status.ObservedGeneration != tuning.Generation {
				t.Error("a suspended object is not looked at")
			}
			if !conditionIs(tuning, v1alpha1.ConditionSuspended, metav1.ConditionTrue) || !conditionIs(tuning, v1alpha1.ConditionVerified, metav1.ConditionFalse) {
				t.Errorf("suspension and what was judged are not told:\n%s", describe(tuning))
			}
			if ready := findStatus(tuning, v1alpha1.ConditionReady); ready != metav1.ConditionTrue {
				t.Errorf("Ready turned %s because changes are suspended", ready)
			}
			w.change(way.remove)
			w.untilReady()
		})
	}
}

// What is suspended from the beginning is looked at, and nothing is made for it: no Secrets either.
func TestNothingIsMadeForASuspendedObject(t *testing.T) {
	w := newWorld(t)
	w.create(small().Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = new(true) }))
	w.step() // adds the finalizer, without which the object could go while something is made for it
	before := w.journal.count()
	for range 3 {
		w.step()
	}
	for _, write := range w.journal.since(before) {
		if !strings.HasPrefix(write, "patch status") {
			t.Errorf("a suspended object is worked on: %s", write)
		}
	}
	secrets := &corev1.SecretList{}
	w.must(w.admin.List(w.ctx, secrets, client.InNamespace(w.namespace)))
	if len(secrets.Items) > 0 {
		t.Errorf("%d Secrets were made for a suspended object", len(secrets.Items))
	}
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = nil })
	w.untilReady()
}

// A Secret that is lost while changes are suspended is made anew when they are not any more.
func TestALostSecretWaitsForTheEndOfASuspension(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = new(true) })
	w.step()
	lost := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: naming.OperatorSecret("demo")}}
	w.must(w.admin.Delete(w.ctx, lost))
	w.step()
	w.step()
	if err := w.admin.Get(w.ctx, client.ObjectKeyFromObject(lost), lost); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret was made anew although changes are suspended: %v", err)
	}
	if !conditionIs(w.tuning(), v1alpha1.ConditionVerified, metav1.ConditionUnknown) {
		t.Errorf("members that nobody can ask are called verified:\n%s", describe(w.tuning()))
	}
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = nil })
	w.untilReady()
}

func findStatus(tuning *v1alpha1.MongoTuning, name string) metav1.ConditionStatus {
	for _, condition := range tuning.Status.Conditions {
		if condition.Type == name {
			return condition.Status
		}
	}
	return ""
}

func TestPatchVersionRestartsEveryMemberOnce(t *testing.T) {
	w := newWorld(t)
	w.create(builders.ShardedCluster().ConfigServers(1).Soak(0))
	w.untilReady()
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.MongoDB.Version = "4.4.3" })
	w.untilReady()
	for pod, made := range w.outcome().PodsMade {
		if made != 2 {
			t.Errorf("%s was made %d times, wanted 2", pod, made)
		}
	}
}
