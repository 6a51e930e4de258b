// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/recording"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Size of a chart in units of its own coordinates; the page scales it.
const (
	chartWidth, chartHeight = 960.0, 220.0
	left, right             = 62.0, 14.0
	top, bottom             = 26.0, 24.0
)

// chart is one gauge of all members over time.
type chart struct {
	Title, Help, Unit string
	Width, Height     float64
	// Plot is the rectangle within.
	Left, Right, Top, Bottom float64
	Lines                    []line
	Limits                   []limitLine
	Steps                    []marker
	Restarts                 []marker
	Rows                     []tick
	Columns                  []tick
	Note                     string
}

// line is one member; Pieces are the parts between gaps.
type line struct {
	Name, Class string
	Pieces      []string
	Dots        []point
}

type point struct{ X, Y string }

type limitLine struct{ Name, Pieces string }

type marker struct {
	X, TextX   string
	Name, Text string
	// Anchor of the text, and Row above the plot, so that neighbours do not cover each other.
	Anchor string
	Y      string
}

type tick struct{ At, Text string }

// comparison is the worst of a gauge before, while and after the change travelled.
type comparison struct {
	Gauge, Before, During, After, Limit, Class string
}

// painter draws what was recorded.
type painter struct {
	recorded *recording.Recording
	members  []string
	classes  map[string]string
	canary   string
}

// colours is how many lines can be told apart.
const colours = 8

func newPainter(in Input) *painter {
	p := &painter{recorded: in.Recording, classes: map[string]string{}, canary: in.Entry.Canary}
	for _, series := range in.Recording.Series {
		if !slices.Contains(p.members, series.Member) {
			p.members = append(p.members, series.Member)
		}
	}
	next := 1
	for _, member := range p.members {
		switch {
		case member == p.canary:
			p.classes[member] = "canary"
		case len(p.members) <= colours+1:
			p.classes[member] = fmt.Sprintf("m%d", next)
			next++
		default:
			p.classes[member] = "others"
		}
	}
	return p
}

// legend names the lines. Of many members only the canary has a colour of its own.
func (p *painter) legend() []legend {
	var all []legend
	if slices.Contains(p.members, p.canary) {
		all = append(all, legend{Name: p.canary + " (canary)", Class: "canary"})
	}
	if len(p.members) > colours+1 {
		return append(all, legend{Name: fmt.Sprintf("the other %d members", len(p.members)-len(all)), Class: "others"})
	}
	for _, member := range p.members {
		if member != p.canary {
			all = append(all, legend{Name: member, Class: p.classes[member]})
		}
	}
	return all
}

// charts are the gauges that moved, and the names of those that stayed at nought.
func (p *painter) charts(began, ended time.Time) (drawn []chart, quiet []string) {
	for _, gauge := range verify.Gauges() {
		lines, limits := p.seriesOf(gauge.Name)
		switch {
		case len(lines) == 0:
		case isFlatZero(lines):
			quiet = append(quiet, titleOf(gauge.Name))
		default:
			drawn = append(drawn, p.draw(gauge, lines, limits, [2]time.Time{began, ended}))
		}
	}
	return drawn, quiet
}

func (p *painter) seriesOf(gauge v1alpha1.Gauge) (lines, limits []recording.Series) {
	for _, series := range p.recorded.Series {
		switch {
		case series.Gauge != string(gauge):
		case series.Limit == "":
			lines = append(lines, series)
		default:
			limits = append(limits, series)
		}
	}
	// The canary is drawn last, so that it lies on top.
	slices.SortStableFunc(lines, func(a, b recording.Series) int {
		return cmp.Compare(order(a.Member == p.canary), order(b.Member == p.canary))
	})
	return lines, limits
}

//nolint:revive // only turns a truth into a number to sort by
func order(last bool) int {
	if last {
		return 1
	}
	return 0
}

func isFlatZero(lines []recording.Series) bool {
	for _, series := range lines {
		if slices.ContainsFunc(series.Values, func(value float64) bool { return !math.IsNaN(value) && value != 0 }) {
			return false
		}
	}
	return true
}

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

func (p *painter) draw(gauge verify.Gauge, lines, limits []recording.Series, change [2]time.Time) chart {
	drawn := chart{
		Title: titleOf(gauge.Name), Help: gauge.Help, Unit: gauge.Unit, Width: chartWidth, Height: chartHeight,
		Left: left, Right: chartWidth - right, Top: top, Bottom: chartHeight - bottom,
	}
	highest := 0.0
	for _, series := range lines {
		for _, value := range series.Values {
			if !math.IsNaN(value) {
				highest = max(highest, value)
			}
		}
	}
	// A limit that lies far above everything would flatten the lines; it is told instead.
	const farAbove, percentUnit, percents = 12, "%", 100
	measured := highest
	var near []recording.Series
	var far []string
	for _, limit := range limits {
		// A share is always shown against its limit: how far it is from there is what one wants to see.
		if bound := greatest(limit.Values); gauge.Unit == percentUnit || bound <= farAbove*max(measured, 0.1) {
			near = append(near, limit)
			highest = max(highest, bound)
		} else if text := fmt.Sprintf("limit %s: %s", limit.Limit, gauge.Text(bound)); !slices.Contains(far, text) {
			far = append(far, text)
		}
	}
	if len(far) > 0 {
		drawn.Note = "Above the chart: " + strings.Join(far, ", ") + "."
	}
	s := scale{from: p.recorded.Began, to: p.recorded.At(p.recorded.Points), top: roundUp(highest * 1.05)}
	if gauge.Unit == percentUnit && highest <= percents {
		s.top = min(s.top, percents) // there is no more than all of it
	}
	if !s.to.After(change[1]) {
		s.to = change[1].Add(time.Second)
	}
	for _, series := range lines {
		drawn.Lines = append(drawn.Lines, p.lineOf(series, s))
	}
	drawn.Limits = p.limitLines(near, s, gauge)
	drawn.Steps, drawn.Restarts = p.markers(s)
	drawn.Rows, drawn.Columns = rows(s, gauge), columns(s)
	return drawn
}

func greatest(values []float64) float64 {
	found := 0.0
	for _, value := range values {
		if !math.IsNaN(value) {
			found = max(found, value)
		}
	}
	return found
}

func (p *painter) lineOf(series recording.Series, s scale) line {
	drawn := line{Name: series.Member, Class: p.classes[series.Member]}
	var piece []point
	end := func() {
		if len(piece) == 1 {
			drawn.Dots = append(drawn.Dots, piece[0])
		}
		if len(piece) > 1 {
			drawn.Pieces = append(drawn.Pieces, joined(piece))
		}
		piece = nil
	}
	for i, value := range series.Values {
		if math.IsNaN(value) {
			end()
			continue
		}
		piece = append(piece, point{coordinate(s.x(p.middle(i))), coordinate(s.y(value))})
	}
	end()
	return drawn
}

// middle is the time in the middle of a point.
func (p *painter) middle(i int) time.Time { return p.recorded.At(i).Add(p.recorded.Spacing / 2) }

func joined(points []point) string {
	words := make([]string, 0, len(points))
	for _, at := range points {
		words = append(words, at.X+","+at.Y)
	}
	return strings.Join(words, " ")
}

// limitLines are the bounds. They follow the values in force on each member, so they may differ between
// members, and over time; equal ones are drawn once.
func (p *painter) limitLines(limits []recording.Series, s scale, gauge verify.Gauge) []limitLine {
	var all []limitLine
	for _, limit := range limits {
		var pieces []string
		for i, value := range limit.Values {
			if math.IsNaN(value) {
				continue
			}
			y := coordinate(s.y(value))
			pieces = append(pieces, coordinate(s.x(p.recorded.At(i)))+","+y, coordinate(s.x(p.recorded.At(i+1)))+","+y)
		}
		drawn := limitLine{Name: fmt.Sprintf("limit %s: %s", limit.Limit, gauge.Text(greatest(limit.Values))), Pieces: strings.Join(pieces, " ")}
		if !slices.Contains(all, drawn) {
			all = append(all, drawn)
		}
	}
	return all
}

// markers are the steps of the change, and the restarts.
func (p *painter) markers(s scale) (steps, restarts []marker) {
	const rowHeight, rows, letter = 10.0, 2, 5.4
	var free [rows]float64
	for _, mark := range p.recorded.Marks {
		x := s.x(mark.At)
		if mark.Kind == recording.MarkAct {
			if mark.Name == "Restart" || mark.Name == "StepDown" {
				restarts = append(restarts, marker{X: coordinate(x), Name: mark.Name, Text: clock(mark.At) + " " + mark.Text})
			}
			continue
		}
		step := marker{X: coordinate(x), TextX: coordinate(x + 3), Text: clock(mark.At) + " " + cmp.Or(mark.Text, mark.Name), Anchor: "start"}
		from, until := x+3, x+3+letter*float64(len(mark.Name))
		if until > chartWidth-2 {
			from, until = x-3-letter*float64(len(mark.Name)), x-3
			step.TextX, step.Anchor = coordinate(x-3), "end"
		}
		// A name that would lie on another is left out; the table of steps has it.
		for row := range rows {
			if free[row] <= from {
				step.Name, step.Y, free[row] = mark.Name, coordinate(10+rowHeight*float64(row)), until+4
				break
			}
		}
		steps = append(steps, step)
	}
	return steps, restarts
}

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

// titleOf makes words of the name of a gauge: "Dirty cache percent".
func titleOf(name v1alpha1.Gauge) string {
	var words strings.Builder
	for i, letter := range string(name) {
		if i > 0 && letter >= 'A' && letter <= 'Z' {
			words.WriteByte(' ')
			letter += 'a' - 'A'
		}
		words.WriteRune(letter)
	}
	return words.String()
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

func text(gauge verify.Gauge, value float64) string {
	if math.IsNaN(value) {
		return "-"
	}
	return gauge.Text(value)
}

// bounds are what a gauge was held to, each bound once.
func bounds(gauge verify.Gauge, limits []recording.Series) string {
	found := map[string]bool{}
	for _, limit := range limits {
		for _, value := range limit.Values {
			if math.IsNaN(value) {
				continue
			}
			words := "at most "
			if limit.IsMin {
				words = "at least "
			}
			found[words+gauge.Text(value)] = true
		}
	}
	if len(found) == 0 {
		return "-"
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}
