// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/test/builders"
)

func TestFromNothingToReady(t *testing.T) {
	w := newWorld(t)
	w.create(builders.ShardedCluster().Shards(2))
	if got := w.tuning().Status.ObservedGeneration; got != -1 {
		t.Errorf("observedGeneration before the first look is %d, wanted -1", got)
	}
	tuning := w.untilReady()
	if got := tuning.Status.ProvedMembers; got != "9/9" {
		t.Errorf("proved %s, wanted 9/9", got)
	}
	for _, name := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionApplied, v1alpha1.ConditionVerified} {
		if !conditionIs(tuning, name, metav1.ConditionTrue) {
			t.Errorf("%s is not True:\n%s", name, describe(tuning))
		}
	}
	if got := tuning.Status.Revisions; got.Verified == "" || got.Verified != got.Current {
		t.Errorf("the first revision is not the verified one: %+v", got)
	}
	acts := w.servers.Acts()
	slices.Sort(acts)
	want := []string{
		"AddShard demo-shard-0", "AddShard demo-shard-1", "CreateApp demo-config",
		"CreateOperator demo-config", "CreateOperator demo-shard-0", "CreateOperator demo-shard-1",
		"Initiate demo-config", "Initiate demo-shard-0", "Initiate demo-shard-1",
	}
	if diff := cmp.Diff(want, acts); diff != "" {
		t.Errorf("other acts than wanted (-want +got):\n%s", diff)
	}
	for pod, made := range w.kubernetes.made {
		if made != 1 {
			t.Errorf("%s was made %d times", pod, made)
		}
	}
	w.isQuiet()
}
