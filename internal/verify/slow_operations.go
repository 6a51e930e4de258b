// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// slowOperations is how many reads and writes per second took as long as the slow operation threshold or
// longer. No version counts slow operations in serverStatus without the profiler, so they are counted
// from the latency histograms (opLatencies with histograms, all versions): all buckets that begin at or
// above the threshold. What lies between the threshold and the next bucket is missed: with the default
// of 100 ms, operations below 131.072 ms. Commands are left out, since the members' own hello and
// heartbeats are among them and wait on purpose.
var slowOperations = Gauge{
	Name: v1alpha1.GaugeSlowOperations, Unit: "operations/s", noun: "Slow operations",
	Help:    "Reads and writes per second in the buckets of the latency histograms that begin at or above the slow operation threshold.",
	above:   v1alpha1.ReasonSlowOperationsAboveLimit,
	measure: measureSlowOperations,
}

func measureSlowOperations(s Subject) Measurement {
	const path = "opLatencies . reads, writes . histogram"
	span, none, ok := s.span()
	if !ok {
		return none
	}
	if span.Now.Reads.Operations == nil || span.Now.Writes.Operations == nil || !countsAll(span.Now.Reads) || !countsAll(span.Now.Writes) {
		return s.notShown(path)
	}
	from := s.slowMillis() * microsPerMilli
	slow := func(status serverstatus.Status) int64 {
		return slower(status.Reads, from) + slower(status.Writes, from)
	}
	before, now := slow(span.Before), slow(span.Now)
	by, ok := grown(&before, &now)
	if !ok {
		return unmeasured(Restarted, "serverStatus "+path+" has fallen since the sample before")
	}
	return measured(by/span.Seconds, fmt.Sprintf("serverStatus %s from %d ms on, growth per second", path, from/microsPerMilli))
}

// countsAll tells that the histogram was answered: empty buckets are left out of it, so it is empty only
// when there was no operation.
func countsAll(latency serverstatus.Latency) bool {
	return len(latency.Histogram) > 0 || *latency.Operations == 0
}

func slower(latency serverstatus.Latency, fromMicros int64) int64 {
	count := int64(0)
	for _, bucket := range latency.Histogram {
		if bucket.FromMicros >= fromMicros {
			count += bucket.Count
		}
	}
	return count
}

// slowMillis is the slow operation threshold in force.
func (s Subject) slowMillis() int64 {
	value, _ := s.inForce(catalog.SlowOperationThreshold)
	return int64(value)
}
