// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// comparison is how a gauge of a canary is held against the time before and against its twins. Only
// gauges have one that measure harm, so that more is worse: a dirty cache, a full one or a long checkpoint
// may be just what was asked for, and their limits follow the tuning.
type comparison struct {
	// slack in the unit of the gauge is what a canary may be worse by besides the share that is allowed.
	// It is what an idle or evenly loaded member differs by from itself.
	slack float64
	// operations are what a mean takes at least to be one; 0 for gauges that are no means of operations.
	operations float64
}

// comparisons in the order in which they are judged.
var comparisons = map[v1alpha1.Gauge]comparison{
	// A fifth of the built-in limit; good settings alone showed 16 to 84 pages/s.
	v1alpha1.GaugeApplicationThreadEvictions: {slack: evictionsPerSecond / 5},
	// Heartbeats come every 2 s and optimes have a resolution of one.
	v1alpha1.GaugeReplicationLag:   {slack: 3},
	v1alpha1.GaugeQueuedOperations: {slack: 10},
	v1alpha1.GaugeSlowOperations:   {slack: 1},
	// A single read from disk; fewer reads than a thousand are no mean.
	v1alpha1.GaugeReadLatency: {slack: 5, operations: 1000},
}

// IsCompared tells whether a gauge of a canary is held against the time before and against its twins.
func IsCompared(gauge v1alpha1.Gauge) bool {
	_, compared := comparisons[gauge]
	return compared
}

const (
	// baselineTime is the time before a change whose looks make the baseline, baselineLooks how many of
	// them it takes at least.
	baselineTime  = 5 * time.Minute
	baselineLooks = 3
	// soakLooks is how many looks it takes at least to judge a canary by their mean.
	soakLooks = 6
	// mostWarmUp bounds the part of a soak that is left out.
	mostWarmUp = 10 * time.Minute
)

// WarmUp is the part at the beginning of a soak that is no part of its means: a quarter of it, ten minutes
// at most. A canary that was restarted has read nothing yet.
func WarmUp(soak time.Duration) time.Duration {
	return min(soak/4, mostWarmUp)
}

// mean is that of a gauge over several looks.
type mean struct {
	sum, weight float64
	looks       int
	// lowest and highest are those of the looks that are worth counting, of which there was one.
	lowest, highest float64
	hasExtremes     bool
}

func (m mean) add(measurement Measurement) mean {
	if measurement.State != Measured {
		return m
	}
	weight := measurement.Weight
	if weight == 0 {
		weight = 1
	}
	value := measurement.Value
	m.sum, m.weight, m.looks = m.sum+value*weight, m.weight+weight, m.looks+1
	// One slow operation in an idle minute is not what a member came to.
	if weight < comparisons[measurement.Gauge].operations/baselineLooks {
		return m
	}
	if !m.hasExtremes || value < m.lowest {
		m.lowest = value
	}
	if !m.hasExtremes || value > m.highest {
		m.highest = value
	}
	m.hasExtremes = true
	return m
}

// value is the mean; ok is false when too little went into it.
func (m mean) value(gauge v1alpha1.Gauge, looks int) (value float64, ok bool) {
	if m.looks < looks || m.weight < comparisons[gauge].operations {
		return 0, false
	}
	return m.sum / m.weight, true
}

// Track is what is kept of the gauges of one pod for means. It is bounded, and a value.
type Track struct {
	role v1alpha1.MemberRole
	// recent are the looks of the last minutes, oldest first.
	recent []trackedLook
	// soak are the means since soakFrom.
	soak     map[v1alpha1.Gauge]mean
	soakFrom time.Time
}

type trackedLook struct {
	at           time.Time
	measurements []Measurement
}

// Add keeps what a look found. soakFrom is since when the canary of the member's shard is judged, zero
// while none is. Looks that follow each other sooner than the period are counted once, and those in
// another role not at all.
func (t Track) Add(now time.Time, role v1alpha1.MemberRole, period time.Duration, gauges MemberGauges, soakFrom time.Time) Track {
	if role != t.role {
		t = Track{role: role}
	}
	if !soakFrom.Equal(t.soakFrom) {
		t.soak, t.soakFrom = nil, soakFrom
	}
	// The jitter of the period is a tenth.
	const nearly = 5
	if last := len(t.recent) - 1; last >= 0 && now.Sub(t.recent[last].at) < period-period/nearly {
		return t
	}
	recent := slices.DeleteFunc(slices.Clone(t.recent), func(look trackedLook) bool { return now.Sub(look.at) > baselineTime })
	t.recent = append(recent, trackedLook{at: now, measurements: gauges.Measurements})
	if soakFrom.IsZero() || now.Before(soakFrom) {
		return t
	}
	soak := map[v1alpha1.Gauge]mean{}
	for _, measurement := range gauges.Measurements {
		soak[measurement.Gauge] = t.soak[measurement.Gauge].add(measurement)
	}
	t.soak = soak
	return t
}

// Baseline are the means of the last minutes, of every gauge of which enough is known.
func (t Track) Baseline(member string) v1alpha1.MemberBaseline {
	baseline := v1alpha1.MemberBaseline{Member: member, Role: t.role}
	for _, gauge := range gauges {
		mean := mean{}
		for _, look := range t.recent {
			mean = mean.add(MemberGauges{Measurements: look.measurements}.measurement(gauge.Name))
		}
		if value, ok := mean.value(gauge.Name, baselineLooks); ok {
			known := v1alpha1.GaugeMean{Gauge: gauge.Name, Mean: decimal(value)}
			if mean.hasExtremes {
				known.Lowest, known.Highest = decimal(mean.lowest), decimal(mean.highest)
			}
			baseline.Gauges = append(baseline.Gauges, known)
		}
	}
	return baseline
}

func decimal(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }

// Baseline is the mean of a gauge of a member before a change, as status has it.
func Baseline(baseline []v1alpha1.MemberBaseline, member string, gauge v1alpha1.Gauge) (value float64, ok bool) {
	return parsed(baselineOf(baseline, member, gauge).Mean)
}

func baselineOf(baseline []v1alpha1.MemberBaseline, member string, gauge v1alpha1.Gauge) v1alpha1.GaugeMean {
	for _, known := range baseline {
		if known.Member != member {
			continue
		}
		for _, mean := range known.Gauges {
			if mean.Gauge == gauge {
				return mean
			}
		}
	}
	return v1alpha1.GaugeMean{}
}

func parsed(text string) (value float64, ok bool) {
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// Compared is all that a canary is judged by besides its limits.
type Compared struct {
	Canary string
	// Baseline of the canary and its twins.
	Baseline []v1alpha1.MemberBaseline
	// Tracks by member.
	Tracks map[string]Track
	// AllowedPercent is by how much the canary may be worse.
	AllowedPercent float64
	// Line of the servers.
	Line catalog.Line
}

// Worse says in what the canary was worse over its soak than before the change, and than its twins in the
// same time; empty when it was in nothing, or too little is known. Both have to speak against it: load that
// rises for all lifts the twins too, and a member that was always slower was so before.
func (c Compared) Worse() string {
	for _, gauge := range gauges {
		if says := c.worseIn(gauge); says != "" {
			return says
		}
	}
	return ""
}

func (c Compared) worseIn(gauge Gauge) string {
	if !IsCompared(gauge.Name) {
		return ""
	}
	now, okNow := c.Tracks[c.Canary].soak[gauge.Name].value(gauge.Name, soakLooks)
	before, okBefore := Baseline(c.Baseline, c.Canary, gauge.Name)
	if !okNow || !okBefore {
		return ""
	}
	role := c.Tracks[c.Canary].role
	worst, twins := 0.0, []string{}
	for _, twin := range c.Baseline {
		track := c.Tracks[twin.Member]
		mean, known := track.soak[gauge.Name].value(gauge.Name, soakLooks)
		if twin.Member == c.Canary || track.role != role || !known {
			continue
		}
		worst = max(worst, mean)
		twins = append(twins, twin.Member+" "+gauge.Text(mean))
	}
	slack := gauge.slackOn(c.Line)
	if len(twins) == 0 || now <= max(before, worst)*(1+c.AllowedPercent/percent)+slack {
		return ""
	}
	return fmt.Sprintf("%s of the canary %s was %s on average over its soak, %s before the change, and in the same time on its twins %s; allowed are %g %% and %s more",
		gauge.noun, c.Canary, gauge.Text(now), gauge.Text(before), strings.Join(twins, ", "), c.AllowedPercent, gauge.Text(slack))
}

// slackOn is the slack on a release line: clients of 4.2 evict far more and smaller pages.
func (g Gauge) slackOn(line catalog.Line) float64 {
	slack := comparisons[g.Name].slack
	if g.Name == v1alpha1.GaugeApplicationThreadEvictions && line == (catalog.Line{Major: 4, Minor: 2}) {
		slack *= evictionsPerSecond42 / evictionsPerSecond
	}
	return slack
}

// Before is what a member is held to by a change that began while limits were broken.
type Before struct {
	// Broken are the names of those limits.
	Broken []string
	// Baseline of the canary and its twins.
	Baseline []v1alpha1.MemberBaseline
	// AllowedPercent is by how much a member may be worse than the worst of them was.
	AllowedPercent float64
}

// beforeSuffix ends the name of a limit that stands in for one that was broken before a change.
const beforeSuffix = "-before"

// limits stand in for those that were broken before a change, on the canary and its twins: not worse than
// the worst of them came to before by more than is allowed, and never stricter than the limit itself.
func (b Before) limits(subject Subject, limits []Limit) []Limit {
	var instead []Limit
	for _, limit := range limits {
		before, known := b.worst(subject.Member.Name, limit)
		if !known || !slices.Contains(b.Broken, limit.Name) || limit.Enforcement != v1alpha1.EnforcementEnforce {
			continue
		}
		allowed := b.AllowedPercent / percent
		if limit.IsMin {
			limit.Bound = min(limit.Bound, before*(1-min(1, allowed)))
		} else {
			gauge, _ := GaugeOf(limit.Gauge)
			limit.Bound = max(limit.Bound, before*(1+allowed)+gauge.slackOn(subject.Line))
		}
		const longest = 63 - len(beforeSuffix)
		limit.Source = fmt.Sprintf("limit %s was broken before the change; what the canary and its twins came to then, and %g %% worse", limit.Name, b.AllowedPercent)
		limit.Name = limit.Name[:min(len(limit.Name), longest)] + beforeSuffix
		instead = append(instead, limit)
	}
	return instead
}

// worst is what a gauge came to in the looks before a change on whichever of the canary and its twins was
// worst; ok is false when the member is none of them. The looks may have begun long before the limit was
// broken, so that a mean would be what it never was, and a twin gets the change later, when what had raised
// the one may have raised the other as well.
func (b Before) worst(member string, limit Limit) (value float64, ok bool) {
	if !slices.ContainsFunc(b.Baseline, func(known v1alpha1.MemberBaseline) bool { return known.Member == member }) {
		return 0, false
	}
	for _, known := range b.Baseline {
		mean := baselineOf(b.Baseline, known.Member, limit.Gauge)
		extreme := mean.Highest
		if limit.IsMin {
			extreme = mean.Lowest
		}
		found, isKnown := parsed(cmp.Or(extreme, mean.Mean))
		if isKnown && (!ok || limit.IsMin == (found < value)) {
			value, ok = found, true
		}
	}
	return value, ok
}
