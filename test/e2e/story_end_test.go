// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// deleteForGood deletes an object and waits until it is gone.
func (c *cluster) deleteForGood(t *testing.T, object client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()
	if err := c.kube.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete %s: %v", object.GetName(), err)
	}
	await(t, promptly, object.GetName()+" does not go away", func(g gomega.Gomega) {
		current, ok := object.DeepCopyObject().(client.Object)
		g.Expect(ok).To(gomega.BeTrue())
		g.Expect(apierrors.IsNotFound(c.kube.Get(ctx, client.ObjectKeyFromObject(object), current))).To(gomega.BeTrue())
	})
}

// left are the objects of the namespace that are neither Kubernetes' own nor the test's, by kind.
func (c *cluster) left(t *testing.T) []string {
	t.Helper()
	var names []string
	for name := range c.everything(t) {
		switch {
		case strings.HasPrefix(name, "events."), strings.HasPrefix(name, "podmetrics."):
		case slices.Contains([]string{"configmaps. kube-root-ca.crt", "serviceaccounts. default", "serviceaccounts. metrics-reader"}, name):
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// keptData are the names of volumes and Secrets, which outlive their MongoTuning.
func (c *cluster) keptData(members []string) []string {
	names := []string{
		"secrets. " + naming.AppSecret(c.name), "secrets. " + naming.KeyFileSecret(c.name), "secrets. " + naming.OperatorSecret(c.name),
	}
	for _, member := range members {
		names = append(names, "persistentvolumeclaims. data-"+member)
	}
	slices.Sort(names)
	return names
}

// again is the MongoTuning to be made anew from the spec of one that is about to go.
func (c *cluster) again(t *testing.T) *v1alpha1.MongoTuning {
	t.Helper()
	spec := c.tuning(t).Spec
	spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete
	return &v1alpha1.MongoTuning{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name}, Spec: spec}
}

// identities are the ids that the replica sets were given when they were initiated.
func (c *cluster) identities(t *testing.T) map[string]string {
	t.Helper()
	ids := map[string]string{}
	identity := c.memberIdentity(t)
	for _, set := range c.sets(t) {
		answer := mustRun(t, c.member(t, c.members(t, set)[0], &identity), one("replSetGetConfig"))
		ids[set] = answer.Lookup("config", "settings", "replicaSetId").ObjectID().Hex()
	}
	return ids
}

func (c *cluster) isDeletedAndMadeAnew(t *testing.T) {
	g := gomega.NewWithT(t)
	again, members, app, ids := c.again(t), c.allMembers(t), c.secret(t, naming.AppSecret(c.name)), c.identities(t)
	// The mind is changed at the last moment, when the volumes were to go with their sets.
	c.patch(t, `{"spec":{"dataRetention":"Delete"}}`)
	await(t, promptly, "the volumes do not go with their sets", func(g gomega.Gomega) {
		volumes := &corev1.PersistentVolumeClaimList{}
		g.Expect(c.kube.List(t.Context(), volumes, client.InNamespace(c.namespace))).To(gomega.Succeed())
		for _, volume := range volumes.Items {
			g.Expect(volume.OwnerReferences).NotTo(gomega.BeEmpty(), volume.Name)
		}
	})
	c.patch(t, `{"spec":{"dataRetention":"Retain"}}`)
	c.deleteForGood(t, c.tuning(t))
	await(t, settling, "something other than volumes and Secrets stays", func(g gomega.Gomega) {
		g.Expect(c.left(t)).To(gomega.Equal(c.keptData(members)))
	})
	c.create(t, again)
	c.settle(t)
	g.Expect(c.identities(t)).To(gomega.Equal(ids), "replica sets were initiated anew")
	g.Expect(c.listedShards(t)).To(gomega.ConsistOf(c.shards(t)))
	c.appStillGetsIn(t, app)
}

func (c *cluster) isOrphanedAndTakenUp(t *testing.T) {
	g := gomega.NewWithT(t)
	c.patch(t, `{"spec":{"deletionPolicy":"Orphan"}}`)
	c.settle(t)
	again, before, app := c.again(t), c.podsNow(t), c.secret(t, naming.AppSecret(c.name))
	objects := c.ours(t)
	old := c.tuning(t)
	c.deleteForGood(t, old)
	// Long enough for the garbage collector to have taken what it would take.
	g.Consistently(func() []string { return slices.Sorted(maps.Keys(c.ours(t))) }).
		WithTimeout(promptly/4).WithPolling(polling*4).Should(gomega.Equal(slices.Sorted(maps.Keys(objects))), "orphaned objects stay")
	for name, owners := range c.ours(t) {
		g.Expect(owners).To(gomega.BeEmpty(), "%s still has an owner", name)
	}
	g.Expect(uids(c.podsNow(t))).To(gomega.Equal(uids(before)))

	c.create(t, again)
	c.settle(t)
	after := c.podsNow(t)
	g.Expect(uids(after)).To(gomega.Equal(uids(before)), "taking up restarts nothing")
	g.Expect(restarts(after)).To(gomega.Equal(restarts(before)))
	c.appStillGetsIn(t, app)
	for name, owners := range c.ours(t) {
		g.Expect(owners).To(gomega.ConsistOf(c.tuning(t).UID), "%s is not taken up", name)
	}
}

// ours are the objects that a MongoTuning owns, with the identities of their owners.
func (c *cluster) ours(t *testing.T) map[string][]any {
	t.Helper()
	all := map[string][]any{}
	for name, object := range c.everything(t) {
		kind, _, _ := strings.Cut(name, ".")
		owned := []string{"statefulsets", "deployments", "services", "configmaps", "serviceaccounts", "poddisruptionbudgets", "networkpolicies"}
		if object.GetLabels()[naming.LabelInstance] != c.name || !slices.Contains(owned, kind) {
			continue
		}
		all[name] = nil
		for _, owner := range object.GetOwnerReferences() {
			all[name] = append(all[name], owner.UID)
		}
	}
	return all
}

// farewell is the last story: the object is deleted together with its data.
func (c *cluster) farewell(t *testing.T, sentence string) {
	t.Run(sentence, func(t *testing.T) {
		c.expectSettled(t)
		c.patch(t, `{"spec":{"dataRetention":"Delete"}}`)
		c.deleteForGood(t, c.tuning(t))
		await(t, settling, "something stays", func(g gomega.Gomega) {
			g.Expect(c.left(t)).To(gomega.BeEmpty())
		})
		await(t, settling, "a volume stays", func(g gomega.Gomega) {
			volumes := &corev1.PersistentVolumeList{}
			g.Expect(c.kube.List(t.Context(), volumes)).To(gomega.Succeed())
			for _, volume := range volumes.Items {
				claim := volume.Spec.ClaimRef
				g.Expect(claim == nil || claim.Namespace != c.namespace).To(gomega.BeTrue(), "volume %s", volume.Name)
			}
		})
	})
}
