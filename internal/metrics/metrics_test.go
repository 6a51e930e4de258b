// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/verify"
)

var demo = types.NamespacedName{Namespace: "shop", Name: "demo"}

// snapshot is one member whose dirty cache is breached and whose lag is unknown.
func snapshot() Cluster {
	member := Member{IsAnswering: true, Proved: 3, Declared: 4, Mismatched: 1}
	member.Gauges = verify.MemberGauges{Member: "demo-shard-0-0", ReplicaSet: "demo-shard-0"}
	for _, gauge := range verify.Gauges() {
		measurement := verify.Measurement{Gauge: gauge.Name, State: verify.Measured, Value: 23, HasValue: true}
		if gauge.Name == v1alpha1.GaugeReplicationLag {
			measurement = verify.Measurement{Gauge: gauge.Name, Why: verify.NoPrimary}
		}
		member.Gauges.Measurements = append(member.Gauges.Measurements, measurement)
	}
	member.Gauges.Judgements = []verify.Judgement{{
		Limit:  verify.Limit{Name: "dirty-cache", Gauge: v1alpha1.GaugeDirtyCache, Bound: 20, Enforcement: v1alpha1.EnforcementEnforce},
		Member: "demo-shard-0-0", Verdict: verify.Breached,
		Measurement: verify.Measurement{Gauge: v1alpha1.GaugeDirtyCache, State: verify.Measured, Value: 23, HasValue: true},
	}, {
		// Breached, and no answer since.
		Limit:  verify.Limit{Name: "replication-lag", Gauge: v1alpha1.GaugeReplicationLag, Bound: 10, Enforcement: v1alpha1.EnforcementReport},
		Member: "demo-shard-0-0", Verdict: verify.Breached,
	}}
	member.Gauges.DirtyTrigger = new(30.0)
	return Cluster{
		LookedAt: time.UnixMilli(1767268800500), Period: 10 * time.Second, MongoDBVersion: "4.4.2", Members: []Member{member}, Step: v1alpha1.StepCanarySoak,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
	}
}

func registered(t *testing.T) (*Recorder, *prometheus.Registry) {
	t.Helper()
	recorder, registry := New("v1"), prometheus.NewPedanticRegistry()
	if err := recorder.Register(registry); err != nil {
		t.Fatal(err)
	}
	return recorder, registry
}

func fill(recorder *Recorder) {
	recorder.Record(demo, snapshot())
	recorder.Performed(demo, "Restart")
	recorder.Turned(demo, v1alpha1.StepReturning)
	recorder.Turned(demo, "")
	recorder.Looked(40 * time.Millisecond)
	recorder.Commanded("serverStatus", "ok")
}

func TestNamesAndHelpPassTheLinter(t *testing.T) {
	recorder, registry := registered(t)
	fill(recorder)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

func TestSeriesOfAMember(t *testing.T) {
	recorder, registry := registered(t)
	fill(recorder)
	want := `
# HELP mongotuning_dirty_cache_ratio Share of the WiredTiger cache that is not on disk yet: tracked dirty bytes of maximum bytes configured. As a ratio, 0 to 1.
# TYPE mongotuning_dirty_cache_ratio gauge
mongotuning_dirty_cache_ratio{member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0"} 0.23
# HELP mongotuning_limit What a gauge of the member is held to, in the unit of the gauge's own metric; bound is max or min.
# TYPE mongotuning_limit gauge
mongotuning_limit{bound="max",enforcement="Enforce",gauge="DirtyCachePercent",limit="dirty-cache",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0"} 0.2
mongotuning_limit{bound="max",enforcement="Report",gauge="ReplicationLagSeconds",limit="replication-lag",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0"} 10
# HELP mongotuning_limit_measurement What was last measured of the gauge a limit is about, in the unit of that gauge's own metric, so that number and limit stand side by side.
# TYPE mongotuning_limit_measurement gauge
mongotuning_limit_measurement{gauge="DirtyCachePercent",limit="dirty-cache",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0"} 0.23
# HELP mongotuning_dirty_cache_trigger_ratio Dirty share of the cache at which client threads are drafted to evict, as in force on the member. As a ratio, 0 to 1.
# TYPE mongotuning_dirty_cache_trigger_ratio gauge
mongotuning_dirty_cache_trigger_ratio{member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0"} 0.3
# HELP mongotuning_cluster_info 1 for the declared MongoDB version and the TuningProfile of the object; profile is empty when it refers to none.
# TYPE mongotuning_cluster_info gauge
mongotuning_cluster_info{mongodb_version="4.4.2",name="demo",namespace="shop",profile=""} 1
# HELP mongotuning_rollout_turns_total How often a change went to a step; Returning counts the changes that were taken back, Done those that arrived.
# TYPE mongotuning_rollout_turns_total counter
mongotuning_rollout_turns_total{name="demo",namespace="shop",step="Canary"} 0
mongotuning_rollout_turns_total{name="demo",namespace="shop",step="Done"} 1
mongotuning_rollout_turns_total{name="demo",namespace="shop",step="Returning"} 1
# HELP mongotuning_limit_verdict 1 for the verdict over a limit on the member, 0 for the others: InRange, Pending, Breached, Unknown.
# TYPE mongotuning_limit_verdict gauge
mongotuning_limit_verdict{enforcement="Enforce",gauge="DirtyCachePercent",limit="dirty-cache",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="Breached"} 1
mongotuning_limit_verdict{enforcement="Enforce",gauge="DirtyCachePercent",limit="dirty-cache",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="InRange"} 0
mongotuning_limit_verdict{enforcement="Enforce",gauge="DirtyCachePercent",limit="dirty-cache",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="Pending"} 0
mongotuning_limit_verdict{enforcement="Enforce",gauge="DirtyCachePercent",limit="dirty-cache",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="Unknown"} 0
mongotuning_limit_verdict{enforcement="Report",gauge="ReplicationLagSeconds",limit="replication-lag",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="Breached"} 1
mongotuning_limit_verdict{enforcement="Report",gauge="ReplicationLagSeconds",limit="replication-lag",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="InRange"} 0
mongotuning_limit_verdict{enforcement="Report",gauge="ReplicationLagSeconds",limit="replication-lag",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="Pending"} 0
mongotuning_limit_verdict{enforcement="Report",gauge="ReplicationLagSeconds",limit="replication-lag",member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0",verdict="Unknown"} 0
# HELP mongotuning_knobs_proved Declared knobs whose value was read back from the running process.
# TYPE mongotuning_knobs_proved gauge
mongotuning_knobs_proved{member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0"} 3
# HELP mongotuning_condition 1 for the status of a condition of the object, 0 for the others. Conditions that are absent have no series.
# TYPE mongotuning_condition gauge
mongotuning_condition{name="demo",namespace="shop",status="False",type="Ready"} 0
mongotuning_condition{name="demo",namespace="shop",status="True",type="Ready"} 1
mongotuning_condition{name="demo",namespace="shop",status="Unknown",type="Ready"} 0
# HELP mongotuning_last_look_timestamp_seconds When the cluster was last looked at and judged. Everything else of the object is as old as this.
# TYPE mongotuning_last_look_timestamp_seconds gauge
mongotuning_last_look_timestamp_seconds{name="demo",namespace="shop"} 1.7672688005e+09
# HELP mongotuning_read_latency_seconds Mean seconds of the reads between two looks: growth of latency by growth of ops in opLatencies.reads.
# TYPE mongotuning_read_latency_seconds gauge
mongotuning_read_latency_seconds{member="demo-shard-0-0",name="demo",namespace="shop",replica_set="demo-shard-0"} 0.023
`
	err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"mongotuning_dirty_cache_ratio", "mongotuning_limit", "mongotuning_limit_verdict", "mongotuning_knobs_proved",
		"mongotuning_limit_measurement", "mongotuning_dirty_cache_trigger_ratio", "mongotuning_cluster_info", "mongotuning_rollout_turns_total",
		// Nobody has read the target.
		"mongotuning_dirty_cache_target_ratio",
		"mongotuning_condition", "mongotuning_last_look_timestamp_seconds", "mongotuning_read_latency_seconds",
		// What is unknown has no series.
		"mongotuning_replication_lag_seconds")
	if err != nil {
		t.Error(err)
	}
}

func TestSeriesVanishWithTheirObject(t *testing.T) {
	recorder, registry := registered(t)
	other := types.NamespacedName{Namespace: "shop", Name: "other"}
	fill(recorder)
	recorder.Record(other, snapshot())
	recorder.Performed(other, "Restart")
	recorder.Turned(other, v1alpha1.StepCanary)
	count := func(label string) int {
		t.Helper()
		gathered, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		series := 0
		for _, metric := range gathered {
			for _, one := range metric.GetMetric() {
				for _, pair := range one.GetLabel() {
					if pair.GetName() == "name" && pair.GetValue() == label {
						series++
					}
				}
			}
		}
		return series
	}
	before := count("other")
	recorder.Forget(demo)
	if left := count("demo"); left != 0 {
		t.Errorf("%d series of an object that is gone", left)
	}
	if after := count("other"); after != before || after == 0 {
		t.Errorf("%d series of the other object, before %d", after, before)
	}
}

func TestEveryGaugeHasAMetric(t *testing.T) {
	seen := map[string]bool{}
	for _, gauge := range verify.Gauges() {
		metric, known := gaugeFamilies[gauge.Name]
		if !known || metric.scale == 0 || seen[metric.name] {
			t.Errorf("%s has no metric of its own", gauge.Name)
		}
		seen[metric.name] = true
	}
	if len(gaugeFamilies) != len(verify.Gauges()) {
		t.Error("there is a metric of a gauge that does not exist")
	}
}

func TestWaitsAndSlots(t *testing.T) {
	recorder, registry := registered(t)
	waits := Cluster{Waiting: &v1alpha1.WaitStatus{Reason: v1alpha1.ReasonWaitingForSlot, Since: metav1.NewTime(time.Unix(1767268800, 0))}}
	recorder.Record(demo, waits)
	recorder.HasSlots(2)
	want := `
# HELP mongotuning_rollout_slots How many objects may roll out a change at once, 0 for no bound; mongotuning_rollout_step shows those that do.
# TYPE mongotuning_rollout_slots gauge
mongotuning_rollout_slots 2
# HELP mongotuning_waiting_since_timestamp_seconds Since when the operator waits for something, by the reason of the condition Reconciling or Stalled. No series while it does not.
# TYPE mongotuning_waiting_since_timestamp_seconds gauge
mongotuning_waiting_since_timestamp_seconds{name="demo",namespace="shop",reason="WaitingForSlot"} 1.7672688e+09
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "mongotuning_rollout_slots", "mongotuning_waiting_since_timestamp_seconds"); err != nil {
		t.Error(err)
	}
	recorder.Record(demo, Cluster{})
	if count, err := testutil.GatherAndCount(registry, "mongotuning_waiting_since_timestamp_seconds"); err != nil || count != 0 {
		t.Errorf("%d series of a wait that is over (%v)", count, err)
	}
}

func TestEveryMetricIsInTheReference(t *testing.T) {
	recorder, registry := registered(t)
	fill(recorder)
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range gathered {
		if !strings.Contains(Reference(), "`"+metric.GetName()+"`") {
			t.Errorf("%s is not in the reference", metric.GetName())
		}
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Reference() {
		t.Error("docs/metrics.md is stale; run make generate")
	}
}

func TestNobodyListens(_ *testing.T) {
	var recorder *Recorder
	fill(recorder)
	recorder.Forget(demo)
}
