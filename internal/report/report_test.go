// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/forecast"
	"github.com/mongotuning/mongotuning/internal/recording"
	"github.com/mongotuning/mongotuning/test/builders"
)

var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func input(recorded *recording.Recording) Input {
	return Input{
		Tuning: builders.ShardedCluster().Object(), Recording: recorded, KnowsChanges: true, Now: start.Add(time.Hour),
		Entry: recording.Entry{Revision: recorded.Revision, Outcome: recording.Verified, Canary: "demo-shard-0-1"},
	}
}

func dirty(member string, share float64) []recording.Value {
	key := recording.Key{Member: member, Gauge: string(v1alpha1.GaugeDirtyCache)}
	bound := key
	bound.Limit = "dirty-cache"
	return []recording.Value{{Key: key, Keep: recording.KeepHighest, Number: share}, {Key: bound, Keep: recording.KeepLatest, Number: 20}}
}

func made(t interface {
	Helper()
	Fatal(...any)
}, in Input) string {
	t.Helper()
	page, err := Page(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestThePageLoadsAndRunsNothing looks for all that would need a network or a program.
func TestThePageLoadsAndRunsNothing(t *testing.T) {
	recorded := recording.New(start)
	recorded.Add(start, dirty("demo-shard-0-1", 3))
	page := made(t, input(recorded))
	for _, forbidden := range []string{"<script", "javascript:", "http://", "https://", "<link", "<img", "<iframe", "@import", "url(", " onload", " onclick", "src="} {
		if strings.Contains(strings.ToLower(page), forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	for _, needed := range []string{"default-src 'none'", "prefers-color-scheme: dark", "@media print", "<title>", `lang="en"`} {
		if !strings.Contains(page, needed) {
			t.Errorf("the page has no %q", needed)
		}
	}
}

// TestWhatPeopleWroteIsEscaped puts markup wherever text comes from the cluster.
func TestWhatPeopleWroteIsEscaped(t *testing.T) {
	const evil = `<script>alert("x")</script>`
	recorded := recording.New(start)
	recorded.Revision = evil
	recorded.Add(start, dirty(evil, 3))
	recorded.Mark(recording.Mark{At: start, Kind: recording.MarkStep, Name: evil, Text: evil})
	recorded.Mark(recording.Mark{At: start, Kind: recording.MarkAct, Name: "Restart", Member: evil, Text: evil})
	in := input(recorded)
	in.Tuning.Name, in.Entry.Why, in.Entry.Canary, in.Entry.Profile = evil, evil, evil, evil
	in.Changes = []forecast.Change{{Knob: evil, From: evil, To: evil}}
	in.Fields = []forecast.FieldChange{{Field: evil, From: evil, To: evil, Effect: evil}}
	in.Events = []Event{{At: start, Reason: evil, Text: evil}}
	in.Tuning.Status.Members = []v1alpha1.MemberStatus{{Name: evil, ReplicaSet: evil}}
	in.Tuning.Status.Breaches = []v1alpha1.Breach{{Limit: evil, Member: evil, Found: evil, Bound: evil}}
	page := made(t, in)
	if strings.Contains(page, "<script") || strings.Count(page, "&lt;script&gt;") < 15 {
		t.Errorf("markup comes through, or %d texts are missing", strings.Count(page, "&lt;script&gt;"))
	}
}

var number = regexp.MustCompile(`-?[0-9]+(?:\.[0-9]+)?`)

// TestAnyChartStaysInItsFrame records anything and holds that the page is well formed, and that every
// coordinate lies within the picture.
func TestAnyChartStaysInItsFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded := recording.New(start)
		at := start
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			at = at.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "seconds")) * time.Second)
			var values []recording.Value
			for member := range rapid.IntRange(0, 12).Draw(t, "members") {
				values = append(values, dirty(fmt.Sprintf("demo-shard-0-%d", member), rapid.Float64Range(0, 400).Draw(t, "share"))...)
			}
			recorded.Add(at, values)
			if rapid.Bool().Draw(t, "marks") {
				kind := rapid.SampledFrom([]recording.MarkKind{recording.MarkStep, recording.MarkAct}).Draw(t, "kind")
				recorded.Mark(recording.Mark{At: at, Kind: kind, Name: rapid.SampledFrom([]string{"Restart", "CanarySoak", "Mongos"}).Draw(t, "name")})
			}
		}
		page := made(t, input(recorded))
		for _, svg := range regexp.MustCompile(`(?s)<svg viewBox="0 0 960.*?</svg>`).FindAllString(page, -1) {
			expectWellFormed(t, svg)
			for _, points := range regexp.MustCompile(`points="([^"]*)"`).FindAllStringSubmatch(svg, -1) {
				for i, text := range number.FindAllString(points[1], -1) {
					value, err := strconv.ParseFloat(text, 64)
					if limit := []float64{chartWidth, chartHeight}[i%2]; err != nil || value < 0 || value > limit || math.IsNaN(value) {
						t.Fatalf("%s is outside of the picture: %s", text, points[1])
					}
				}
			}
		}
	})
}

func expectWellFormed(t *rapid.T, text string) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}

func TestGapsAreNotDrawn(t *testing.T) {
	recorded := recording.New(start)
	for _, second := range []int{0, 15, 30, 300, 315, 900} {
		recorded.Add(start.Add(time.Duration(second)*time.Second), dirty("demo-shard-0-1", 3))
	}
	p := newPainter(input(recorded))
	charts, _ := p.charts(start, start.Add(time.Hour))
	if len(charts) != 1 || len(charts[0].Lines) != 1 {
		t.Fatalf("%+v", charts)
	}
	if line := charts[0].Lines[0]; len(line.Pieces) != 2 || len(line.Dots) != 1 || line.Class != "canary" {
		t.Errorf("drawn %+v", line)
	}
}

func TestGaugesAtNoughtAreOnlyNamed(t *testing.T) {
	recorded := recording.New(start)
	recorded.Add(start, dirty("demo-shard-0-1", 0))
	charts, quiet := newPainter(input(recorded)).charts(start, start)
	if len(charts) != 0 || len(quiet) != 1 || quiet[0] != "Dirty cache percent" {
		t.Errorf("%d charts, quiet %v", len(charts), quiet)
	}
}

// TestAFarLimitIsToldAndNotDrawn has one for a gauge that is no share; of a share it is always drawn.
func TestAFarLimitIsToldAndNotDrawn(t *testing.T) {
	recorded := recording.New(start)
	lag := recording.Key{Member: "demo-shard-0-1", Gauge: string(v1alpha1.GaugeReplicationLag)}
	bound := lag
	bound.Limit = "replication-lag"
	recorded.Add(start, append(dirty("demo-shard-0-1", 0.1),
		recording.Value{Key: lag, Keep: recording.KeepHighest, Number: 1}, recording.Value{Key: bound, Keep: recording.KeepLatest, Number: 1000}))
	charts, _ := newPainter(input(recorded)).charts(start, start)
	if len(charts) != 2 {
		t.Fatalf("%d charts", len(charts))
	}
	if share := charts[0]; len(share.Limits) != 1 || share.Note != "" {
		t.Errorf("the limit of a share: %+v, %q", share.Limits, share.Note)
	}
	if lag := charts[1]; len(lag.Limits) != 0 || lag.Note != "Above the chart: limit replication-lag: 1000 s." {
		t.Errorf("the limit of a lag: %+v, %q", lag.Limits, lag.Note)
	}
}

func TestRoundUp(t *testing.T) {
	for value, want := range map[float64]float64{0: 1, 0.07: 0.08, 1: 1, 1.01: 1.5, 21: 25, 96: 100, 97.5: 100, 3601: 4000} {
		if got := roundUp(value); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is rounded up to %v, want %v", value, got, want)
		}
	}
}
