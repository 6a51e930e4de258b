// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"time"

	"github.com/mongotuning/mongotuning/internal/recording"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// comparison is the worst of a gauge before, while and after the change travelled.
type comparison struct {
	Gauge, Before, During, After, Limit, Class string
}

// comparisons are the worst values of any member before the change, on its way, and in its last step.
func (p *painter) comparisons(began time.Time) []comparison {
	last := began
	for _, mark := range p.recorded.Marks {
		if mark.Kind == recording.MarkStep {
			last = mark.At
		}
	}
	var all []comparison
	for _, gauge := range verify.Gauges() {
		lines, limits := p.seriesOf(gauge.Name)
		if len(lines) == 0 {
			continue
		}
		worst := func(from, to time.Time) float64 {
			found := math.NaN()
			for _, series := range lines {
				for i, value := range series.Values {
					// A point counts wherever a part of its time does.
					if p.recorded.At(i+1).After(from) && p.recorded.At(i).Before(to) {
						found = worse(series.Keep, found, value)
					}
				}
			}
			return found
		}
		end := p.recorded.At(p.recorded.Points)
		row := comparison{
			Gauge:  titleOf(gauge.Name),
			Before: text(gauge, worst(p.recorded.Began, p.wholePointsBefore(began))),
			During: text(gauge, worst(began, last)),
			After:  text(gauge, worst(last, end)),
			Limit:  bounds(gauge, limits),
		}
		if row.Before != "-" || row.During != "-" || row.After != "-" {
			all = append(all, row)
		}
	}
	return all
}

// wholePointsBefore is the end of the last point that has nothing of the time after a moment.
func (p *painter) wholePointsBefore(moment time.Time) time.Time {
	points := int(moment.Sub(p.recorded.Began) / p.recorded.Spacing)
	return p.recorded.At(max(0, points))
}

func worse(keep recording.Keep, a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	case keep == recording.KeepLowest:
		return min(a, b)
	default:
		return max(a, b)
	}
}
