// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
)

// The measures of a picture, in pixels.
const (
	width, left, right = 960, 64, 150
	stripTop           = 58
	stripHeight        = 26
	// keyHeight is the room below the steps for the names of those that are too short to hold them.
	keyHeight = 20
	// alertHeight is that of the row of one alert.
	alertHeight = 20
	chartGap    = 46
	// sampleSeconds is the time between two samples where a series does not say.
	sampleSeconds = 2
)

const (
	ink, faint, grid = "#1f2933", "#616e7c", "#e4e7eb"
	limitColor       = "#c81e1e"
	triggerColor     = "#d97706"
)

var (
	memberColors = []string{"#1d4ed8", "#0f9f8f", "#9333ea", "#475569", "#b45309", "#be185d"}
	stepColors   = map[string]string{
		"Canary": "#93c5fd", "CanarySoak": "#bfdbfe", "CanaryLeads": "#a5b4fc", "LeadSoak": "#c7d2fe", "RestOfShard": "#86efac",
		"OtherShards": "#6ee7b7", "ConfigServers": "#99f6e4", "Mongos": "#a5f3fc", "Verifying": "#d9f99d", "Returning": "#fca5a5", "Returned": "#fecaca",
	}
)

// chart is one diagram: lines over time.
type chart struct {
	title  string
	height float64
	lines  []line
	format func(float64) string
	least  float64 // the axis reaches at least this far
}

type line struct {
	name, color, dashes string
	values              [][2]float64
	factor, spacing     float64
}

// draw makes a picture of a recording: the steps of the change on top, then dirty cache, lag and proof.
func draw(r recording, title string) (string, error) {
	lasts := r.lasts()
	if lasts == 0 || len(r.Series["dirty"]) == 0 || len(r.Series["step"]) == 0 {
		return "", errors.New("holds no change with figures of its members")
	}
	charts := slices.DeleteFunc([]chart{dirty(r), slow(r), lag(r), proof(r)}, func(c chart) bool { return len(c.lines) == 0 })
	height := float64(stripTop + stripHeight + keyHeight)
	for _, one := range charts {
		height += chartGap + one.height
	}
	rows := alertNames(r.Series["alerts"])
	if len(rows) > 0 {
		height += chartGap + float64(len(rows)*alertHeight)
	}
	height += 40
	p := &page{scale: (width - left - right) / lasts, lasts: lasts}
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="12">`, width, height, width, height)
	p.add(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	p.text(left, 24, heading, title)
	p.text(width-12, 24, server, r.Server)
	p.steps(r.Series["step"])
	top := float64(stripTop + stripHeight + keyHeight)
	for i, one := range charts {
		top += chartGap
		named := one.lines
		if i > 0 {
			named = unnamed(one.lines)
		}
		p.chart(one, top, named)
		top += one.height
	}
	if len(rows) > 0 {
		top += chartGap
		p.alerts(r.Series["alerts"], rows, top)
		top += float64(len(rows) * alertHeight)
	}
	p.axis(top)
	p.add("</svg>")
	return p.String(), nil
}

func percent(value float64) string { return fmt.Sprintf("%.0f %%", value) }

func dirty(r recording) chart {
	c := chart{title: "Dirty share of the cache", height: 190, format: percent, least: 5}
	c.lines = members(r.Series["dirty"], 100)
	// The limit and the trigger are those of the members; what is drawn is the least there is at any time.
	if lines := least(r.Series["limit"], r.Series["dirty"]); len(lines) > 0 {
		c.lines = append(c.lines, line{name: "limit", color: limitColor, dashes: "7 5", values: lines, factor: 100, spacing: r.Series["limit"][0].spacing()})
	}
	return c
}

func slow(r recording) chart {
	c := chart{title: "Slow operations per second", height: 110, format: func(value float64) string { return fmt.Sprintf("%.1f", value) }, least: 0.4, lines: members(r.Series["slow"], 1)}
	if lines := least(r.Series["slowLimit"], r.Series["slow"]); len(lines) > 0 {
		c.lines = append(c.lines, line{name: "limit", color: limitColor, dashes: "7 5", values: lines, factor: 1, spacing: r.Series["slowLimit"][0].spacing()})
	}
	return c
}

func lag(r recording) chart {
	return chart{title: "Replication lag", height: 80, format: func(value float64) string { return fmt.Sprintf("%.0f s", value) }, least: 2, lines: members(r.Series["lag"], 1)}
}

// proof is the share of declared values that is proved, by member.
func proof(r recording) chart {
	wanted := map[string]map[float64]float64{}
	for _, one := range r.Series["wanted"] {
		byTime := map[float64]float64{}
		for _, value := range one.Values {
			byTime[value[0]] = value[1]
		}
		wanted[one.Labels["member"]] = byTime
	}
	shares := make([]series, 0, len(r.Series["proved"]))
	for _, one := range r.Series["proved"] {
		share := series{Labels: one.Labels, Spacing: one.Spacing}
		for _, value := range one.Values {
			if of := wanted[one.Labels["member"]][value[0]]; of > 0 {
				share.Values = append(share.Values, [2]float64{value[0], value[1] / of})
			}
		}
		shares = append(shares, share)
	}
	return chart{title: "Declared values that are proved", height: 80, format: percent, least: 100, lines: members(shares, 100)}
}

// members are the lines of the shards' members; config servers hold little and are left out.
func members(all []series, factor float64) []line {
	var lines []line
	for _, one := range slices.SortedFunc(slices.Values(all), func(a, b series) int { return cmp.Compare(a.Labels["member"], b.Labels["member"]) }) {
		if !strings.Contains(one.Labels["member"], "-shard-") {
			continue
		}
		lines = append(lines, line{name: one.Labels["member"], color: memberColors[len(lines)%len(memberColors)], values: one.Values, factor: factor, spacing: one.spacing()})
	}
	return lines
}

// least is the least value at each time, of the members that are drawn.
func least(all, drawn []series) [][2]float64 {
	names := map[string]bool{}
	for _, one := range members(drawn, 1) {
		names[one.name] = true
	}
	byTime := map[float64]float64{}
	for _, one := range all {
		for _, value := range one.Values {
			if found, known := byTime[value[0]]; names[one.Labels["member"]] && (!known || value[1] < found) {
				byTime[value[0]] = value[1]
			}
		}
	}
	values := make([][2]float64, 0, len(byTime))
	for _, at := range slices.Sorted(maps.Keys(byTime)) {
		values = append(values, [2]float64{at, byTime[at]})
	}
	return values
}

// page is a picture in the making.
type page struct {
	strings.Builder
	scale, lasts float64
}

func (p *page) add(format string, args ...any) { fmt.Fprintf(&p.Builder, format+"\n", args...) }

func (p *page) x(seconds float64) float64 { return left + seconds*p.scale }

// style is how a text is written.
type style struct {
	color, anchor string
	size          int
}

var (
	heading = style{ink, "start", 16}
	caption = style{faint, "start", 12}
	server  = style{faint, "end", 12}
	scale   = style{faint, "end", 11}
	clock   = style{faint, "middle", 11}
	unit    = style{faint, "start", 11}
	label   = style{ink, "start", 11}
	within  = style{ink, "middle", 11}
)

func (p *page) text(x, y float64, as style, text string) {
	p.add(`<text x="%.1f" y="%.1f" fill="%s" text-anchor="%s" font-size="%d">%s</text>`, x, y, as.color, as.anchor, as.size, html.EscapeString(text))
}

// spans are the times in which a series has the value 1.
func spans(one series) [][2]float64 {
	var found [][2]float64
	for _, value := range one.Values {
		if value[1] != 1 {
			continue
		}
		if last := len(found) - 1; last >= 0 && value[0]-found[last][1] <= one.spacing() {
			found[last][1] = value[0]
			continue
		}
		found = append(found, [2]float64{value[0], value[0]})
	}
	for i := range found {
		found[i][1] += one.spacing()
	}
	return found
}

// wideEnough is the width from which a step's name fits into its field.
func wideEnough(name string) float64 { return float64(len(name))*6.4 + 8 }

func (p *page) steps(all []series) {
	p.text(left, stripTop-8, caption, "Step of the change")
	p.add(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="#f5f7fa"/>`, left, stripTop, p.lasts*p.scale, stripHeight)
	isNamed := map[string]bool{}
	for _, one := range all {
		name := one.Labels["step"]
		for _, span := range spans(one) {
			from, to := p.x(span[0]), math.Min(p.x(span[1]), p.x(p.lasts))
			p.add(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s</title></rect>`, from, stripTop, to-from, stripHeight, stepColor(name), name)
			if to-from >= wideEnough(name) {
				p.text((from+to)/2, stripTop+17, within, name)
				isNamed[name] = true
			}
		}
	}
	p.stepKey(all, isNamed)
}

// stepKey names the steps that were too short to hold their names.
func (p *page) stepKey(all []series, isNamed map[string]bool) {
	at := float64(left)
	for _, one := range all {
		name := one.Labels["step"]
		if isNamed[name] {
			continue
		}
		isNamed[name] = true
		p.add(`<rect x="%.1f" y="%d" width="10" height="10" fill="%s"/>`, at, stripTop+stripHeight+8, stepColor(name))
		p.text(at+14, stripTop+stripHeight+17, label, name)
		at += wideEnough(name) + 18
	}
}

func stepColor(name string) string { return cmp.Or(stepColors[name], grid) }

// alertNames are the names of the alerts that fired, one row each.
func alertNames(all []series) []string {
	names := map[string]bool{}
	for _, one := range all {
		names[one.Labels["alertname"]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (p *page) alerts(all []series, rows []string, top float64) {
	p.text(left, top-8, caption, "Alerts that fire")
	for i, name := range rows {
		y := top + float64(i*alertHeight)
		p.add(`<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="#f5f7fa"/>`, left, y, p.lasts*p.scale, alertHeight-2)
		for _, one := range all {
			if one.Labels["alertname"] != name {
				continue
			}
			for _, span := range spans(one) {
				from, to := p.x(span[0]), math.Min(p.x(span[1]), p.x(p.lasts))
				p.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="#fca5a5"/>`, from, y, to-from, alertHeight-2)
			}
		}
		p.text(left+4, y+13, label, name)
	}
}

// unnamed are the lines that no chart before has named: the members are the same in all charts.
func unnamed(lines []line) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(one line) bool { return one.dashes == "" })
}

func (p *page) chart(c chart, top float64, named []line) {
	most := c.least
	for _, line := range c.lines {
		for _, value := range line.values {
			most = max(most, value[1]*line.factor)
		}
	}
	step := nice(most / 4)
	most = math.Ceil(most/step) * step
	y := func(value float64) float64 { return top + c.height*(1-value/most) }
	p.text(left, top-8, caption, c.title)
	for value := 0.0; value <= most+step/2; value += step {
		p.add(`<line x1="%d" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s"/>`, left, p.x(p.lasts), y(value), y(value), grid)
		p.text(left-6, y(value)+4, scale, c.format(value))
	}
	for _, line := range c.lines {
		p.path(line, y)
	}
	for i, line := range named {
		p.add(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>`,
			p.x(p.lasts)+8, p.x(p.lasts)+22, top+8+float64(i)*16, top+8+float64(i)*16, line.color, line.dashes)
		p.text(p.x(p.lasts)+26, top+12+float64(i)*16, label, line.name)
	}
}

// path draws a line, broken where there are no samples.
func (p *page) path(line line, y func(float64) float64) {
	var path strings.Builder
	last := math.Inf(-1)
	for _, value := range line.values {
		command := "L"
		if value[0]-last > 3*line.spacing {
			command = "M"
		}
		last = value[0]
		fmt.Fprintf(&path, "%s%.1f %.1f", command, p.x(value[0]), y(value[1]*line.factor))
	}
	p.add(`<path d="%s" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round" stroke-dasharray="%s"><title>%s</title></path>`, path.String(), line.color, line.dashes, html.EscapeString(line.name))
}

func (p *page) axis(top float64) {
	step := roundTime(p.lasts / 10)
	for at := 0.0; at <= p.lasts; at += step {
		p.add(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s"/>`, p.x(at), p.x(at), top, top+5, faint)
		p.text(p.x(at), top+20, clock, fmt.Sprintf("%d:%02d", int(at)/60, int(at)%60))
	}
	p.text(p.x(p.lasts)+26, top+20, unit, "minutes")
}

// nice is a round number not below the given one, for the steps of an axis.
func nice(least float64) float64 {
	if least <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 2.5, 5, 10} {
		if factor*power >= least {
			return factor * power
		}
	}
	return 10 * power
}

// roundTime is a time that clocks show, not below the given one.
func roundTime(least float64) float64 {
	for _, seconds := range []float64{5, 10, 15, 30, 60, 120, 300, 600, 1800} {
		if seconds >= least {
			return seconds
		}
	}
	return 3600
}
