// SPDX-License-Identifier: Apache-2.0

package load

// growth is how much more a step of a sweep has to bring to count as more: 5 %. Runs of seconds differ by
// about that much from one to the next.
const growth = 1.05

// fruitless is how many steps in a row may bring no more before a sweep ends: one may be a bad moment.
const fruitless = 2

// Knee is where more threads stop bringing more operations.
type Knee struct {
	// Threads is the smallest number that came within 5 % of the most operations per second.
	Threads int `json:"threads"`
	// PerSecond that so many threads brought.
	PerSecond float64 `json:"perSecond"`
	// Reached tells that more threads were tried and brought no more. Without it there may be more to be had.
	Reached bool `json:"reached"`
}

// KneeOf finds the knee in the steps of a sweep, which raise the number of threads.
func KneeOf(steps []Result) Knee {
	best := 0.0
	for _, step := range steps {
		best = max(best, step.Total.PerSecond)
	}
	for _, step := range steps {
		if step.Total.PerSecond*growth >= best {
			return Knee{Threads: step.Threads, PerSecond: step.Total.PerSecond, Reached: stoppedGrowing(steps)}
		}
	}
	return Knee{}
}

// stoppedGrowing tells that the last steps of a sweep brought no more than the best one before them.
func stoppedGrowing(steps []Result) bool {
	best, without := 0.0, 0
	for _, step := range steps {
		if step.Total.PerSecond > best*growth {
			without = 0
		} else {
			without++
		}
		best = max(best, step.Total.PerSecond)
	}
	return without >= fruitless
}
