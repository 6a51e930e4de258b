// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// lookAt is one look at a member in a pod of 1 GiB with half of it for the cache; connections below nought
// stand for no answer.
func lookAt(memory *gaugeMemory, at time.Time, podUID string, connections int64) verify.Measurement {
	member := observed.Member{Name: "rs-0", Pod: observed.Pod{Exists: true, UID: podUID, MemoryLimit: 1 << 30}}
	if connections >= 0 {
		member.Look = observed.Look{State: observed.StatePrimary, Status: &serverstatus.Status{
			Cache:       serverstatus.Cache{MaxBytes: new(int64(512 << 20))},
			Connections: serverstatus.Connections{Current: &connections},
		}}
	}
	tuning := &v1alpha1.MongoTuning{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	cluster := plan.Cluster{Now: at, ReplicaSets: []plan.ReplicaSet{{Seen: observed.ReplicaSet{Name: "rs", Members: []observed.Member{member}}}}}
	for _, measurement := range memory.judge(tuning, plan.Wanted{}, cluster).Of("rs-0").Measurements {
		if measurement.Gauge == v1alpha1.GaugeMemoryBudget {
			return measurement
		}
	}
	return verify.Measurement{}
}

// The most connections that were ever seen on a member count, through silence and another pod, so that
// the warning does not come and go with them.
func TestPeakOfConnectionsIsKept(t *testing.T) {
	memory, noon := &gaugeMemory{}, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i, look := range []struct {
		name        string
		podUID      string
		connections int64
		want        float64
		unknown     bool
	}{
		{name: "few", podUID: "one", connections: 0, want: 60},
		{name: "a storm", podUID: "one", connections: 512, want: 110},
		{name: "calm again", podUID: "one", connections: 10, want: 110},
		{name: "no answer", podUID: "one", connections: -1, unknown: true},
		{name: "another pod", podUID: "two", connections: 10, want: 110},
	} {
		got := lookAt(memory, noon.Add(time.Duration(i)*time.Minute), look.podUID, look.connections)
		if got.HasValue == look.unknown || got.HasValue && (got.Value < look.want-0.01 || got.Value > look.want+0.01) {
			t.Errorf("%s: got %+v, wanted %g", look.name, got, look.want)
		}
	}
	memory.forget(types.NamespacedName{Namespace: "a", Name: "b"})
	if got := lookAt(memory, noon.Add(time.Hour), "two", 0); got.Value > 60.01 {
		t.Errorf("the peak outlives the object: %+v", got)
	}
}
