// SPDX-License-Identifier: Apache-2.0

package verify

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// The mean durations of reads, writes and commands between two looks. Every version shows the counters
// of operations and of their microseconds. A time without operations has no mean.
var (
	readLatency = latencyGauge(v1alpha1.GaugeReadLatency, "Mean read latency", "reads", v1alpha1.ReasonReadLatencyAboveLimit,
		func(status serverstatus.Status) serverstatus.Latency { return status.Reads })
	writeLatency = latencyGauge(v1alpha1.GaugeWriteLatency, "Mean write latency", "writes", v1alpha1.ReasonWriteLatencyAboveLimit,
		func(status serverstatus.Status) serverstatus.Latency { return status.Writes })
	commandLatency = latencyGauge(v1alpha1.GaugeCommandLatency, "Mean command latency", "commands", v1alpha1.ReasonCommandLatencyAboveLimit,
		func(status serverstatus.Status) serverstatus.Latency { return status.Commands })
)

func latencyGauge(name v1alpha1.Gauge, noun, kind, reason string, of func(serverstatus.Status) serverstatus.Latency) Gauge {
	return Gauge{
		Name: name, Unit: "ms", noun: noun, above: reason,
		Help:    "Mean milliseconds of the " + kind + " between two looks: growth of latency by growth of ops in opLatencies." + kind + ".",
		measure: func(s Subject) Measurement { return s.meanLatency("opLatencies . "+kind, of) },
	}
}

func (s Subject) meanLatency(path string, of func(serverstatus.Status) serverstatus.Latency) Measurement {
	span, none, ok := s.span()
	if !ok {
		return none
	}
	before, now := of(span.Before), of(span.Now)
	if now.Operations == nil || now.TotalMicros == nil {
		return s.notShown(path)
	}
	operations, okOperations := grown(before.Operations, now.Operations)
	micros, okMicros := grown(before.TotalMicros, now.TotalMicros)
	switch {
	case !okOperations || !okMicros:
		return unmeasured(Restarted, "serverStatus "+path+" has fallen since the sample before")
	case operations == 0:
		return exempt("there were none between the last two samples")
	}
	mean := measured(micros/operations/microsPerMilli, "serverStatus "+path+", mean between two samples")
	mean.Weight = operations
	return mean
}
