// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// measured is a histogram of so many latencies of each length.
func measured(latencies map[time.Duration]int64) *hdrhistogram.Histogram {
	histogram := newHistogram()
	for latency, count := range latencies {
		measure(histogram, latency, count)
	}
	return histogram
}

// TestStallCountsForEverythingThatItHeldUp is the classic case: a server that answers in a millisecond for ten
// seconds and then stalls for ten. Who asks all the time finds it stalled half of the time.
func TestStallCountsForEverythingThatItHeldUp(t *testing.T) {
	histograms := [operationCount]*hdrhistogram.Histogram{FindFirst: measured(map[time.Duration]int64{time.Millisecond: 10_000, 10 * time.Second: 1})}
	naive, full := latencyOf(histograms[FindFirst]), latencyOf(corrected(histograms)[FindFirst])
	if naive.P99 > 1.01 {
		t.Errorf("p99 as measured is %g ms: the case is none", naive.P99)
	}
	for _, row := range []struct {
		name      string
		got, want float64
	}{{"p90", full.P90, 8000}, {"p99", full.P99, 9800}, {"max", full.Max, 10_000}, {"mean", full.Mean, 2500}} {
		if math.Abs(row.got-row.want)/row.want > 0.01 {
			t.Errorf("%s is %g ms, wanted %g", row.name, row.got, row.want)
		}
	}
}

func TestCorrectionIsThatOfHdrHistogram(t *testing.T) {
	latencies := map[time.Duration]int64{2 * time.Millisecond: 900, 7 * time.Millisecond: 90, 300 * time.Millisecond: 3}
	want := newHistogram()
	for latency, count := range latencies {
		for range count {
			if err := want.RecordCorrectedValue(latency.Microseconds(), 2000); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := withOmitted(measured(latencies), 2*time.Millisecond)
	if got.TotalCount() != want.TotalCount() {
		t.Errorf("%d values, wanted %d", got.TotalCount(), want.TotalCount())
	}
	for _, percentile := range []float64{50, 90, 99, 99.9} {
		if g, w := got.ValueAtPercentile(percentile), want.ValueAtPercentile(percentile); math.Abs(float64(g-w)) > 0.01*float64(w) {
			t.Errorf("p%g is %d, wanted %d", percentile, g, w)
		}
	}
}

// TestSlowKindOfOperationIsNoStall mixes a quick kind with a slow one, of which each takes its usual time.
func TestSlowKindOfOperationIsNoStall(t *testing.T) {
	histograms := [operationCount]*hdrhistogram.Histogram{
		FindFirst: measured(map[time.Duration]int64{100 * time.Microsecond: 990}),
		Find:      measured(map[time.Duration]int64{50 * time.Millisecond: 10}),
	}
	for operation, full := range corrected(histograms) {
		if full != nil && full.TotalCount() != histograms[operation].TotalCount() {
			t.Errorf("%s: %d latencies became %d", Operation(operation), histograms[operation].TotalCount(), full.TotalCount())
		}
	}
}

func TestLatenciesOutsideOfTheRangeAreItsEnds(t *testing.T) {
	histogram := measured(map[time.Duration]int64{-time.Second: 1, 0: 1, 48 * time.Hour: 1})
	if histogram.TotalCount() != 3 || histogram.Min() != 1 || histogram.Max() < longestMicros {
		t.Errorf("%d latencies from %d to %d", histogram.TotalCount(), histogram.Min(), histogram.Max())
	}
}

func TestNothingMeasured(t *testing.T) {
	if latency := latencyOf(newHistogram()); latency != (Latency{}) {
		t.Errorf("%+v", latency)
	}
	result := resultOf(newTally(), Stage{Threads: 1}, time.Second)
	if result.Total.Count != 0 || result.Total.PerSecond != 0 || len(result.Operations) != 0 {
		t.Errorf("%+v", result)
	}
}
