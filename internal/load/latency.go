// SPDX-License-Identifier: Apache-2.0

package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is a distribution in milliseconds.
type Latency struct {
	Mean float64 `json:"meanMilliseconds"`
	P50  float64 `json:"p50Milliseconds"`
	P90  float64 `json:"p90Milliseconds"`
	P95  float64 `json:"p95Milliseconds"`
	P99  float64 `json:"p99Milliseconds"`
	P999 float64 `json:"p999Milliseconds"`
	Max  float64 `json:"maxMilliseconds"`
}

func latencyOf(histogram *hdrhistogram.Histogram) Latency {
	if histogram.TotalCount() == 0 {
		return Latency{}
	}
	at := func(percentile float64) float64 {
		return float64(histogram.ValueAtPercentile(percentile)) / 1000
	}
	return Latency{
		Mean: histogram.Mean() / 1000,
		P50:  at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9),
		Max: float64(histogram.Max()) / 1000,
	}
}

// A thread that waits for an answer asks nothing else meanwhile, so a server that stalls for a second is asked
// once in that second and not the thousand times that its users would ask it: the stall is one bad latency among
// very many good ones. That is coordinated omission. With a fixed rate it cannot happen, since latencies are
// measured from when an operation should have begun. With fixed threads it is corrected afterwards, as HdrHistogram
// does: each latency longer than the expected time between two operations of its kind stands for those that could
// not begin meanwhile, each of which would have waited for less by one more interval.

// corrected are the latencies of each kind of operation without that omission, for threads that ask one thing after
// the other. The expected time between two operations of a kind, for one thread, is what a usual round of the mix
// takes, divided by the share of the kind in it. What is usual is the median, which stalls do not move.
func corrected(measured [operationCount]*hdrhistogram.Histogram) [operationCount]*hdrhistogram.Histogram {
	total, round := int64(0), 0.0
	for _, histogram := range measured {
		if histogram != nil {
			total += histogram.TotalCount()
			round += float64(histogram.TotalCount()) * float64(histogram.ValueAtPercentile(50))
		}
	}
	result := [operationCount]*hdrhistogram.Histogram{}
	for i, histogram := range measured {
		if histogram == nil || histogram.TotalCount() == 0 {
			continue
		}
		// round / total is the time of one operation of any kind; count / total is the share of this kind.
		interval := time.Duration(round/float64(histogram.TotalCount())) * time.Microsecond
		result[i] = withOmitted(histogram, interval)
	}
	return result
}

// withOmitted adds to a histogram what could not begin during each latency that is longer than the interval.
func withOmitted(histogram *hdrhistogram.Histogram, interval time.Duration) *hdrhistogram.Histogram {
	full := newHistogram()
	full.Merge(histogram)
	if interval <= 0 {
		return full
	}
	for _, bar := range histogram.Distribution() {
		if bar.Count == 0 {
			continue
		}
		took := time.Duration(bar.To) * time.Microsecond
		for omitted := took - interval; omitted >= interval; omitted -= interval {
			measure(full, omitted, bar.Count)
		}
	}
	return full
}
