// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
)

// Sweep is what a growing number of threads brought.
type Sweep struct {
	// Steps in the order of their threads.
	Steps []Result `json:"steps"`
	// Knee is where more threads stop bringing more.
	Knee Knee `json:"knee"`
}

// Sweep doubles the threads from those of the stage up to the most, one stage for each number, and ends when two
// in a row brought no more.
func (l *Load) Sweep(ctx context.Context, stage Stage, mostThreads int) (Sweep, error) {
	if err := within("threads at most", int64(mostThreads), int64(stage.Threads), MaxThreads); err != nil {
		return Sweep{}, err
	}
	if stage.Rate > 0 {
		return Sweep{}, errors.New("a sweep has no rate: it looks for the most that can be had")
	}
	sweep := Sweep{}
	for !isOver(ctx, sweep.Steps, mostThreads) {
		result, err := l.Run(ctx, stage)
		if err != nil {
			return sweep, err
		}
		// A step that was ended early says little, but one has to be there.
		if ctx.Err() == nil || len(sweep.Steps) == 0 {
			sweep.Steps = append(sweep.Steps, result)
		}
		stage.Threads = min(2*stage.Threads, mostThreads)
	}
	sweep.Knee = KneeOf(sweep.Steps)
	return sweep, nil
}

func isOver(ctx context.Context, steps []Result, mostThreads int) bool {
	if len(steps) == 0 {
		return false
	}
	return ctx.Err() != nil || stoppedGrowing(steps) || steps[len(steps)-1].Threads == mostThreads
}
