// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/test/builders"
)

func TestHostTuned(t *testing.T) {
	at := metav1.NewTime(noon)
	host := func(name string, result v1alpha1.HostResult) plan.Host {
		return plan.Host{
			Name: name, IsRecorded: true, Target: hosttune.Settings{Revision: "a"}, Pods: []observed.HostPod{{Name: first, Node: name}},
			Status: v1alpha1.HostNodeStatus{Name: name, Revision: "a", ReportTime: &at, Settings: []v1alpha1.HostSettingStatus{
				{Name: "vm.swappiness", Result: result, Wanted: "1", Found: "60", Detail: "because"},
			}},
		}
	}
	for _, row := range []struct {
		name   string
		hosts  []plan.Host
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		{"without hosts there is nothing to say", nil, "", "", ""},
		{"every node has its settings", []plan.Host{host("a", v1alpha1.HostApplied), host("b", v1alpha1.HostAlreadySet)}, metav1.ConditionTrue, v1alpha1.ReasonHostsTuned, "2 nodes"},
		{"what a kernel lacks is no failure", []plan.Host{host("a", v1alpha1.HostUnsupported)}, metav1.ConditionTrue, v1alpha1.ReasonHostsTuned, ""},
		{"a warning is none either", []plan.Host{host("a", v1alpha1.HostWarning)}, metav1.ConditionTrue, v1alpha1.ReasonHostsTuned, ""},
		{"a refusal is told with node, setting and why", []plan.Host{host("a", v1alpha1.HostApplied), host("b", v1alpha1.HostRefused)}, metav1.ConditionFalse, v1alpha1.ReasonHostTuningFailed, `vm.swappiness on node b was refused: wanted "1", found "60" (because)`},
		{"a conflict weighs more", []plan.Host{host("a", v1alpha1.HostRefused), host("b", v1alpha1.HostConflict)}, metav1.ConditionFalse, v1alpha1.ReasonHostConflict, "by another MongoTuning"},
		{"drift names who writes", []plan.Host{func() plan.Host {
			drifted := host("a", v1alpha1.HostDiffers)
			drifted.Writers = []string{"tuned"}
			return drifted
		}()}, metav1.ConditionFalse, v1alpha1.ReasonHostDrift, "tuned runs there"},
		{"a Job that fails is told", []plan.Host{func() plan.Host {
			failed := host("a", v1alpha1.HostApplied)
			failed.Status.Failure = "Job x: no room"
			return failed
		}()}, metav1.ConditionFalse, v1alpha1.ReasonHostTuningFailed, "no room"},
		{"older settings are not the declared ones", []plan.Host{func() plan.Host {
			older := host("a", v1alpha1.HostApplied)
			older.Target.Revision = "b"
			return older
		}()}, metav1.ConditionUnknown, v1alpha1.ReasonTuningHosts, "no report of node a"},
		{"a node that was left has to be put back", []plan.Host{func() plan.Host {
			left := host("a", v1alpha1.HostApplied)
			left.Pods, left.IsLeft = nil, true
			return left
		}()}, metav1.ConditionUnknown, v1alpha1.ReasonTuningHosts, "has to be put back"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cluster := builders.ShardedCluster().InForce().Cluster
			cluster.Hosts = row.hosts
			got := status.Compute(v1alpha1.MongoTuningStatus{}, status.Facts{Now: noon, Cluster: cluster, Action: plan.Action{Kind: plan.Nothing, Reason: v1alpha1.ReasonVerified}})
			condition := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionHostTuned)
			if condition == nil {
				condition = &metav1.Condition{}
			}
			if condition.Status != row.status || condition.Reason != row.reason || !strings.Contains(condition.Message, row.says) {
				t.Errorf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
			}
			cluster.Hosts = nil
			after := status.Compute(got, status.Facts{Now: evening, Cluster: cluster, Action: plan.Action{Kind: plan.Nothing, Reason: v1alpha1.ReasonVerified}})
			if meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionHostTuned) != nil {
				t.Error("the condition stays when there is nothing to say any more")
			}
		})
	}
}

// TestReportsOfManyNodesAreCut keeps the object below what etcd takes.
func TestReportsOfManyNodesAreCut(t *testing.T) {
	at := metav1.NewTime(noon)
	cluster := builders.ShardedCluster().InForce().Cluster
	for i := range 65 {
		name := fmt.Sprintf("node-%02d", i)
		cluster.Hosts = append(cluster.Hosts, plan.Host{
			Name: name, Pods: []observed.HostPod{{Node: name}},
			Status: v1alpha1.HostNodeStatus{Name: name, ReportTime: &at, Settings: []v1alpha1.HostSettingStatus{
				{Name: "vm.swappiness", Result: v1alpha1.HostRefused}, {Name: "vm.dirty_ratio", Result: v1alpha1.HostApplied},
			}},
		})
	}
	got := status.Compute(v1alpha1.MongoTuningStatus{}, status.Facts{Now: noon, Cluster: cluster, Action: plan.Action{Kind: plan.Nothing}})
	if len(got.HostTuning.Nodes) != 65 || len(got.HostTuning.NodesTouched) != 65 {
		t.Fatalf("%d nodes, %d touched", len(got.HostTuning.Nodes), len(got.HostTuning.NodesTouched))
	}
	for _, node := range got.HostTuning.Nodes {
		if len(node.Settings) != 1 || node.Settings[0].Result != v1alpha1.HostRefused {
			t.Fatalf("kept of %s: %+v", node.Name, node.Settings)
		}
	}
}
