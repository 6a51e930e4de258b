// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// What somebody sets by hand is found, reported and set back by the first look that sees it, and the look
// after that proves it.
func TestDriftIsSetBackAndProvedWithinTwoLooks(t *testing.T) {
	const pod = "demo-shard-0-1"
	for name, byHand := range map[string]string{
		"a size alone, which hides all else": "cache_size=512M",
		"one trigger and nothing beside":     "eviction_dirty_trigger=77",
		"both, and nothing else":             "cache_size=512M,eviction_dirty_trigger=77",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			bootstrap(w)
			declared, before := w.servers.CacheOf(pod), w.servers.Counted("Set")
			drainEvents(w)
			w.servers.SetByHand(pod, byHand)
			w.must(w.reconcile())
			if found := w.servers.CacheOf(pod); found != declared {
				t.Errorf("after one look the cache is %d, declared is %d", found, declared)
			}
			if events := drainEvents(w); !strings.Contains(events, v1alpha1.EventDriftCorrected) || !strings.Contains(events, pod) {
				t.Errorf("nothing tells of the correction: %s", events)
			}
			w.must(w.reconcile())
			if tuning := w.tuning(); !conditionIs(tuning, v1alpha1.ConditionVerified, metav1.ConditionTrue) {
				t.Errorf("after two looks it is not proved:\n%s", describe(tuning))
			}
			if sets := w.servers.Counted("Set") - before; sets != 1 {
				t.Errorf("%d times something was set, wanted once: %v", sets, w.servers.Acts())
			}
		})
	}
}

// drainEvents are the events that were written since the last time, in one text.
func drainEvents(w *world) string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return strings.Join(all, "\n")
		}
	}
}
