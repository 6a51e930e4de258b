// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// family is one metric: its name, type, labels and what it says.
type family struct {
	name, kind string
	labels     []string
	help       string
	// scale is how many of the gauge's own unit make one of the metric's base unit. Dividing by it keeps
	// 95 percent 0.95, where multiplying by 0.01 would not.
	scale float64
}

func (f family) desc() *prometheus.Desc {
	return prometheus.NewDesc(f.name, f.help, f.labels, nil)
}

const (
	kindGauge     = "gauge"
	kindCounter   = "counter"
	kindHistogram = "histogram"
)

// The labels. All of them are bounded by what is declared: objects, their members, gauges, limits.
var (
	objectLabels = []string{"namespace", "name"}
	memberLabels = []string{"namespace", "name", "replica_set", "member"}
)

func with(labels []string, more ...string) []string { return slices.Concat(labels, more) }

const (
	// percents make a whole, millis a second.
	percents = 100
	millis   = 1000
)

// gaugeFamilies are the metrics of the gauges.
var gaugeFamilies = map[v1alpha1.Gauge]family{
	v1alpha1.GaugeDirtyCache:                 {name: "mongotuning_dirty_cache_ratio", scale: percents},
	v1alpha1.GaugeCacheFill:                  {name: "mongotuning_cache_fill_ratio", scale: percents},
	v1alpha1.GaugeApplicationThreadEvictions: {name: "mongotuning_application_thread_evictions_per_second", scale: 1},
	v1alpha1.GaugeReplicationLag:             {name: "mongotuning_replication_lag_seconds", scale: 1},
	v1alpha1.GaugeMajorityLag:                {name: "mongotuning_majority_lag_seconds", scale: 1},
	v1alpha1.GaugeOplogWindow:                {name: "mongotuning_oplog_window_seconds", scale: 1},
	v1alpha1.GaugeFlowControlLagged:          {name: "mongotuning_flow_control_lagged_ratio", scale: percents},
	v1alpha1.GaugePinnedHistory:              {name: "mongotuning_pinned_history_seconds", scale: 1},
	v1alpha1.GaugeTicketsAvailable:           {name: "mongotuning_tickets_available", scale: 1},
	v1alpha1.GaugeQueuedOperations:           {name: "mongotuning_queued_operations", scale: 1},
	v1alpha1.GaugeCheckpointDuration:         {name: "mongotuning_checkpoint_duration_seconds", scale: 1},
	v1alpha1.GaugeCheckpointInterval:         {name: "mongotuning_checkpoint_interval_seconds", scale: 1},
	v1alpha1.GaugeSlowOperations:             {name: "mongotuning_slow_operations_per_second", scale: 1},
	v1alpha1.GaugeReadLatency:                {name: "mongotuning_read_latency_seconds", scale: millis},
	v1alpha1.GaugeWriteLatency:               {name: "mongotuning_write_latency_seconds", scale: millis},
	v1alpha1.GaugeCommandLatency:             {name: "mongotuning_command_latency_seconds", scale: millis},
	v1alpha1.GaugeConnectionsUsed:            {name: "mongotuning_connections_used_ratio", scale: percents},
	v1alpha1.GaugeMemoryBudget:               {name: "mongotuning_memory_budget_ratio", scale: percents},
}

// familyOf is the metric of a gauge.
func familyOf(gauge verify.Gauge) family {
	metric := gaugeFamilies[gauge.Name]
	metric.kind, metric.labels, metric.help = kindGauge, memberLabels, gauge.Help
	switch metric.scale {
	case percents:
		metric.help += " As a ratio, 0 to 1."
	case millis:
		metric.help = strings.Replace(metric.help, "milliseconds", "seconds", 1)
	}
	return metric
}

// The metrics that are made of what the last look found.
var (
	limitFamily = family{
		name: "mongotuning_limit", kind: kindGauge, labels: with(memberLabels, "limit", "gauge", "bound", "enforcement"),
		help: "What a gauge of the member is held to, in the unit of the gauge's own metric; bound is max or min.",
	}
	measurementFamily = family{
		name: "mongotuning_limit_measurement", kind: kindGauge, labels: with(memberLabels, "limit", "gauge"),
		help: "What was last measured of the gauge a limit is about, in the unit of that gauge's own metric, so that number and limit stand side by side.",
	}
	dirtyTargetFamily = family{
		name: "mongotuning_dirty_cache_target_ratio", kind: kindGauge, labels: memberLabels, scale: percents,
		help: "Dirty share of the cache at which background eviction begins to write, as in force on the member. As a ratio, 0 to 1.",
	}
	dirtyTriggerFamily = family{
		name: "mongotuning_dirty_cache_trigger_ratio", kind: kindGauge, labels: memberLabels, scale: percents,
		help: "Dirty share of the cache at which client threads are drafted to evict, as in force on the member. As a ratio, 0 to 1.",
	}
	verdictFamily = family{
		name: "mongotuning_limit_verdict", kind: kindGauge, labels: with(memberLabels, "limit", "gauge", "enforcement", "verdict"),
		help: "1 for the verdict over a limit on the member, 0 for the others: InRange, Pending, Breached, Unknown.",
	}
	answeredFamily = family{
		name: "mongotuning_member_answered", kind: kindGauge, labels: memberLabels,
		help: "1 when the member answered everything in the last look, 0 when it did not.",
	}
	declaredFamily = family{
		name: "mongotuning_knobs_declared", kind: kindGauge, labels: memberLabels,
		help: "Knobs that are declared for the member and have an effect.",
	}
	provedFamily = family{
		name: "mongotuning_knobs_proved", kind: kindGauge, labels: memberLabels,
		help: "Declared knobs whose value was read back from the running process.",
	}
	mismatchedFamily = family{
		name: "mongotuning_knobs_mismatched", kind: kindGauge, labels: memberLabels,
		help: "Knobs for which the running process reports another value than the wanted one.",
	}
	conditionFamily = family{
		name: "mongotuning_condition", kind: kindGauge, labels: with(objectLabels, "type", "status"),
		help: "1 for the status of a condition of the object, 0 for the others. Conditions that are absent have no series.",
	}
	stepFamily = family{
		name: "mongotuning_rollout_step", kind: kindGauge, labels: with(objectLabels, "step"),
		help: "1 for the step a change on its way has reached. No series while none is on its way.",
	}
	infoFamily = family{
		name: "mongotuning_cluster_info", kind: kindGauge, labels: with(objectLabels, "mongodb_version", "profile"),
		help: "1 for the declared MongoDB version and the TuningProfile of the object; profile is empty when it refers to none.",
	}
	periodFamily = family{
		name: "mongotuning_look_period_seconds", kind: kindGauge, labels: objectLabels,
		help: "Declared time between two looks at a cluster that is as it should be.",
	}
	hostSettingsFamily = family{
		name: "mongotuning_host_settings", kind: kindGauge, labels: with(objectLabels, "node", "result"),
		help: "Host settings and checks in the report of a node, by result. A node without a report has no series.",
	}
	hostThroughputFamily = family{
		name: "mongotuning_host_write_bytes_per_second", kind: kindGauge, labels: with(objectLabels, "node"),
		help: "What a data volume on the node took when it was measured last. No series where nothing was measured.",
	}
	hostWarningsFamily = family{
		name: "mongotuning_host_differences", kind: kindGauge, labels: objectLabels,
		help: "How often nodes of one shard differ from each other beyond the limits. No series while no node is tuned.",
	}
	waitingFamily = family{
		name: "mongotuning_waiting_since_timestamp_seconds", kind: kindGauge, labels: with(objectLabels, "reason"),
		help: "Since when the operator waits for something, by the reason of the condition Reconciling or Stalled. No series while it does not.",
	}
	lookedFamily = family{
		name: "mongotuning_last_look_timestamp_seconds", kind: kindGauge, labels: objectLabels,
		help: "When the cluster was last looked at and judged. Everything else of the object is as old as this.",
	}
)

// The metrics that count as things happen.
var (
	lookDurationFamily = family{
		name: "mongotuning_look_duration_seconds", kind: kindHistogram,
		help: "How long it took to look at all servers of one cluster.",
	}
	actionsFamily = family{
		name: "mongotuning_actions_total", kind: kindCounter, labels: with(objectLabels, "kind"),
		help: "Actions that were carried out, by kind.",
	}
	turnsFamily = family{
		name: "mongotuning_rollout_turns_total", kind: kindCounter, labels: with(objectLabels, "step"),
		help: "How often a change went to a step; Returning counts the changes that were taken back, Done those that arrived.",
	}
	commandsFamily = family{
		name: "mongotuning_database_commands_total", kind: kindCounter, labels: []string{"command", "result"},
		help: "Commands that were sent to mongod and mongos, by name; result is ok or error.",
	}
	hostAbandonedFamily = family{
		name: "mongotuning_host_restores_abandoned_total", kind: kindCounter, labels: []string{"reason"},
		help: "Nodes that were not put back when their MongoTuning was deleted; reason is gone, namespace-terminating or deadline.",
	}
	slotsFamily = family{
		name: "mongotuning_rollout_slots", kind: kindGauge,
		help: "How many objects may roll out a change at once, 0 for no bound; mongotuning_rollout_step shows those that do.",
	}
	buildFamily = family{
		name: "mongotuning_build_info", kind: kindGauge, labels: []string{"version", "go_version"},
		help: "1 for the build of this operator.",
	}
)

// snapshotFamilies are all metrics of what the last look found.
func snapshotFamilies() []family {
	var all []family
	for _, gauge := range verify.Gauges() {
		all = append(all, familyOf(gauge))
	}
	return append(all, dirtyTargetFamily, dirtyTriggerFamily, limitFamily, measurementFamily, verdictFamily, answeredFamily,
		declaredFamily, provedFamily, mismatchedFamily, conditionFamily, stepFamily, waitingFamily, hostSettingsFamily, hostThroughputFamily, hostWarningsFamily,
		infoFamily, periodFamily, lookedFamily)
}

// families are all metrics.
func families() []family {
	return append(snapshotFamilies(), lookDurationFamily, actionsFamily, turnsFamily, commandsFamily, hostAbandonedFamily, slotsFamily, buildFamily)
}
