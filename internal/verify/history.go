// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// Sample is one answer of serverStatus that is kept for rates.
type Sample struct {
	// At is the time of the look.
	At time.Time
	// Status without the whole document.
	Status serverstatus.Status
}

// History is what is kept of earlier looks at one pod. It is bounded, and a value: Add returns another.
type History struct {
	// samples, oldest first, each at least half a period younger than the one before.
	samples []Sample
	// checkpoints are the moments at which the counter of checkpoints was seen to move.
	checkpoints []checkpointMark
	// caughtUp is when the member was last seen with all that its primary had.
	caughtUp time.Time
	// oplog is the last reading of the ends of the oplog, drops tells that its oldest entry was another
	// one in the reading before, or that it is full; oplogReadings counts them up to two.
	oplog         observed.Oplog
	oplogDrops    bool
	oplogReadings int
}

type checkpointMark struct {
	at    time.Time
	count int64
}

const (
	// keptSamples is enough for one sample that is at least half a period old at any time.
	keptSamples = 3
	// keptCheckpoints bounds the moments of which the interval is computed.
	keptCheckpoints = 16
	// oplogPeriod is how often the ends of the oplog are read: it costs three commands, and the window of
	// hours changes slowly.
	oplogPeriod = 2 * time.Minute
	// startTolerance is by how much two computed start times of one process may differ: a look takes up
	// to 3 s, and nobody knows when in it the server answered.
	startTolerance = 5 * time.Second
)

// Add keeps what a look found.
func (h History) Add(subject Subject) History {
	look := subject.Member.Look
	if look.Status != nil {
		h = h.addSample(Sample{At: subject.Now, Status: *look.Status}, subject.Period)
	}
	if lag, known := subject.Set.Lag(subject.Host); known && lag == 0 {
		h.caughtUp = subject.Now
	}
	if look.Oplog != nil {
		h.oplogDrops = h.oplogReadings > 0 && !h.oplog.First.Equal(look.Oplog.First) || look.Oplog.IsFull && !retains(look)
		h.oplog, h.oplogReadings = *look.Oplog, min(h.oplogReadings+1, 2)
		h.oplog.ReadAt = subject.Now
	}
	return h
}

// WantsOplog tells that it is time to read the ends of the oplog again.
func (h History) WantsOplog(now time.Time) bool {
	return h.oplogReadings == 0 || now.Sub(h.oplog.ReadAt) >= oplogPeriod
}

func (h History) addSample(sample Sample, period time.Duration) History {
	// The document and the fine figures nobody compares would take most of the memory.
	sample.Status.Document, sample.Status.Commands.Histogram = nil, nil
	if last := len(h.samples) - 1; last >= 0 && restarted(h.samples[last], sample) {
		h.samples, h.checkpoints = nil, nil
	}
	if count := sample.Status.Checkpoints.Count; count != nil {
		if marks := len(h.checkpoints); marks == 0 || h.checkpoints[marks-1].count != *count {
			h.checkpoints = lastOf(append(slices.Clone(h.checkpoints), checkpointMark{at: sample.At, count: *count}), keptCheckpoints)
		}
	}
	if last := len(h.samples) - 1; last >= 0 && sample.At.Sub(h.samples[last].At) < period/2 {
		return h
	}
	h.samples = lastOf(append(slices.Clone(h.samples), sample), keptSamples)
	return h
}

func lastOf[T any](all []T, kept int) []T {
	return all[max(0, len(all)-kept):]
}

// restarted tells that two samples are not of one process: its id is another, it is younger than
// before, or it started at another time. Pods have the same process id in each life.
func restarted(before, now Sample) bool {
	if a, b := before.Status.Pid, now.Status.Pid; a != nil && b != nil && *a != *b {
		return true
	}
	a, b := before.Status.UptimeMillis, now.Status.UptimeMillis
	if a == nil || b == nil {
		return false
	}
	if *b < *a {
		return true
	}
	start := func(sample Sample, uptimeMillis int64) time.Time {
		return sample.At.Add(-time.Duration(uptimeMillis) * time.Millisecond)
	}
	return start(now, *b).Sub(start(before, *a)).Abs() > startTolerance
}

// Span is two samples of one process, for rates.
type Span struct {
	Before, Now serverstatus.Status
	// Seconds between them, by the server's own clock.
	Seconds float64
}

// span pairs the answer of this look with the newest sample that is at least half a period older.
func (s Subject) span() (span Span, none Measurement, ok bool) {
	status, none, ok := s.status()
	if !ok {
		return span, none, false
	}
	now := Sample{At: s.Now, Status: status}
	samples := s.History.samples
	if last := len(samples) - 1; last >= 0 && restarted(samples[last], now) {
		return span, unmeasured(Restarted, "the process was started anew since the sample before"), false
	}
	for _, before := range slices.Backward(samples) {
		if s.Now.Sub(before.At) < s.Period/2 {
			continue
		}
		seconds := s.Now.Sub(before.At).Seconds()
		if a, b := before.Status.UptimeMillis, status.UptimeMillis; a != nil && b != nil && *b > *a {
			seconds = float64(*b-*a) / millisPerSecond
		}
		return Span{Before: before.Status, Now: status, Seconds: seconds}, Measurement{}, true
	}
	return span, unmeasured(FirstSample, fmt.Sprintf("a rate takes two samples at least %s apart", s.Period/2)), false
}

// grown is by how much a counter has grown; ok is false when one sample does not have it or it fell,
// which no counter of a living process does.
func grown(before, now *int64) (by float64, ok bool) {
	if before == nil || now == nil || *now < *before {
		return 0, false
	}
	return float64(*now - *before), true
}

// rate is the growth of a counter per second.
func (s Subject) rate(counter func(serverstatus.Status) *int64, path string) Measurement {
	span, none, ok := s.span()
	if !ok {
		return none
	}
	if counter(span.Now) == nil {
		return s.notShown(path)
	}
	by, ok := grown(counter(span.Before), counter(span.Now))
	if !ok {
		return unmeasured(Restarted, "serverStatus "+path+" has fallen since the sample before")
	}
	return measured(by/span.Seconds, "serverStatus "+path+", growth per second")
}

// retains tells that a time is in force for which an oplog keeps everything, however large it grows.
func retains(look observed.Look) bool {
	row, _ := catalog.Lookup(catalog.OplogMinRetention)
	hours, known := row.Read(look.Process).Value.AsFloat()
	return known && hours > 0
}
