// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// refusedLate is a profile that neither the catalogue nor an empty server refuses, and that no member of
// a replica set starts with; says is what the server's log then says. An operator of the database can
// find such values for every release.
func (c *cluster) refusedLate() (profile *v1alpha1.TuningProfile, says string) {
	// An oplog in more parts than it has bytes: 990 MB are half of that. Servers without a replica set
	// have none.
	tuning := &v1alpha1.MongodTuning{Oplog: &v1alpha1.OplogTuning{SizeMB: new(int32(990))}}
	parameters := map[string]string{"minOplogTruncationPoints": "2000000000", "maxOplogTruncationPointsDuringStartup": "2000000000"}
	says = "_minBytesPerStone > 0"
	if c.isModern() {
		// Looked at only by a thread that applies the oplog.
		tuning, parameters = &v1alpha1.MongodTuning{}, map[string]string{"replWriterMinThreadCount": "20", "replWriterThreadCount": "16"}
		says = "replWriterMinThreadCount must be less than or equal to replWriterThreadCount"
	}
	for name, value := range parameters {
		tuning.SetParameters = append(tuning.SetParameters, v1alpha1.ServerParameter{Name: name, Value: value})
	}
	return &v1alpha1.TuningProfile{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-refused-late"},
		Spec:       v1alpha1.TuningProfileSpec{Tuning: tuning},
	}, says
}

// holdsBackWhatFailedElsewhere gives a cluster a profile with which its members do not start: the change
// stops at the canary, tells what the server said, and is taken back. Then another cluster wants the same
// profile, and is not touched until a person says so.
func (c *cluster) holdsBackWhatFailedElsewhere(t *testing.T) {
	g := gomega.NewWithT(t)
	profile, says := c.refusedLate()
	c.deleteForGood(t, profile)
	c.create(t, profile)
	t.Cleanup(func() { c.deleteForGood(t, profile) })
	second := c.secondCluster(t)

	change := fmt.Sprintf(`{"spec":{"profileRef":{"name":%q}}}`, profile.Name)
	c.failsAtItsStart(t, change, says)

	before := second.podsNow(t)
	second.patch(t, change)
	second.awaitStalled(t, v1alpha1.ReasonHeldBack, profile.Name, c.name)
	g.Expect(uids(second.podsNow(t))).To(gomega.Equal(uids(before)), "the second cluster was touched")
	g.Expect(second.tuning(t).Status.ProvedMembers).To(gomega.Equal("2/2"), "it stays proved with what it had")

	revision := second.tuning(t).Status.Revisions.Current
	second.patch(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRetry, revision))
	second.awaitTakenBack(t, says)

	for _, back := range []*cluster{second, c} {
		back.patch(t, `{"spec":{"profileRef":null}}`)
		back.settle(t)
	}
}

// failsAtItsStart makes a change with which a member does not start, and expects that nobody but the
// canary was touched when it is taken back.
func (c *cluster) failsAtItsStart(t *testing.T, change, says string) {
	t.Helper()
	pods := open[*corev1.Pod](t, c, &corev1.PodList{}, client.MatchingLabels(naming.Labels(c.name)))
	statuses := c.statuses(t)
	before := uids(c.podsNow(t))
	c.patch(t, change)
	awaitNoticed(t, statuses, "a canary", func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Canary != "" })
	canary := c.tuning(t).Status.Rollout.Canary
	message := c.awaitTakenBack(t, says)
	gomega.NewWithT(t).Expect(message).To(gomega.ContainSubstring(canary))
	for name, uid := range uids(c.podsNow(t)) {
		if name != canary {
			gomega.NewWithT(t).Expect(uid).To(gomega.Equal(before[name]), "%s was disturbed by a change that its canary did not start with", name)
		}
	}
	codes := exitCodes(t, pods, canary)
	t.Logf("%s ended with exit codes %v; %s", canary, codes, message)
	gomega.NewWithT(t).Expect(codes).NotTo(gomega.BeEmpty(), "the canary never failed")
}

// exitCodes are those with which the database of a pod ended, as its status told in the course of time.
func exitCodes(t *testing.T, pods *diary[*corev1.Pod], name string) []int32 {
	t.Helper()
	ended := map[string]int32{}
	for _, e := range pods.read(t) {
		if e.object.Name != name {
			continue
		}
		for _, container := range e.object.Status.ContainerStatuses {
			if last := container.LastTerminationState.Terminated; last != nil {
				ended[last.ContainerID] = last.ExitCode
			}
		}
	}
	var codes []int32
	for _, code := range ended {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// awaitTakenBack waits until a change was taken back and every member is proved with what was verified
// before. It returns what is told about it.
func (c *cluster) awaitTakenBack(t *testing.T, says string) (message string) {
	t.Helper()
	await(t, settling, "the change is not taken back", func(g gomega.Gomega) {
		tuning := c.tuning(t)
		g.Expect(tuning.Status.Rollout.Step).To(gomega.Equal(v1alpha1.StepReturned))
		message = messageOf(tuning, v1alpha1.ConditionRolledBack)
		g.Expect(message).To(gomega.ContainSubstring(says))
		g.Expect(statusOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(metav1.ConditionTrue))
		g.Expect(statusOf(tuning, v1alpha1.ConditionVerified)).To(gomega.Equal(metav1.ConditionTrue), messageOf(tuning, v1alpha1.ConditionVerified))
	})
	return message
}

func (c *cluster) awaitStalled(t *testing.T, reason string, says ...string) {
	t.Helper()
	await(t, settling, "nothing says "+reason, func(g gomega.Gomega) {
		tuning := c.tuning(t)
		g.Expect(reasonOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(reason))
		for _, word := range says {
			g.Expect(messageOf(tuning, v1alpha1.ConditionStalled)).To(gomega.ContainSubstring(word))
		}
	})
}

// secondCluster is another, smaller MongoTuning in the same namespace, proved and verified. It goes with
// the story, and leaves nothing.
func (c *cluster) secondCluster(t *testing.T) *cluster {
	t.Helper()
	second := &cluster{
		kube: c.kube, clientset: c.clientset, rest: c.rest, namespace: c.namespace, name: "second", version: c.version,
		ledgers: map[string]*ledger{}, secrets: c.secrets,
	}
	tuning := second.sample(t)
	tuning.Spec.Shards.Count, tuning.Spec.Shards.Members, tuning.Spec.ConfigServers.Members = 1, 1, 1
	tuning.Spec.DataRetention = v1alpha1.DataRetentionDelete
	second.create(t, tuning)
	t.Cleanup(func() {
		if t.Failed() {
			second.explain(t)
		}
		second.deleteForGood(t, tuning)
	})
	second.settle(t)
	await(t, settling, "the first revision of the second cluster is not verified", func(g gomega.Gomega) {
		g.Expect(second.tuning(t).Status.Revisions.Verified).NotTo(gomega.BeEmpty())
	})
	return second
}
