// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"maps"
	"slices"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

func (c *cluster) losesMongos(t *testing.T) {
	routers, err := c.mongosPods(t.Context())
	if err != nil || len(routers) == 0 {
		t.Fatalf("list the mongos pods: %d, %v", len(routers), err)
	}
	c.delete(t, routers[0].Name)
}

// losesOperator shows that the new operator acts, not only that it runs: what somebody did while there
// was none is put right.
func (c *cluster) losesOperator(t *testing.T) {
	pods, err := c.operatorPods(t.Context())
	if err != nil || len(pods) != 1 {
		t.Fatalf("find the operator's pod: %d, %v", len(pods), err)
	}
	c.operatorLogs += c.operatorLog(t.Context())
	lease := func() string {
		lease := &coordinationv1.Lease{}
		key := types.NamespacedName{Namespace: operatorNamespace, Name: "operator.mongotuning.io"}
		if err := c.kube.Get(t.Context(), key, lease); err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	before, members := lease(), c.podsNow(t)
	if err := c.kube.Delete(t.Context(), &pods[0], client.Preconditions{UID: &pods[0].UID}); err != nil {
		t.Fatal(err)
	}
	setByHand(t, c, c.secondary(t, c.shards(t)[0]), "cache_size=300M")
	await(t, settling, "no other operator takes over", func(g gomega.Gomega) {
		g.Expect(lease()).NotTo(gomega.BeElementOf("", before))
	})
	declared, identity := *c.tuning(t).Spec.Tuning, c.memberIdentity(t)
	await(t, promptly, "the new operator does not put right what was done meanwhile", func(g gomega.Gomega) {
		pod := c.secondary(t, c.shards(t)[0])
		c.expectShardMember(g, pod, ask(t, c.member(t, pod, &identity)), declared)
	})
	gomega.NewWithT(t).Expect(uids(c.podsNow(t))).To(gomega.Equal(uids(members)), "a new operator restarts nothing")
}

func (c *cluster) losesAllPods(t *testing.T) {
	c.delete(t, slices.Sorted(maps.Keys(c.podsNow(t)))...)
}

func (c *cluster) losesOperatorSecret(t *testing.T) {
	name := naming.OperatorSecret(c.name)
	before, pods := c.secret(t, name), c.podsNow(t)
	c.loseSecret(t, name)
	g := gomega.NewWithT(t)
	c.settle(t)
	g.Expect(c.secret(t, name)[naming.PasswordKey]).NotTo(gomega.Equal(before[naming.PasswordKey]))
	g.Expect(uids(c.podsNow(t))).To(gomega.Equal(uids(pods)), "no pod was disturbed")
	g.Expect(c.listedShards(t)).To(gomega.ConsistOf(c.shards(t)))
}

func (c *cluster) losesKeyFile(t *testing.T) {
	name := naming.KeyFileSecret(c.name)
	before, app, pods := c.secret(t, name), c.secret(t, naming.AppSecret(c.name)), c.podsNow(t)
	c.loseSecret(t, name)
	g := gomega.NewWithT(t)
	c.settle(t)
	g.Expect(c.secret(t, name)[naming.KeyFileKey]).NotTo(gomega.Equal(before[naming.KeyFileKey]))
	after := c.podsNow(t)
	for _, pod := range c.allMembers(t) {
		g.Expect(after[pod].UID).NotTo(gomega.Equal(pods[pod].UID), "%s still has the lost key", pod)
	}
	c.appStillGetsIn(t, app)
}

// loseSecret deletes a Secret and waits until status has noticed.
func (c *cluster) loseSecret(t *testing.T, name string) {
	t.Helper()
	statuses := c.statuses(t)
	if err := c.kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}); err != nil {
		t.Fatal(err)
	}
	awaitNoticed(t, statuses, "Secret "+name+" is lost", func(tuning *v1alpha1.MongoTuning) bool {
		return statusOf(tuning, v1alpha1.ConditionReady) != metav1.ConditionTrue
	})
}

func (c *cluster) patchSecret(t *testing.T, name, key, value string) {
	t.Helper()
	secret := get(t, c, name, &corev1.Secret{})
	before := secret.DeepCopy()
	secret.Data[key] = []byte(value)
	if err := c.kube.Patch(t.Context(), secret, client.MergeFrom(before), fieldOwner); err != nil {
		t.Fatal(err)
	}
}
