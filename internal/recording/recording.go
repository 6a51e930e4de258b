// SPDX-License-Identifier: Apache-2.0

// Package recording keeps what was measured while a change travelled, and which changes travelled before,
// within bounds that do not depend on how long a change takes: an object in the cluster has to hold it. It
// is pure: it neither reads the clock nor writes anything.
package recording

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// MaxPoints is how many points a series has at most: as many as a chart of usual width can show.
	MaxPoints = 200
	// FirstSpacing is the time between two points in the beginning. Every time that more than MaxPoints
	// would be needed it doubles: 50 minutes fit in, then 100, and a month at 6 hours each.
	FirstSpacing = 15 * time.Second
	// LeadPoints is how much is kept of the time before a change: ten minutes.
	LeadPoints = 40
	// MaxMarks is how many marks are kept; of more, the oldest acts are forgotten and the steps stay.
	MaxMarks = 400
)

// Recording is what was measured while one change travelled. Point i covers the time from
// Began + i * Spacing, and has the worst that was seen in it.
type Recording struct {
	// Revision that travelled, and From which one.
	Revision, From string
	// Began is when the first point begins, which is before the change did; Ended is zero while it travels.
	Began, Ended time.Time
	// Spacing of the points, Points their number.
	Spacing time.Duration
	Points  int
	// LastAt is when the last sample was taken.
	LastAt time.Time
	Series []Series
	Marks  []Mark
}

// Key names a series: a gauge of a member or, with Limit, what that gauge is held to.
type Key struct {
	Member string `json:"m"`
	Gauge  string `json:"g"`
	Limit  string `json:"l,omitempty"`
}

// Keep says which of several values within one point is kept.
type Keep string

// What is kept: the highest where high is bad, the lowest where low is bad, the latest of a limit.
const (
	KeepHighest Keep = "h"
	KeepLowest  Keep = "l"
	KeepLatest  Keep = "n"
)

// Series is one line of a chart.
type Series struct {
	Key
	Keep Keep
	// IsMin tells of a limit that it is a lower bound.
	IsMin bool
	// Values by point; NaN where nothing was measured.
	Values []float64
	// Latest is the value of the last sample; NaN when it had none.
	Latest float64
}

// Value is one figure of a sample.
type Value struct {
	Key
	Keep   Keep
	IsMin  bool
	Number float64
}

// MarkKind says what happened.
type MarkKind string

// The kinds of marks.
const (
	// MarkStep is a step that the change reached.
	MarkStep MarkKind = "Step"
	// MarkAct is something the operator did.
	MarkAct MarkKind = "Act"
	// MarkEnd is how it ended.
	MarkEnd MarkKind = "End"
)

// Mark is something that happened at one moment.
type Mark struct {
	At     time.Time `json:"at"`
	Kind   MarkKind  `json:"kind"`
	Name   string    `json:"name"`
	Member string    `json:"member,omitempty"`
	Text   string    `json:"text,omitempty"`
}

// New is a recording without anything in it.
func New(now time.Time) *Recording {
	return &Recording{Began: now, Spacing: FirstSpacing}
}

// Add takes a sample of one moment. Samples come in the order of time; one from before the recording is
// left out.
func (r *Recording) Add(at time.Time, values []Value) {
	if at.Before(r.Began) {
		return
	}
	for r.pointOf(at) >= MaxPoints {
		r.coarsen()
	}
	r.put(at, values)
}

// AddRecent is Add for a recording that only has to reach back for a while: what is older is forgotten.
func (r *Recording) AddRecent(at time.Time, values []Value) {
	if at.Before(r.Began) {
		return
	}
	if over := r.pointOf(at) - LeadPoints + 1; over > 0 {
		r.forget(over)
	}
	r.put(at, values)
}

func (r *Recording) pointOf(at time.Time) int { return int(at.Sub(r.Began) / r.Spacing) }

func (r *Recording) put(at time.Time, values []Value) {
	point := r.pointOf(at)
	r.Points = max(r.Points, point+1)
	r.LastAt = at
	for i := range r.Series {
		r.Series[i].Values = padded(r.Series[i].Values, r.Points)
		r.Series[i].Latest = math.NaN()
	}
	for _, value := range values {
		if math.IsNaN(value.Number) || math.IsInf(value.Number, 0) {
			continue
		}
		series := r.series(value)
		series.Latest = value.Number
		series.Values[point] = series.Keep.of(series.Values[point], value.Number)
	}
}

// series finds the series of a value, or makes it.
func (r *Recording) series(value Value) *Series {
	i, found := slices.BinarySearchFunc(r.Series, value.Key, func(s Series, key Key) int { return compare(s.Key, key) })
	if !found {
		made := Series{Key: value.Key, Keep: value.Keep, IsMin: value.IsMin, Values: padded(nil, r.Points), Latest: math.NaN()}
		r.Series = slices.Insert(r.Series, i, made)
	}
	return &r.Series[i]
}

func compare(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Gauge, b.Gauge), cmp.Compare(a.Limit, b.Limit))
}

func padded(values []float64, length int) []float64 {
	for len(values) < length {
		values = append(values, math.NaN())
	}
	return values
}

// of is what is kept of an earlier and a later value.
func (k Keep) of(earlier, later float64) float64 {
	switch {
	case math.IsNaN(later):
		return earlier
	case math.IsNaN(earlier):
		return later
	case k == KeepHighest:
		return max(earlier, later)
	case k == KeepLowest:
		return min(earlier, later)
	default:
		return later
	}
}

// coarsen makes one point of two.
func (r *Recording) coarsen() {
	r.Spacing *= 2
	r.Points = (r.Points + 1) / 2
	for i := range r.Series {
		series := &r.Series[i]
		halved := make([]float64, r.Points)
		for point := range halved {
			halved[point] = series.Values[2*point]
			if 2*point+1 < len(series.Values) {
				halved[point] = series.Keep.of(halved[point], series.Values[2*point+1])
			}
		}
		series.Values = halved
	}
}

// forget drops the oldest points.
func (r *Recording) forget(points int) {
	r.Began = r.Began.Add(time.Duration(points) * r.Spacing)
	dropped := min(points, r.Points)
	r.Points -= dropped
	r.Series = slices.DeleteFunc(r.Series, func(series Series) bool {
		return !slices.ContainsFunc(series.Values[dropped:], isNumber)
	})
	for i := range r.Series {
		r.Series[i].Values = slices.Clone(r.Series[i].Values[dropped:])
	}
}

func isNumber(value float64) bool { return !math.IsNaN(value) }

// Mark notes that something happened.
func (r *Recording) Mark(mark Mark) {
	r.Marks = append(r.Marks, mark)
	for len(r.Marks) > MaxMarks {
		oldest := slices.IndexFunc(r.Marks, func(m Mark) bool { return m.Kind == MarkAct })
		r.Marks = slices.Delete(r.Marks, max(oldest, 0), max(oldest, 0)+1)
	}
}

// Step is the name of the last step that was marked, empty when none was.
func (r *Recording) Step() string {
	for _, mark := range slices.Backward(r.Marks) {
		if mark.Kind == MarkStep {
			return mark.Name
		}
	}
	return ""
}

// IsOpen tells that the change still travels.
func (r *Recording) IsOpen() bool { return r != nil && r.Ended.IsZero() }

// At is the time at which a point begins.
func (r *Recording) At(point int) time.Time { return r.Began.Add(time.Duration(point) * r.Spacing) }

// Of finds a series.
func (r *Recording) Of(key Key) (Series, bool) {
	i, found := slices.BinarySearchFunc(r.Series, key, func(s Series, key Key) int { return compare(s.Key, key) })
	if !found {
		return Series{}, false
	}
	return r.Series[i], true
}

// clone is a copy that shares nothing.
func (r *Recording) clone() *Recording {
	copied := *r
	copied.Marks = slices.Clone(r.Marks)
	copied.Series = slices.Clone(r.Series)
	for i := range copied.Series {
		copied.Series[i].Values = slices.Clone(copied.Series[i].Values)
	}
	return &copied
}
