// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of histograms: 1 µs to an hour, three digits.
const (
	shortestMicros = 1
	longestMicros  = int64(time.Hour / time.Microsecond)
	digits         = 3
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(shortestMicros, longestMicros, digits)
}

// measure writes a latency down. What is outside of the range counts as its end: it must not be left out.
func measure(histogram *hdrhistogram.Histogram, latency time.Duration, times int64) {
	micros := min(max(latency.Microseconds(), shortestMicros), longestMicros)
	if err := histogram.RecordValues(micros, times); err != nil {
		panic(err) // within the range
	}
}

// outcome is what became of one operation.
type outcome struct {
	operation Operation
	// latency is from when the operation should have begun to its end.
	latency time.Duration
	// documents that were read or written.
	documents int
	// missed tells that the document was not there.
	missed bool
	err    error
}

// recorder keeps outcomes of many threads apart, so that they do not wait for each other.
type recorder struct {
	stripes []*stripe
}

type stripe struct {
	mu     sync.Mutex
	tally  tally
	window *hdrhistogram.Histogram
}

// tally is the sum of outcomes.
type tally struct {
	operations [operationCount]operationTally
	errors     map[errorKind]errorTally
}

type operationTally struct {
	latencies *hdrhistogram.Histogram
	documents int64
	missed    int64
	failed    int64
}

type errorTally struct {
	count   int64
	example string
}

func newRecorder(threads int) *recorder {
	r := &recorder{}
	for range min(threads, 2*runtime.GOMAXPROCS(0)) {
		r.stripes = append(r.stripes, &stripe{tally: newTally(), window: newHistogram()})
	}
	return r
}

func newTally() tally { return tally{errors: map[errorKind]errorTally{}} }

// record writes down what became of an operation of a thread. A failed one counts with the time that it took: who
// waits for ten seconds and gets an error has waited for ten seconds.
func (r *recorder) record(thread int, o outcome) {
	s := r.stripes[thread%len(r.stripes)]
	s.mu.Lock()
	defer s.mu.Unlock()
	operation := &s.tally.operations[o.operation]
	if operation.latencies == nil {
		operation.latencies = newHistogram()
	}
	measure(operation.latencies, o.latency, 1)
	measure(s.window, o.latency, 1)
	operation.documents += int64(o.documents)
	if o.missed {
		operation.missed++
	}
	if o.err != nil {
		operation.failed++
		kind := kindOf(o.err)
		known := s.tally.errors[kind]
		if known.count == 0 {
			known.example = o.err.Error()
		}
		known.count++
		s.tally.errors[kind] = known
	}
}

// sum is everything so far.
func (r *recorder) sum() tally {
	all := newTally()
	for _, s := range r.stripes {
		s.mu.Lock()
		all.add(s.tally)
		s.mu.Unlock()
	}
	return all
}

// takeWindow is what was measured since it was last asked for, and how many operations failed since the start.
func (r *recorder) takeWindow() (window *hdrhistogram.Histogram, failed int64) {
	window = newHistogram()
	for _, s := range r.stripes {
		s.mu.Lock()
		window.Merge(s.window)
		s.window.Reset()
		for _, operation := range s.tally.operations {
			failed += operation.failed
		}
		s.mu.Unlock()
	}
	return window, failed
}

// add merges another tally.
func (t *tally) add(other tally) {
	for i, from := range other.operations {
		if from.latencies == nil {
			continue
		}
		to := &t.operations[i]
		if to.latencies == nil {
			to.latencies = newHistogram()
		}
		to.latencies.Merge(from.latencies)
		to.documents += from.documents
		to.missed += from.missed
		to.failed += from.failed
	}
	for kind, from := range other.errors {
		to := t.errors[kind]
		if to.count == 0 {
			to.example = from.example
		}
		to.count += from.count
		t.errors[kind] = to
	}
}
