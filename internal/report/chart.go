// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
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
