// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mongotuning/mongotuning/internal/verify"
)

// scale turns times and values into coordinates.
type scale struct {
	from, to time.Time
	top      float64
}

func (s scale) x(at time.Time) float64 {
	share := float64(at.Sub(s.from)) / float64(s.to.Sub(s.from))
	return left + max(0, min(1, share))*(chartWidth-left-right)
}

func (s scale) y(value float64) float64 {
	return chartHeight - bottom - max(0, min(1, value/s.top))*(chartHeight-top-bottom)
}

func coordinate(x float64) string { return fmt.Sprintf("%.1f", x) }

// roundUp is the next number that reads well on an axis.
func roundUp(value float64) float64 {
	if value <= 0 {
		return 1
	}
	magnitude := math.Pow(10, math.Floor(math.Log10(value)))
	for _, step := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if value <= step*magnitude*(1+1e-9) {
			return step * magnitude
		}
	}
	return 10 * magnitude
}

func rows(s scale, gauge verify.Gauge) []tick {
	const parts = 4
	step := s.top / parts
	digits := 0
	for shown := step; digits < 3 && math.Abs(shown-math.Round(shown)) > 1e-6; shown *= 10 {
		digits++
	}
	all := make([]tick, 0, parts+1)
	for i := range parts + 1 {
		value := strconv.FormatFloat(step*float64(i), 'f', digits, 64)
		if gauge.Unit == "%" || gauge.Unit == "s" || gauge.Unit == "ms" {
			value += " " + gauge.Unit
		}
		all = append(all, tick{At: coordinate(s.y(step * float64(i))), Text: value})
	}
	return all
}

func columns(s scale) []tick {
	const wanted = 7
	step := time.Second
	for _, candidate := range []time.Duration{
		5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute,
		time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 5 * 24 * time.Hour,
	} {
		step = candidate
		if s.to.Sub(s.from)/step <= wanted {
			break
		}
	}
	layout := "15:04:05"
	if step >= time.Minute {
		layout = "15:04"
	}
	if step >= 12*time.Hour {
		layout = "Jan 2"
	}
	var all []tick
	for at := s.from.UTC().Truncate(step).Add(step); at.Before(s.to); at = at.Add(step) {
		all = append(all, tick{At: coordinate(s.x(at)), Text: at.Format(layout)})
	}
	return all
}
