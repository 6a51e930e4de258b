// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// A profile that was taken back on one cluster is held back on another: nobody is touched for it, until a
// person asks for it by the name of the revision.
func TestAProfileTakenBackElsewhereIsHeldBack(t *testing.T) {
	w := newWorld(t)
	profile := profileWith("failed-elsewhere-"+w.namespace, 27)
	w.must(w.admin.Create(w.ctx, profile))
	t.Cleanup(func() { w.must(w.admin.Delete(context.WithoutCancel(w.ctx), profile)) })
	bootstrap(w)

	other := small().Named("other").In(w.namespace).Object()
	other.Spec.ProfileRef = &v1alpha1.ProfileReference{Name: profile.Name}
	w.must(w.admin.Create(w.ctx, other))
	other.Status.Revisions.Failed, other.Status.Revisions.FailedProfile = "other-1234567890", profile.Name
	w.must(w.admin.Status().Update(w.ctx, other))

	before := w.outcome()
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.ProfileRef = &v1alpha1.ProfileReference{Name: profile.Name}
		tuning.Spec.Tuning.Eviction = nil
	})
	held := w.untilStalled(v1alpha1.ReasonHeldBack)
	w.isQuiet()
	if after := w.outcome(); after.StepDowns != before.StepDowns || w.servers.Counted("Set") > 0 {
		t.Errorf("members were touched: %v", w.servers.Acts())
	}
	if !conditionIs(held, v1alpha1.ConditionVerified, metav1.ConditionTrue) {
		t.Errorf("the members are not held to what was verified:\n%s", describe(held))
	}
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Annotations = map[string]string{v1alpha1.AnnotationRetry: held.Status.Revisions.Current}
	})
	w.untilReady()
	if w.servers.Counted("Set") == 0 {
		t.Errorf("the retry sets nothing: %v", w.servers.Acts())
	}
}
