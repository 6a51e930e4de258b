// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mongotuning/mongotuning/internal/verify"
)

// descriptions are made once: a scrape of many members would make them anew for each series.
var descriptions = func() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for _, f := range snapshotFamilies() {
		all[f.name] = f.desc()
	}
	return all
}()

// emit sends the series of one object, whose labels come first.
type emit func(f family, value float64, labels ...string)

func collect(series chan<- prometheus.Metric, object types.NamespacedName, cluster Cluster) {
	send := func(f family, value float64, labels ...string) {
		labels = with([]string{object.Namespace, object.Name}, labels...)
		series <- prometheus.MustNewConstMetric(descriptions[f.name], prometheus.GaugeValue, value, labels...)
	}
	send(lookedFamily, float64(cluster.LookedAt.UnixMilli())/millis)
	send(periodFamily, cluster.Period.Seconds())
	send(infoFamily, 1, cluster.MongoDBVersion, cluster.Profile)
	for _, condition := range cluster.Conditions {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			send(conditionFamily, truth[condition.Status == status], condition.Type, string(status))
		}
	}
	if cluster.Step != "" {
		send(stepFamily, 1, string(cluster.Step))
	}
	if waiting := cluster.Waiting; waiting != nil {
		send(waitingFamily, float64(waiting.Since.Unix()), waiting.Reason)
	}
	for _, member := range cluster.Members {
		collectMember(send, member)
	}
	for _, host := range cluster.Hosts {
		for result, count := range host.Results {
			send(hostSettingsFamily, float64(count), host.Name, string(result))
		}
		if host.WriteMiBPerSecond > 0 {
			send(hostThroughputFamily, float64(host.WriteMiBPerSecond)*bytesPerMiB, host.Name)
		}
	}
	if len(cluster.Hosts) > 0 {
		send(hostWarningsFamily, float64(cluster.HostWarnings))
	}
}

func collectMember(send emit, member Member) {
	set, name := member.Gauges.ReplicaSet, member.Gauges.Member
	send(answeredFamily, truth[member.IsAnswering], set, name)
	send(declaredFamily, float64(member.Declared), set, name)
	send(provedFamily, float64(member.Proved), set, name)
	send(mismatchedFamily, float64(member.Mismatched), set, name)
	for metric, share := range map[*family]*float64{&dirtyTargetFamily: member.Gauges.DirtyTarget, &dirtyTriggerFamily: member.Gauges.DirtyTrigger} {
		if share != nil {
			send(*metric, *share/metric.scale, set, name)
		}
	}
	for _, measurement := range member.Gauges.Measurements {
		metric, known := gaugeFamilies[measurement.Gauge]
		if known && measurement.HasValue {
			send(metric, measurement.Value/metric.scale, set, name)
		}
	}
	for _, judgement := range member.Gauges.Judgements {
		collectLimit(send, set, judgement)
	}
}

func collectLimit(send emit, set string, judgement verify.Judgement) {
	bound := "max"
	if judgement.IsMin {
		bound = "min"
	}
	gauge, enforcement := string(judgement.Gauge), string(judgement.Enforcement)
	scale := gaugeFamilies[judgement.Gauge].scale
	send(limitFamily, judgement.Bound/scale, set, judgement.Member, judgement.Name, gauge, bound, enforcement)
	if judgement.Measurement.HasValue {
		send(measurementFamily, judgement.Measurement.Value/scale, set, judgement.Member, judgement.Name, gauge)
	}
	for _, verdict := range verify.Verdicts() {
		send(verdictFamily, truth[judgement.Verdict == verdict], set, judgement.Member, judgement.Name, gauge, enforcement, string(verdict))
	}
}

const bytesPerMiB = 1 << 20

// truth is how Prometheus writes yes and no.
var truth = map[bool]float64{true: 1, false: 0}
