// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// The two sizes of the story. Either cache is too large for the other limit or fits it, so that the order
// matters in both directions: 0.7 GB is more than 80 % of 768 MiB.
const (
	smallMemory = `{"spec":{"shards":{"resources":{"limits":{"memory":"768Mi"}}},"tuning":{"cacheSizeGB":0.25}}}`
	largeMemory = `{"spec":{"shards":{"resources":{"limits":{"memory":"1Gi"}}},"tuning":{"cacheSizeGB":0.7}}}`
	// mostOfLimit is the share of its pod's limit that a cache may take.
	mostOfLimit = 0.8
)

// resizesMemory changes the memory limit and the cache together, up and down again. At each step that the
// change takes, a pod is killed, which comes back with whatever template and file are there. Meanwhile
// every process is asked again and again how large its cache is.
func (c *cluster) resizesMemory(t *testing.T) {
	sampler := c.sampleCaches(t)
	for _, change := range []string{largeMemory, smallMemory} {
		killed := c.killAtEachStep(t, func() { c.patch(t, change) })
		t.Logf("%s: killed %s", change, strings.Join(killed, ", "))
		gomega.NewWithT(t).Expect(len(killed)).To(gomega.BeNumerically(">=", 4), "steps at which a pod was killed")
	}
	sampler.end()
	sampler.expectFit(t)
}

// killAtEachStep makes a change and kills one member of a shard whenever the change comes to another
// step, until it is verified everywhere. It returns who was killed when.
func (c *cluster) killAtEachStep(t *testing.T, change func()) (killed []string) {
	t.Helper()
	statuses := c.statuses(t)
	victims := slices.Concat(c.members(t, c.shards(t)[0]), c.members(t, c.shards(t)[1]))
	change()
	seen := map[v1alpha1.RolloutStep]bool{"": true}
	await(t, settling, "the change does not come to its end", func(g gomega.Gomega) {
		for _, e := range statuses.read(t) {
			step := e.object.Status.Rollout.Step
			if seen[step] {
				continue
			}
			seen[step] = true
			victim := victims[len(killed)%len(victims)]
			killed = append(killed, fmt.Sprintf("%s at %s", victim, step))
			pod := &corev1.Pod{}
			g.Expect(client.IgnoreNotFound(c.kube.Get(t.Context(), c.key(victim), pod))).To(gomega.Succeed())
			// The process gets no time to hand over. The pod's object stays until it is dead: two processes
			// on one volume would be another story.
			g.Expect(client.IgnoreNotFound(c.kube.Delete(t.Context(), pod, client.GracePeriodSeconds(1)))).To(gomega.Succeed())
		}
		tuning := c.tuning(t)
		g.Expect(seen).To(gomega.HaveKey(v1alpha1.StepVerifying))
		g.Expect(tuning.Status.Rollout.Step).To(gomega.BeEmpty())
		g.Expect(tuning.Status.Revisions.Verified).To(gomega.Equal(tuning.Status.Revisions.Current))
	})
	c.settle(t)
	return killed
}

// caches is what running processes said of their caches while a story went on.
type caches struct {
	cluster *cluster
	cancel  context.CancelFunc
	wait    sync.WaitGroup
	clients map[string]*mongo.Client

	samples int
	// largest is the largest share of its limit that a member's cache took, by member and limit.
	largest map[string]float64
	over    []string
}

// sampleCaches begins to ask every shard member for its cache, again and again.
func (c *cluster) sampleCaches(t *testing.T) *caches {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &caches{cluster: c, cancel: cancel, clients: map[string]*mongo.Client{}, largest: map[string]float64{}}
	identity := c.memberIdentity(t)
	s.wait.Go(func() {
		for ctx.Err() == nil {
			pods, err := c.pods(ctx)
			if err != nil {
				continue
			}
			for _, pod := range pods {
				if pod.Labels[naming.LabelComponent] == naming.ComponentLabel(v1alpha1.ComponentShardMember) && pod.Status.PodIP != "" {
					s.sample(ctx, pod, identity)
				}
			}
		}
	})
	t.Cleanup(s.end)
	return s
}

// sample asks the process of one pod. A process that is just coming or going does not answer.
func (s *caches) sample(ctx context.Context, pod corev1.Pod, identity options.Credential) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	connected, known := s.clients[string(pod.UID)]
	if !known {
		// By its IP, which no other pod gets while this story lasts.
		settings := options.Client().SetHosts([]string{fmt.Sprintf("%s:%d", pod.Status.PodIP, naming.Port)}).SetDirect(true).
			SetAuth(identity).SetServerSelectionTimeout(time.Second).SetConnectTimeout(time.Second)
		var err error
		if connected, err = mongo.Connect(settings); err != nil {
			return
		}
		s.clients[string(pod.UID)] = connected
	}
	status, err := run(ctx, connected, one("serverStatus"))
	if err != nil {
		return
	}
	size, ok := status.Lookup("wiredTiger", "cache", "maximum bytes configured").AsInt64OK()
	if host, _ := status.Lookup("host").StringValueOK(); !ok || !strings.HasPrefix(host, pod.Name) {
		return
	}
	limit := pod.Spec.Containers[0].Resources.Limits.Memory().Value()
	s.samples++
	what := fmt.Sprintf("%s under a limit of %d MiB", pod.Name, limit>>20)
	share := float64(size) / float64(limit)
	s.largest[what] = max(s.largest[what], share)
	if share > mostOfLimit {
		s.over = append(s.over, fmt.Sprintf("%s: cache of %d MiB", what, size>>20))
	}
}

func (s *caches) end() {
	s.cancel()
	s.wait.Wait()
	for uid, connected := range s.clients {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = connected.Disconnect(ctx) // the server may be gone
		cancel()
		delete(s.clients, uid)
	}
}

// expectFit fails when a cache was ever larger than its pod's limit allows, or when a member was not seen
// under both limits.
func (s *caches) expectFit(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	g.Expect(s.over).To(gomega.BeEmpty(), "caches above what the limit of their pod allows")
	limits := map[string]int{}
	for _, what := range slices.Sorted(maps.Keys(s.largest)) {
		member, _, _ := strings.Cut(what, " ")
		limits[member]++
		t.Logf("%s: at most %.0f %% of it was cache", what, 100*s.largest[what])
	}
	for member, seen := range limits {
		g.Expect(seen).To(gomega.Equal(2), "limits under which %s was seen", member)
	}
	t.Logf("%d answers of %d members", s.samples, len(limits))
}
