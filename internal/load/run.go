// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// afterFailure is how long a thread waits after a failed operation before the next: a server that refuses at once
// would be asked as fast as it can refuse.
const afterFailure = 50 * time.Millisecond

// run is one stage under way.
type run struct {
	load     *Load
	stage    Stage
	recorder *recorder
	started  time.Time
	end      time.Time
	// begun counts operations, and is the place of the next one in the schedule.
	begun atomic.Int64
}

// Run does one stage. When the context ends nothing more is begun; what is under way ends first, within its
// timeout, and the result is of what was done.
func (l *Load) Run(ctx context.Context, stage Stage) (Result, error) {
	if err := stage.check(); err != nil {
		return Result{}, err
	}
	l.runs++
	r := &run{load: l, stage: stage, recorder: newRecorder(stage.Threads), started: l.options.Now()}
	r.end = r.started.Add(stage.Duration)
	watching, stop := context.WithCancel(ctx)
	var watcher, threads sync.WaitGroup
	watcher.Go(func() { r.tell(watching) })
	for thread := range stage.Threads {
		threads.Go(func() {
			if stage.Rate > 0 {
				r.onSchedule(ctx, thread)
			} else {
				r.asFastAsItCan(ctx, thread)
			}
		})
	}
	threads.Wait()
	elapsed := l.options.Now().Sub(r.started)
	stop()
	watcher.Wait()
	result := resultOf(r.recorder.sum(), stage, elapsed)
	if stage.Rate > 0 && ctx.Err() == nil {
		due := min(int64(stage.Rate*stage.Duration.Seconds()), stage.Operations)
		result.Unsent = max(0, due-result.Total.Count)
	}
	return result, nil
}

// asFastAsItCan begins an operation as soon as the one before has ended.
func (r *run) asFastAsItCan(ctx context.Context, thread int) {
	w := r.load.worker(thread)
	for ctx.Err() == nil && r.begun.Add(1) <= r.stage.Operations {
		began := r.load.options.Now()
		if !began.Before(r.end) {
			return
		}
		done := r.perform(ctx, w)
		done.latency = r.load.options.Now().Sub(began)
		r.recorder.record(thread, done)
		if done.err != nil {
			waitUntil(ctx, afterFailure)
		}
	}
}

// onSchedule begins the operations that are due, also when they are overdue. A latency is measured from when an
// operation was due, so that one that had to wait for a thread has waited.
func (r *run) onSchedule(ctx context.Context, thread int) {
	w := r.load.worker(thread)
	for {
		place := r.begun.Add(1) - 1
		if place >= r.stage.Operations {
			return
		}
		due := r.started.Add(time.Duration(float64(place) / r.stage.Rate * float64(time.Second)))
		if !due.Before(r.end) {
			return
		}
		now := r.load.options.Now()
		if ctx.Err() != nil || !now.Before(r.end) || !waitUntil(ctx, due.Sub(now)) {
			return
		}
		done := r.perform(ctx, w)
		done.latency = r.load.options.Now().Sub(due)
		r.recorder.record(thread, done)
	}
}

// perform does one operation, to its end also when the run has ended meanwhile: one that was cut off would be
// neither good nor bad.
func (r *run) perform(ctx context.Context, w *worker) outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.load.options.Timeout)
	defer cancel()
	return w.perform(ctx, r.load.options.Mix.pick(w.random))
}

// waitUntil waits for some time; false when the context ended first.
func waitUntil(ctx context.Context, span time.Duration) bool {
	if span <= 0 {
		return true
	}
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tell tells of the progress until the context ends.
func (r *run) tell(ctx context.Context) {
	every := r.load.options.ProgressEvery
	if r.load.options.Progress == nil || every <= 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := r.started
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := r.load.options.Now()
		window, failed := r.recorder.takeWindow()
		r.load.options.Progress(Progress{
			Elapsed:   now.Sub(r.started),
			PerSecond: float64(window.TotalCount()) / max(now.Sub(last).Seconds(), 1e-9),
			P99:       time.Duration(window.ValueAtPercentile(99)) * time.Microsecond,
			Failed:    failed,
		})
		last = now
	}
}
