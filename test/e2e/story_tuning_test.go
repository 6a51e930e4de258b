// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"go.mongodb.org/mongo-driver/v2/bson"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

func (c *cluster) changesOnline(t *testing.T) {
	before := c.podsNow(t)
	c.patch(t, `{"spec":{"tuning":{"eviction":{"dirtyTriggerPercent":25}}}}`)
	c.settle(t)
	after := c.podsNow(t)
	g := gomega.NewWithT(t)
	g.Expect(uids(after)).To(gomega.Equal(uids(before)), "pods that were made anew")
	g.Expect(restarts(after)).To(gomega.Equal(restarts(before)))
}

// correctsCacheSize sets the cache alone, which keeps all other settings of before in force although
// the server no longer says so.
func (c *cluster) correctsCacheSize(t *testing.T) {
	c.changedByHandIsPutBack(t, c.secondary(t, c.shards(t)[1]), "cache_size=300M", "cacheSizeGB")
}

// correctsEviction sets one thing of the engine on a primary, and no other.
func (c *cluster) correctsEviction(t *testing.T) {
	c.changedByHandIsPutBack(t, c.primary(t, c.shards(t)[0]), "eviction=(threads_min=1,threads_max=2)", "eviction.threadsMin")
}

func (c *cluster) changedByHandIsPutBack(t *testing.T, pod, setting, knob string) {
	t.Helper()
	before := c.podsNow(t)
	server := c.member(t, pod, new(c.memberIdentity(t)))
	setByHand(t, c, pod, setting)
	declared := *c.tuning(t).Spec.Tuning
	await(t, promptly, "what was set by hand stays in force on "+pod, func(g gomega.Gomega) {
		c.expectShardMember(g, pod, ask(t, server), declared)
	})
	g := gomega.NewWithT(t)
	g.Expect(uids(c.podsNow(t))).To(gomega.Equal(uids(before)), "nothing was restarted")
	await(t, promptly, "no event tells of the correction", func(g gomega.Gomega) {
		events := &eventsv1.EventList{}
		g.Expect(c.kube.List(t.Context(), events, client.InNamespace(c.namespace))).To(gomega.Succeed())
		told := slices.ContainsFunc(events.Items, func(event eventsv1.Event) bool {
			return event.Regarding.Name == c.name && event.Reason == v1alpha1.EventDriftCorrected &&
				strings.Contains(event.Note, knob+" on "+pod)
		})
		g.Expect(told).To(gomega.BeTrue())
	})
}

// runtimeConfig asks for the string that was sent last to the storage engine.
func runtimeConfig() bson.D {
	return bson.D{{Key: "getParameter", Value: 1}, {Key: "wiredTigerEngineRuntimeConfig", Value: 1}}
}

func setByHand(t *testing.T, c *cluster, pod, setting string) {
	t.Helper()
	server := c.member(t, pod, new(c.memberIdentity(t)))
	mustRun(t, server, bson.D{{Key: "setParameter", Value: 1}, {Key: "wiredTigerEngineRuntimeConfig", Value: setting}})
}

// restartingChange is a change of a knob that only a process which starts anew takes.
func (c *cluster) restartingChange() string {
	if c.isModern() {
		return `{"spec":{"tuning":{"initialServiceExecutorThreadingModel":"borrowed"}}}`
	}
	return `{"spec":{"tuning":{"enableMajorityReadConcern":true}}}`
}

// changesWithRestarts makes a change that restarts every member under load, and reads its story in the events.
func (c *cluster) changesWithRestarts(t *testing.T) {
	g := gomega.NewWithT(t)
	c.looksSoon(t)
	result := c.underLoad(t, lightLoad(t), lightRate, func() {
		primaries := map[string]string{}
		for _, shard := range c.shards(t) {
			primaries[shard] = c.primary(t, shard)
		}
		before, statuses := c.podsNow(t), c.statuses(t)
		pods := open[*corev1.Pod](t, c, &corev1.PodList{}, client.MatchingLabels(naming.Labels(c.name)))
		events := open[*eventsv1.Event](t, c, &eventsv1.EventList{})
		c.patch(t, c.restartingChange())
		c.settle(t)
		after := c.podsNow(t)
		g.Expect(restarts(after)).To(gomega.Equal(restarts(before)-restartsOfShards(before)), "containers that were started again in place")
		restarted := c.expectWholeRollout(t, statuses, pods)
		for index, shard := range c.shards(t) {
			t.Logf("%s: restarted %v, the primary was %s", shard, restarted[shard], primaries[shard])
			if index > 0 {
				g.Expect(restarted[shard][len(restarted[shard])-1]).To(gomega.Equal(primaries[shard]), "the primary last")
			}
		}
		// The canary is a secondary, and leads its shard before any other member is restarted.
		shard := c.shards(t)[0]
		canary := restarted[shard][0]
		g.Expect(canary).NotTo(gomega.Equal(primaries[shard]), "the canary")
		g.Expect(c.primary(t, shard)).To(gomega.Equal(canary), "the canary leads")
		c.expectStory(t, events, []string{
			"goes to the canary " + canary + " first",
			"restarting " + canary,
			"watching the canary " + canary,
			"the canary " + canary + " has to lead",
			"so that the canary " + canary + " leads",
			"the canary " + canary + " leads; watching it",
			"the rest of its shard follows",
			"the other shards follow",
			"the config servers follow",
			"mongos follows",
			"is in force, proved and in range on every member",
		})
	})
	// The driver tries a write once more when the lead moves, as that of applications does.
	t.Logf("%d of %d operations failed while every member of the shards was restarted", result.Total.Failed, result.Total.Count)
}

func restartsOfShards(pods map[string]corev1.Pod) int32 {
	shards := map[string]corev1.Pod{}
	for name, pod := range pods {
		if pod.Labels[naming.LabelComponent] == naming.ComponentLabel(v1alpha1.ComponentShardMember) {
			shards[name] = pod
		}
	}
	return restarts(shards)
}

func (c *cluster) grows(t *testing.T) {
	g := gomega.NewWithT(t)
	before := c.podsNow(t)
	c.patch(t, `{"spec":{"shards":{"count":3}}}`)
	c.settle(t)
	added := naming.Shard(c.name, 2)
	c.openLedger(t, added)
	after := c.podsNow(t)
	for name, pod := range before {
		if pod.Labels[naming.LabelReplicaSet] != "" {
			g.Expect(after[name].UID).To(gomega.Equal(pod.UID), "%s was disturbed by the new shard", name)
		}
	}
	g.Expect(c.listedShards(t)).To(gomega.ConsistOf(c.shards(t)))
}

// listedShards are the shards that mongos lists, asked with the operator's own user.
func (c *cluster) listedShards(t *testing.T) []string {
	t.Helper()
	answer := mustRun(t, c.router(t, c.operatorURI(t)), one("listShards"))
	var listed struct {
		Shards []struct {
			ID string `bson:"_id"`
		} `bson:"shards"`
	}
	if err := bson.Unmarshal(answer, &listed); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, shard := range listed.Shards {
		names = append(names, shard.ID)
	}
	return names
}
