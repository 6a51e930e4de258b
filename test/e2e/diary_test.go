// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// diary holds every state of some objects since it was opened, so that nothing is missed that was true
// for a moment only.
type diary[T client.Object] struct {
	mu      sync.Mutex
	entries []entry[T]
	ended   bool
	// opened is when it began.
	opened time.Time
}

type entry[T client.Object] struct {
	kind   watch.EventType
	object T
}

// open begins a diary of the objects in a list, which ends with the test.
func open[T client.Object](t *testing.T, c *cluster, list client.ObjectList, options ...client.ListOption) *diary[T] {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	watching, err := c.kube.Watch(ctx, list, append(options, client.InNamespace(c.namespace))...)
	if err != nil {
		cancel()
		t.Fatalf("watch %T: %v", list, err)
	}
	d := &diary[T]{opened: time.Now()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watching.ResultChan() {
			if object, ok := event.Object.(T); ok {
				d.mu.Lock()
				d.entries = append(d.entries, entry[T]{kind: event.Type, object: object})
				d.mu.Unlock()
			}
		}
		d.mu.Lock()
		d.ended = true
		d.mu.Unlock()
	}()
	t.Cleanup(func() {
		watching.Stop()
		cancel()
		<-done
	})
	return d
}

// read returns what was written so far; a diary that ended early has missed something.
func (d *diary[T]) read(t *testing.T) []entry[T] {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		t.Fatal("the watch ended early, so something may have been missed")
	}
	return slices.Clone(d.entries)
}

// statuses is a diary of the MongoTuning.
func (c *cluster) statuses(t *testing.T) *diary[*v1alpha1.MongoTuning] {
	t.Helper()
	return open[*v1alpha1.MongoTuning](t, c, &v1alpha1.MongoTuningList{}, client.MatchingFields{"metadata.name": c.name})
}

// awaitNoticed waits until some status told what is asked for, however briefly.
func awaitNoticed(t *testing.T, statuses *diary[*v1alpha1.MongoTuning], what string, tells func(*v1alpha1.MongoTuning) bool) {
	t.Helper()
	await(t, settling, "status never said: "+what, func(g gomega.Gomega) {
		told := slices.ContainsFunc(statuses.read(t), func(e entry[*v1alpha1.MongoTuning]) bool { return tells(e.object) })
		g.Expect(told).To(gomega.BeTrue())
	})
}

// uids are the pods' identities by name.
func uids(pods map[string]corev1.Pod) map[string]types.UID {
	all := map[string]types.UID{}
	for name, pod := range pods {
		all[name] = pod.UID
	}
	return all
}

// restarts counts how often containers of the pods were started again in place.
func restarts(pods map[string]corev1.Pod) int32 {
	count := int32(0)
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			count += container.RestartCount
		}
	}
	return count
}

// delete removes pods, and waits until status has noticed and other pods have taken their place: what
// comes after is not the Ready of before.
func (c *cluster) delete(t *testing.T, names ...string) {
	t.Helper()
	statuses := c.statuses(t)
	before := c.podsNow(t)
	started := time.Now()
	for _, name := range names {
		pod := before[name]
		if err := c.kube.Delete(t.Context(), &pod, client.Preconditions{UID: &pod.UID}); err != nil {
			t.Fatalf("delete pod %s: %v", name, err)
		}
	}
	awaitNoticed(t, statuses, "a pod is missing", func(tuning *v1alpha1.MongoTuning) bool {
		return statusOf(tuning, v1alpha1.ConditionReady) != "True"
	})
	t.Logf("status noticed after %s", time.Since(started).Round(10*time.Millisecond))
	await(t, settling, "the deleted pods stay", func(g gomega.Gomega) {
		pods, err := c.pods(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, name := range names {
			if pod, exists := pods[name]; exists {
				g.Expect(pod.UID).NotTo(gomega.Equal(before[name].UID), "pod %s", name)
			}
		}
	})
}

// disturbances is what a diary of pods says about one replica set.
type disturbances struct {
	// replaced are the pods that were made anew, in that order.
	replaced []string
	// atOnce is the greatest number of members that were away at the same time.
	atOnce int
}

// disturbancesOf reads from a diary of pods, which began with all of them ready, who was away when.
func disturbancesOf(t *testing.T, pods *diary[*corev1.Pod], set string) disturbances {
	t.Helper()
	var found disturbances
	known := map[string]types.UID{}
	away := map[string]bool{}
	for _, e := range pods.read(t) {
		if e.object.Labels[naming.LabelReplicaSet] != set {
			continue
		}
		name := e.object.Name
		if uid, seen := known[name]; seen && uid != e.object.UID && e.kind != watch.Deleted {
			found.replaced = append(found.replaced, name)
		}
		if e.kind != watch.Deleted {
			known[name] = e.object.UID
		}
		away[name] = e.kind == watch.Deleted || e.object.DeletionTimestamp != nil || !isReady(*e.object)
		count := 0
		for _, isAway := range away {
			if isAway {
				count++
			}
		}
		found.atOnce = max(found.atOnce, count)
	}
	return found
}
