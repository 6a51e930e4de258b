// SPDX-License-Identifier: Apache-2.0

package load

import (
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what one run of a fixed number of threads measured.
type Result struct {
	// Target names what was asked, when results are compared.
	Target string `json:"target,omitempty"`
	// Seconds that were measured, from the first operation to the end of the last.
	Seconds float64 `json:"seconds"`
	// Threads that asked, each one thing after the other.
	Threads int `json:"threads"`
	// Rate that was asked for in operations per second; 0 when threads went as fast as they could.
	Rate float64 `json:"rate,omitempty"`
	// Unsent are operations that the rate asked for and that no thread was free to begin.
	Unsent int64 `json:"unsent,omitempty"`
	// Operations are the kinds that occurred.
	Operations []OperationResult `json:"operations"`
	// Total is all of them together.
	Total OperationResult `json:"total"`
	// Errors by their kind, the most frequent first.
	Errors []ErrorResult `json:"errors,omitempty"`

	tally tally
}

// OperationResult is what was measured of one kind of operation.
type OperationResult struct {
	Name string `json:"name"`
	// Count of operations that ended, also of those that failed.
	Count int64 `json:"count"`
	// PerSecond counts those that succeeded.
	PerSecond float64 `json:"perSecond"`
	// DocumentsPerSecond that were read or written.
	DocumentsPerSecond float64 `json:"documentsPerSecond"`
	// Failed operations.
	Failed int64 `json:"failed"`
	// Missed are operations whose document was not there.
	Missed int64 `json:"missed,omitempty"`
	// Latency without coordinated omission: from when each operation should have begun.
	Latency Latency `json:"latency"`
	// Measured is the latency of the operations that were sent, as it was.
	Measured Latency `json:"measured"`
}

// ErrorResult is one kind of errors.
type ErrorResult struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

// resultOf computes a result from what was measured in some time.
func resultOf(sum tally, stage Stage, elapsed time.Duration) Result {
	result := Result{Seconds: elapsed.Seconds(), Threads: stage.Threads, Rate: stage.Rate, tally: sum}
	measured := [operationCount]*hdrhistogram.Histogram{}
	for i := range measured {
		measured[i] = sum.operations[i].latencies
	}
	full := measured
	if stage.Rate == 0 {
		full = corrected(measured)
	}
	total, allMeasured, allFull := operationTally{}, newHistogram(), newHistogram()
	for i, operation := range sum.operations {
		if operation.latencies == nil {
			continue
		}
		result.Operations = append(result.Operations, operationResult(Operation(i).String(), operation, full[i], elapsed))
		allMeasured.Merge(measured[i])
		allFull.Merge(full[i])
		total.documents += operation.documents
		total.failed += operation.failed
		total.missed += operation.missed
	}
	total.latencies = allMeasured
	result.Total = operationResult("total", total, allFull, elapsed)
	for _, kind := range slices.Sorted(maps.Keys(sum.errors)) {
		found := sum.errors[kind]
		result.Errors = append(result.Errors, ErrorResult{Kind: string(kind), Count: found.count, Example: found.example})
	}
	slices.SortStableFunc(result.Errors, func(a, b ErrorResult) int { return int(b.Count - a.Count) })
	return result
}

func operationResult(name string, operation operationTally, full *hdrhistogram.Histogram, elapsed time.Duration) OperationResult {
	count := operation.latencies.TotalCount()
	seconds := max(elapsed.Seconds(), 1e-9)
	return OperationResult{
		Name: name, Count: count, Failed: operation.failed, Missed: operation.missed,
		PerSecond:          float64(count-operation.failed) / seconds,
		DocumentsPerSecond: float64(operation.documents) / seconds,
		Latency:            latencyOf(full),
		Measured:           latencyOf(operation.latencies),
	}
}

// joined is one result of several runs of the same stage.
func joined(results []Result) Result {
	sum, seconds, unsent := newTally(), 0.0, int64(0)
	for _, result := range results {
		sum.add(result.tally)
		seconds += result.Seconds
		unsent += result.Unsent
	}
	first := results[0]
	all := resultOf(sum, Stage{Threads: first.Threads, Rate: first.Rate}, time.Duration(seconds*float64(time.Second)))
	all.Target, all.Unsent = first.Target, unsent
	return all
}
