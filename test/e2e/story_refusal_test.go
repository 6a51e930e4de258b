// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// refusal is a spec that cannot be carried out, and the way back.
type refusal struct {
	patch, undo string
	reason      string
	// says are parts of the message: the field, the value, what is allowed.
	says []string
}

func (c *cluster) refusesUnknownProfile(t *testing.T) {
	c.refuses(t, refusal{
		patch:  `{"spec":{"profileRef":{"name":"nobody-made-this"},"tuning":{"eviction":{"dirtyTriggerPercent":22}}}}`,
		undo:   `{"spec":{"profileRef":null,"tuning":{"eviction":{"dirtyTriggerPercent":25}}}}`,
		reason: v1alpha1.ReasonProfileNotFound, says: []string{"profileRef.name", "nobody-made-this"},
	})
}

// refusesUnsupportedKnob asks 5.0 and newer for what 5.0 took away, and older ones for what it brought.
func (c *cluster) refusesUnsupportedKnob(t *testing.T) {
	if c.isModern() {
		c.refuses(t, refusal{
			patch:  `{"spec":{"tuning":{"enableMajorityReadConcern":false,"eviction":{"dirtyTriggerPercent":22}}}}`,
			undo:   `{"spec":{"tuning":{"enableMajorityReadConcern":null,"eviction":{"dirtyTriggerPercent":25}}}}`,
			reason: v1alpha1.ReasonKnobUnsupported, says: []string{"tuning.enableMajorityReadConcern", "false", "4.2-4.4"},
		})
		return
	}
	const knob = "initialServiceExecutorThreadingModel"
	if !c.offers(t, knob) {
		t.Logf("the API offers no field that MongoDB %s lacks", c.version)
		return
	}
	c.refuses(t, refusal{
		patch:  `{"spec":{"tuning":{"` + knob + `":"borrowed","eviction":{"dirtyTriggerPercent":22}}}}`,
		undo:   `{"spec":{"tuning":{"` + knob + `":null,"eviction":{"dirtyTriggerPercent":25}}}}`,
		reason: v1alpha1.ReasonKnobUnsupported, says: []string{"tuning." + knob, "borrowed", "5.0"},
	})
}

// offers tells whether the API has a field of that name below spec.tuning.
func (c *cluster) offers(t *testing.T, field string) bool {
	t.Helper()
	return strings.Contains(c.kubectl(t, "explain", "mtune.spec.tuning"), "\n  "+field+"\t")
}

func (c *cluster) refusesHugeCache(t *testing.T) {
	huge := &v1alpha1.TuningProfile{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-huge"},
		Spec:       v1alpha1.TuningProfileSpec{Tuning: &v1alpha1.MongodTuning{CacheSizeGB: new(v1alpha1.Gigabytes(50))}},
	}
	c.deleteForGood(t, huge)
	c.create(t, huge)
	t.Cleanup(func() { c.deleteForGood(t, huge) })
	size := *c.tuning(t).Spec.Tuning.CacheSizeGB
	c.refuses(t, refusal{
		patch:  fmt.Sprintf(`{"spec":{"profileRef":{"name":%q},"tuning":{"cacheSizeGB":null,"eviction":{"dirtyTriggerPercent":22}}}}`, huge.Name),
		undo:   fmt.Sprintf(`{"spec":{"profileRef":null,"tuning":{"cacheSizeGB":%v,"eviction":{"dirtyTriggerPercent":25}}}}`, size),
		reason: v1alpha1.ReasonInvalidTuning, says: []string{"tuning.cacheSizeGB", "50", "80 %", "0.60"},
	})
}

// refuses shows that a spec which cannot be carried out is refused whole: nothing of it is applied, and
// the members stay watched, held to what was in force.
func (c *cluster) refuses(t *testing.T, r refusal) {
	t.Helper()
	g := gomega.NewWithT(t)
	before, members := c.applied(t), c.podsNow(t)
	c.patch(t, r.patch)
	isRefused := func(g gomega.Gomega) {
		tuning := c.tuning(t)
		g.Expect(tuning.Status.ObservedGeneration).To(gomega.Equal(tuning.Generation))
		g.Expect(statusOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(metav1.ConditionTrue))
		g.Expect(reasonOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(r.reason))
		g.Expect(statusOf(tuning, v1alpha1.ConditionReady)).To(gomega.Equal(metav1.ConditionFalse))
		for _, word := range r.says {
			g.Expect(messageOf(tuning, v1alpha1.ConditionStalled)).To(gomega.ContainSubstring(word))
		}
		// Held to what was in force, every member is as it should be.
		g.Expect(tuning.Status.ProvedMembers).To(gomega.Equal("9/9"))
		g.Expect(statusOf(tuning, v1alpha1.ConditionVerified)).To(gomega.Equal(metav1.ConditionTrue))
	}
	await(t, promptly, "the spec is not refused", isRefused)
	t.Logf("refused: %s", messageOf(c.tuning(t), v1alpha1.ConditionStalled))

	victim := c.secondary(t, c.shards(t)[0])
	pod := members[victim]
	statuses := c.statuses(t)
	if err := c.kube.Delete(t.Context(), &pod, client.Preconditions{UID: &pod.UID}); err != nil {
		t.Fatal(err)
	}
	awaitNoticed(t, statuses, victim+" is away", func(tuning *v1alpha1.MongoTuning) bool {
		return tuning.Status.ProvedMembers == "8/9" && reasonOf(tuning, v1alpha1.ConditionStalled) == r.reason
	})
	await(t, settling, "the member that came back is not proved", isRefused)
	g.Expect(c.applied(t)).To(gomega.Equal(before), "something of the refused spec was applied")

	c.patch(t, r.undo)
	c.settle(t)
	for name, uid := range uids(c.podsNow(t)) {
		if name != victim {
			g.Expect(uid).To(gomega.Equal(members[name].UID), "%s was restarted for a refused spec", name)
		}
	}
}

// applied is what was applied for the spec: files, templates and sizes, by object.
func (c *cluster) applied(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, sets, deployments := &corev1.ConfigMapList{}, &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{files, sets, deployments} {
		if err := c.kube.List(t.Context(), list, client.InNamespace(c.namespace), client.MatchingLabels(naming.Labels(c.name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range files.Items {
		all["ConfigMap "+object.Name] = fmt.Sprint(object.Data)
	}
	for _, object := range sets.Items {
		all["StatefulSet "+object.Name] = fmt.Sprintf("generation %d", object.Generation)
	}
	for _, object := range deployments.Items {
		all["Deployment "+object.Name] = fmt.Sprintf("generation %d", object.Generation)
	}
	return all
}

func (c *cluster) refusesAtTheDoor(t *testing.T) {
	g := gomega.NewWithT(t)
	before := c.tuning(t)
	for _, refused := range []struct{ patch, says string }{
		{`{"spec":{"tuning":{"cacheSizeGB":0.61}}}`, "spec.tuning.cacheSizeGB"},
		{`{"spec":{"tuning":{"eviction":{"dirtyTargetPercent":25}}}}`, "spec.tuning.eviction.dirtyTargetPercent"},
		{`{"spec":{"tuning":{"eviction":{"threadsMin":19}}}}`, "spec.tuning.eviction.threadsMin"},
		{`{"spec":{"tuning":{"eviction":{"threadsMax":21}}}}`, "spec.tuning.eviction.threadsMax"},
		{`{"spec":{"shards":{"count":1}}}`, "spec.shards.count"},
		{`{"spec":{"shards":{"members":5}}}`, "spec.shards.members"},
		{`{"spec":{"configServers":{"members":2}}}`, "spec.configServers.members"},
		{`{"spec":{"shards":{"storage":{"size":"5Gi"}}}}`, "spec.shards.storage.size"},
		{`{"spec":{"mongodb":{"version":"7.0.1"}}}`, "spec.mongodb.version"},
	} {
		tuning := before.DeepCopy()
		err := c.kube.Patch(t.Context(), tuning, client.RawPatch(types.MergePatchType, []byte(refused.patch)), fieldOwner)
		g.Expect(apierrors.IsInvalid(err)).To(gomega.BeTrue(), "%s: %v", refused.patch, err)
		g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(refused.says)))
	}
	g.Expect(c.tuning(t).Generation).To(gomega.Equal(before.Generation))
	long := c.sample(t)
	long.Name = strings.Repeat("a", 41)
	err := c.kube.Create(t.Context(), long, fieldOwner)
	g.Expect(apierrors.IsInvalid(err)).To(gomega.BeTrue(), "%v", err)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("at most 40 characters")))
}
