// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

func TestResultCountsWhatThreadsDid(t *testing.T) {
	const threads, each = 8, 500
	r := newRecorder(threads)
	var working sync.WaitGroup
	for thread := range threads {
		working.Go(func() {
			for i := range each {
				o := outcome{operation: FindFirst, latency: 2 * time.Millisecond, documents: 1}
				if i%10 == 0 {
					o = outcome{operation: Update, latency: time.Second, err: mongo.CommandError{Code: 10107, Message: "not primary"}}
				}
				if i%100 == 1 {
					o.documents, o.missed = 0, true
				}
				r.record(thread, o)
			}
		})
	}
	working.Wait()
	result := resultOf(r.sum(), Stage{Threads: threads, Rate: 1}, 2*time.Second)
	read, update, total := result.Operations[0], result.Operations[1], result.Total
	want := []OperationResult{
		{Name: "find_first", Count: 3600, PerSecond: 1800, DocumentsPerSecond: 1780, Missed: 40},
		{Name: "update", Count: 400, Failed: 400},
		{Name: "total", Count: 4000, PerSecond: 1800, DocumentsPerSecond: 1780, Failed: 400, Missed: 40},
	}
	for i, got := range []OperationResult{read, update, total} {
		got.Latency, got.Measured = Latency{}, Latency{}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if math.Abs(update.Latency.P50-1000) > 1 || math.Abs(total.Latency.P99-1000) > 1 {
		t.Errorf("the time that failed operations took is left out: %+v", total.Latency)
	}
	if diff := cmp.Diff([]ErrorResult{{Kind: "not primary", Count: 400, Example: mongo.CommandError{Code: 10107, Message: "not primary"}.Error()}}, result.Errors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProgressIsOfTheTimeSinceTheLast(t *testing.T) {
	r := newRecorder(2)
	r.record(0, outcome{operation: Find, latency: time.Second, err: errors.New("x")})
	if window, failed := r.takeWindow(); window.TotalCount() != 1 || failed != 1 {
		t.Errorf("%d operations, %d failed", window.TotalCount(), failed)
	}
	r.record(1, outcome{operation: Find, latency: time.Millisecond})
	window, failed := r.takeWindow()
	if window.TotalCount() != 1 || window.Max() > 2000 || failed != 1 {
		t.Errorf("%d operations of at most %d µs, %d failed since the start", window.TotalCount(), window.Max(), failed)
	}
	if sum := r.sum(); sum.operations[Find].latencies.TotalCount() != 2 {
		t.Error("what progress has told is missing in the result")
	}
}

func TestJoinedResults(t *testing.T) {
	round := func(latency time.Duration, unsent int64) Result {
		r := newRecorder(1)
		r.record(0, outcome{operation: Find, latency: latency, documents: 5})
		result := resultOf(r.sum(), Stage{Threads: 1, Rate: 1}, time.Second)
		result.Target, result.Unsent = "here", unsent
		return result
	}
	all := joined([]Result{round(time.Millisecond, 1), round(3*time.Millisecond, 2)})
	if all.Target != "here" || all.Seconds != 2 || all.Unsent != 3 || all.Total.Count != 2 || all.Total.PerSecond != 1 || all.Total.DocumentsPerSecond != 5 {
		t.Errorf("%+v", all)
	}
}
