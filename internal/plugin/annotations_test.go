// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// with is a MongoTuning demo that was changed.
func with(change func(*v1alpha1.MongoTuning)) *v1alpha1.MongoTuning {
	tuning := tuningNamed("test", "demo")
	tuning.Status.ObservedGeneration = 1
	change(tuning)
	return tuning
}

func annotated(key, value string) func(*v1alpha1.MongoTuning) {
	return func(tuning *v1alpha1.MongoTuning) { tuning.Annotations = map[string]string{key: value} }
}

func takenBack(tuning *v1alpha1.MongoTuning) {
	tuning.Status.Revisions = v1alpha1.RevisionsStatus{Current: "demo-bad", Verified: "demo-good", Failed: "demo-bad"}
	tuning.Status.Rollout = v1alpha1.RolloutStatus{Revision: "demo-bad", Step: v1alpha1.StepReturned, Breach: "dirty cache of demo-shard-0-1 was 31 %"}
}

func needsConsent(tuning *v1alpha1.MongoTuning) {
	tuning.Status.Revisions = v1alpha1.RevisionsStatus{Current: "demo-next", Verified: "demo-good"}
	tuning.Status.Rollout = v1alpha1.RolloutStatus{Revision: "demo-next", Step: v1alpha1.StepCanary, BreachedBefore: []string{"dirty-cache"}}
}

func both(changes ...func(*v1alpha1.MongoTuning)) func(*v1alpha1.MongoTuning) {
	return func(tuning *v1alpha1.MongoTuning) {
		for _, change := range changes {
			change(tuning)
		}
	}
}

// TestRequests holds what each command sets, and what it says will follow.
func TestRequests(t *testing.T) {
	suspended := annotated(v1alpha1.AnnotationSuspend, "true")
	for _, row := range []struct {
		name, command string
		tuning        *v1alpha1.MongoTuning
		want          map[string]string
		says          []string
	}{
		{"suspend a settled cluster", "suspend", with(func(*v1alpha1.MongoTuning) {}), map[string]string{v1alpha1.AnnotationSuspend: "true"},
			[]string{"demo is suspended", "goes on looking", "kubectl mongotuning resume demo -n test"}},
		{"suspend a change on its way", "suspend", with(needsConsent), map[string]string{v1alpha1.AnnotationSuspend: "true"}, []string{"stays at step Canary", "not taken back"}},
		{"suspend twice", "suspend", with(suspended), map[string]string{v1alpha1.AnnotationSuspend: "true"}, []string{"suspended already", "nothing was changed"}},
		{"suspend what the spec suspends", "suspend", with(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = new(true) }), nil, []string{"suspended already"}},
		{"resume", "resume", with(suspended), nil, []string{"demo goes on", "set back", "status demo -n test --watch"}},
		{"resume a change on its way", "resume", with(both(needsConsent, suspended)), nil, []string{"continues at step Canary"}},
		{"resume with a newer spec", "resume", with(both(suspended, func(tuning *v1alpha1.MongoTuning) { tuning.Generation = 2 })), nil, []string{"the newest spec is looked at"}},
		{"resume what is not suspended", "resume", with(func(*v1alpha1.MongoTuning) {}), nil, []string{"is not suspended"}},
		{"resume what the spec suspends too", "resume", with(both(suspended, func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = new(true) })), nil, []string{"stays suspended by spec.suspend"}},
		{"retry what was taken back", "retry", with(takenBack), map[string]string{v1alpha1.AnnotationRetry: "demo-bad"},
			[]string{"Revision demo-bad is tried again", "dirty cache of demo-shard-0-1 was 31 %", "taken back again"}},
		{"retry for the second time", "retry", with(both(takenBack, annotated(v1alpha1.AnnotationRetry, "demo-bad"))), map[string]string{v1alpha1.AnnotationRetry: "demo-bad/2"}, nil},
		{"retry for the third time", "retry", with(both(takenBack, annotated(v1alpha1.AnnotationRetry, "demo-bad/2"))), map[string]string{v1alpha1.AnnotationRetry: "demo-bad/3"}, nil},
		{"retry after a retry whose annotation is gone", "retry", with(both(takenBack, func(tuning *v1alpha1.MongoTuning) { tuning.Status.LastHandledRetry = "demo-bad/7" })), map[string]string{v1alpha1.AnnotationRetry: "demo-bad/8"}, nil},
		{"retry after a retry of another revision", "retry", with(both(takenBack, annotated(v1alpha1.AnnotationRetry, "demo-other/4"))), map[string]string{v1alpha1.AnnotationRetry: "demo-bad"}, nil},
		{"retry while suspended", "retry", with(both(takenBack, suspended)), map[string]string{v1alpha1.AnnotationSuspend: "true", v1alpha1.AnnotationRetry: "demo-bad"}, []string{"nothing happens until kubectl mongotuning resume demo"}},
		{"retry what paused", "retry", with(both(takenBack, func(tuning *v1alpha1.MongoTuning) { tuning.Status.Rollout.Step = v1alpha1.StepRestOfShard })), map[string]string{v1alpha1.AnnotationRetry: "demo-bad"}, nil},
		{"retry what is held back", "retry", with(func(tuning *v1alpha1.MongoTuning) {
			tuning.Status.Revisions.Current = "demo-next"
			tuning.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonHeldBack, Message: "profile v3 was taken back on shop/orders"}}
		}), map[string]string{v1alpha1.AnnotationRetry: "demo-next"}, []string{"profile v3 was taken back on shop/orders"}},
		{"proceed", "proceed", with(needsConsent), map[string]string{v1alpha1.AnnotationProceed: "demo-next"}, []string{"may restart members although dirty-cache was out of range", "one at a time"}},
		{"proceed twice", "proceed", with(both(needsConsent, annotated(v1alpha1.AnnotationProceed, "demo-next"))), map[string]string{v1alpha1.AnnotationProceed: "demo-next"}, []string{"your consent for revision demo-next already"}},
		{"proceed with a later revision", "proceed", with(both(needsConsent, annotated(v1alpha1.AnnotationProceed, "demo-good"))), map[string]string{v1alpha1.AnnotationProceed: "demo-next"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, row.tuning)
			out := d.prints(row.command, "demo")
			contains(t, out, row.says...)
			got := d.annotationsOf("demo")
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	for _, row := range []struct {
		name, command string
		tuning        *v1alpha1.MongoTuning
		says          string
	}{
		{"nothing was taken back", "retry", with(func(*v1alpha1.MongoTuning) {}), "nothing to try again"},
		{"a change travels well", "retry", with(needsConsent), "nothing to try again"},
		{"it is still being taken back", "retry", with(both(takenBack, func(tuning *v1alpha1.MongoTuning) { tuning.Status.Rollout.Step = v1alpha1.StepReturning })), "still taking revision demo-bad back"},
		{"the spec changed since", "retry", with(both(takenBack, func(tuning *v1alpha1.MongoTuning) { tuning.Generation = 2 })), "it is tried by itself"},
		{"no change is on its way", "proceed", with(func(*v1alpha1.MongoTuning) {}), "no change on its way"},
		{"the change was taken back", "proceed", with(takenBack), "no change on its way"},
		{"no limit was broken before", "proceed", with(both(needsConsent, func(tuning *v1alpha1.MongoTuning) { tuning.Status.Rollout.BreachedBefore = nil })), "needs no consent"},
		{"a return needs none", "proceed", with(both(needsConsent, func(tuning *v1alpha1.MongoTuning) { tuning.Status.Rollout.Step = v1alpha1.StepReturning })), "needs no consent"},
		{"the spec suspends", "resume", with(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = new(true) }), "suspended by spec.suspend"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, row.tuning)
			contains(t, d.fails(row.command, "demo"), row.says)
			if diff := cmp.Diff(row.tuning.Annotations, d.annotationsOf("demo")); diff != "" {
				t.Errorf("annotations were changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestANameIsNeeded(t *testing.T) {
	for _, command := range []string{"suspend", "resume", "retry", "proceed"} {
		contains(t, newDesk(t).fails(command), "accepts 1 arg(s)")
	}
}
