// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

const canary, twin = "demo-shard-0-1", "demo-shard-0-2"

// seenFor is a track of so many looks, ten seconds apart, of which each found these values of one gauge.
func seenFor(track Track, from time.Time, gauge v1alpha1.Gauge, weight float64, values ...float64) (Track, time.Time) {
	soakFrom := from
	for _, value := range values {
		measurement := measured(value, "")
		measurement.Gauge, measurement.Weight = gauge, weight
		track = track.Add(from, v1alpha1.MemberSecondary, 10*time.Second, MemberGauges{Measurements: []Measurement{measurement}}, soakFrom)
		from = from.Add(10 * time.Second)
	}
	return track, from
}

func repeated(value float64, times int) []float64 {
	values := make([]float64, times)
	for i := range values {
		values[i] = value
	}
	return values
}

// soaked is a canary and its twin that showed a gauge before and over a soak of ten looks.
func soaked(gauge v1alpha1.Gauge, weight, before, now, twinNow float64) Compared {
	baseline := func(member string) v1alpha1.MemberBaseline {
		track, _ := seenFor(Track{}, noon, gauge, weight, repeated(before, 10)...)
		return track.Baseline(member)
	}
	during := func(value float64) Track {
		track, _ := seenFor(Track{}, noon, gauge, weight, repeated(value, 10)...)
		return track
	}
	return Compared{
		Canary: canary, Baseline: []v1alpha1.MemberBaseline{baseline(canary), baseline(twin)},
		Tracks: map[string]Track{canary: during(now), twin: during(twinNow)}, AllowedPercent: 50, Line: catalog.Line{Major: 4, Minor: 4},
	}
}

func TestACanaryIsHeldAgainstBeforeAndItsTwin(t *testing.T) {
	for _, row := range []struct {
		name                        string
		gauge                       v1alpha1.Gauge
		weight, before, now, twinIs float64
		says                        string // empty when it is not worse
	}{
		{"a canary that is as before is not worse", v1alpha1.GaugeReplicationLag, 0, 2, 2, 2, ""},
		{"what is allowed is not worse: 2 s, half of it and 3 s", v1alpha1.GaugeReplicationLag, 0, 2, 6, 2, ""},
		{
			"a little more is", v1alpha1.GaugeReplicationLag, 0, 2, 6.1, 2,
			"Replication lag of the canary demo-shard-0-1 was 6.1 s on average over its soak, 2 s before the change, and in the same time on its twins demo-shard-0-2 2 s; allowed are 50 % and 3 s more",
		},
		{"load that lifts the twin too speaks for the canary", v1alpha1.GaugeReplicationLag, 0, 2, 30, 20, ""},
		{"a member that was always slower is not worse", v1alpha1.GaugeReplicationLag, 0, 20, 30, 0, ""},
		{"an idle member is not judged by noise", v1alpha1.GaugeApplicationThreadEvictions, 0, 0, 100, 0, ""},
		{"evictions by clients beyond it are harm", v1alpha1.GaugeApplicationThreadEvictions, 0, 0, 101, 0, "Eviction by client threads"},
		{"reads that take twice as long are harm", v1alpha1.GaugeReadLatency, 200, 10, 20.1, 10, "Mean read latency"},
		{"few reads are no mean", v1alpha1.GaugeReadLatency, 99, 10, 500, 10, ""},
		{"a dirty cache may be what was asked for", v1alpha1.GaugeDirtyCache, 0, 3, 25, 3, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := soaked(row.gauge, row.weight, row.before, row.now, row.twinIs).Worse()
			if (got == "") != (row.says == "") || !strings.Contains(got, row.says) {
				t.Errorf("says %q, wanted %q", got, row.says)
			}
		})
	}
}

func TestComparisonTakesWhatItNeeds(t *testing.T) {
	bad := func() Compared { return soaked(v1alpha1.GaugeReplicationLag, 0, 0, 60, 0) }
	if bad().Worse() == "" {
		t.Fatal("the rows below prove nothing")
	}
	for _, row := range []struct {
		name   string
		change func(*Compared)
	}{
		{"without a twin the limits alone speak", func(c *Compared) { c.Baseline = c.Baseline[:1] }},
		{"a twin that leads now is none", func(c *Compared) {
			track := c.Tracks[twin]
			track.role = v1alpha1.MemberPrimary
			c.Tracks[twin] = track
		}},
		{"a twin that is not measured is none", func(c *Compared) { delete(c.Tracks, twin) }},
		{"without a baseline there is nothing to compare with", func(c *Compared) { c.Baseline = c.Baseline[1:] }},
		{"five looks are too few", func(c *Compared) {
			c.Tracks[canary], _ = seenFor(Track{}, noon, v1alpha1.GaugeReplicationLag, 0, repeated(60, soakLooks-1)...)
		}},
		{"a canary that was restarted in its soak begins anew", func(c *Compared) { c.Tracks[canary] = Track{} }},
		{"evictions on 4.2 are far more", func(c *Compared) {
			*c = soaked(v1alpha1.GaugeApplicationThreadEvictions, 0, 0, 2000, 0)
			c.Line = catalog.Line{Major: 4, Minor: 2}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			compared := bad()
			row.change(&compared)
			if says := compared.Worse(); says != "" {
				t.Error(says)
			}
		})
	}
}

// TestIdleClustersAreNeverWorse draws what members show on which next to nothing happens.
func TestIdleClustersAreNeverWorse(t *testing.T) {
	idle := map[v1alpha1.Gauge]float64{
		v1alpha1.GaugeApplicationThreadEvictions: 20, v1alpha1.GaugeReplicationLag: 2, v1alpha1.GaugeQueuedOperations: 3,
		v1alpha1.GaugeSlowOperations: 0.5, v1alpha1.GaugeReadLatency: 400,
	}
	for gauge := range comparisons {
		if _, known := idle[gauge]; !known {
			t.Errorf("%s has no idle value", gauge)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for gauge, most := range idle {
			draw := func(name string) float64 { return rapid.Float64Range(0, most).Draw(t, name) }
			if says := soaked(gauge, 5, draw("before"), draw("canary"), draw("twin")).Worse(); says != "" {
				t.Fatal(says)
			}
		}
	})
}

func TestBaselines(t *testing.T) {
	track, now := seenFor(Track{}, noon, v1alpha1.GaugeReplicationLag, 0, 1, 2)
	if got := track.Baseline(canary).Gauges; len(got) > 0 {
		t.Errorf("two looks make a baseline: %v", got)
	}
	track, now = seenFor(track, now, v1alpha1.GaugeReplicationLag, 0, 6)
	want := v1alpha1.MemberBaseline{
		Member: canary, Role: v1alpha1.MemberSecondary,
		Gauges: []v1alpha1.GaugeMean{{Gauge: v1alpha1.GaugeReplicationLag, Mean: "3", Lowest: "1", Highest: "6"}},
	}
	if diff := cmp.Diff(want, track.Baseline(canary)); diff != "" {
		t.Errorf("baseline (-want +got):\n%s", diff)
	}
	if value, ok := Baseline([]v1alpha1.MemberBaseline{want}, canary, v1alpha1.GaugeReplicationLag); !ok || value != 3 {
		t.Errorf("status says %g (%t)", value, ok)
	}
	track, now = seenFor(track, now, v1alpha1.GaugeReplicationLag, 0, repeated(9, 31)...)
	if got := track.Baseline(canary).Gauges[0].Mean; got != "9" || len(track.recent) > 32 {
		t.Errorf("mean %s of %d looks: what is older than five minutes is no baseline", got, len(track.recent))
	}
	light := Measurement{Gauge: v1alpha1.GaugeReadLatency, State: Measured, HasValue: true, Value: 4000, Weight: 1}
	heavy := Measurement{Gauge: v1alpha1.GaugeReadLatency, State: Measured, HasValue: true, Value: 2, Weight: 5000}
	if mean := (mean{}).add(heavy).add(light); mean.highest != 2 || mean.looks != 2 {
		t.Errorf("one slow read in an idle minute makes %+v", mean)
	}
	soon := track.Add(now.Add(-9*time.Second), v1alpha1.MemberSecondary, 10*time.Second, MemberGauges{}, time.Time{})
	if len(soon.recent) != len(track.recent) {
		t.Error("a look a second after another one counts twice")
	}
	primary := track.Add(now, v1alpha1.MemberPrimary, 10*time.Second, MemberGauges{}, time.Time{})
	if len(primary.recent) != 1 {
		t.Error("looks in another role are part of the baseline")
	}
}

func TestWarmUpIsLeftOut(t *testing.T) {
	if got := WarmUp(5 * time.Minute); got != 75*time.Second {
		t.Errorf("%s of five minutes are left out", got)
	}
	if got := WarmUp(7 * 24 * time.Hour); got != 10*time.Minute {
		t.Errorf("%s of a week are left out", got)
	}
	track := Track{}
	for i := range 10 {
		measurement := measured(float64(i), "")
		measurement.Gauge = v1alpha1.GaugeReplicationLag
		track = track.Add(noon.Add(time.Duration(10*i)*time.Second), v1alpha1.MemberSecondary, 10*time.Second,
			MemberGauges{Measurements: []Measurement{measurement}}, noon.Add(45*time.Second))
	}
	if mean := track.soak[v1alpha1.GaugeReplicationLag]; mean.looks != 5 || mean.sum != 5+6+7+8+9 {
		t.Errorf("the soak holds %+v", mean)
	}
}

func TestWhatWasBrokenBeforeIsHeldToTheWorstOfItsBaseline(t *testing.T) {
	subject := member(nil, func(s *Subject) {
		s.Before = Before{Broken: []string{LimitDirtyCache, LimitOplogWindow}, AllowedPercent: 50, Baseline: []v1alpha1.MemberBaseline{{
			Member: "rs-0", Gauges: []v1alpha1.GaugeMean{{Gauge: v1alpha1.GaugeDirtyCache, Mean: "25"}, {Gauge: v1alpha1.GaugeOplogWindow, Mean: "1800"}},
		}}}
	})
	limits := Limits(nil, subject)
	if got := limitNamed(t, limits, "dirty-cache-before"); got.Bound != 37.5 || got.IsMin || got.Enforcement != v1alpha1.EnforcementEnforce {
		t.Errorf("a dirty cache of 25 %% may become %+v", got)
	}
	if got := limitNamed(t, limits, "oplog-window-before"); got.Bound != 900 || !got.IsMin {
		t.Errorf("an oplog window of 1800 s may become %+v", got)
	}
	// It rose a minute ago: the mean of five minutes says nothing of where it stands.
	subject.Before.Baseline[0].Gauges = []v1alpha1.GaugeMean{
		{Gauge: v1alpha1.GaugeDirtyCache, Mean: "12", Lowest: "1", Highest: "26"}, {Gauge: v1alpha1.GaugeOplogWindow, Mean: "5000", Lowest: "1600", Highest: "9000"},
	}
	if got := limitNamed(t, Limits(nil, subject), "dirty-cache-before"); got.Bound != 39 {
		t.Errorf("a dirty cache that came to 26 %% may become %g", got.Bound)
	}
	if got := limitNamed(t, Limits(nil, subject), "oplog-window-before"); got.Bound != 800 {
		t.Errorf("an oplog window that fell to 1600 s may become %g", got.Bound)
	}
	// A twin gets the change later, when what raised the other may have raised it as well.
	subject.Before.Baseline = append(subject.Before.Baseline, v1alpha1.MemberBaseline{
		Member: "rs-1", Gauges: []v1alpha1.GaugeMean{{Gauge: v1alpha1.GaugeDirtyCache, Mean: "20", Lowest: "12", Highest: "30"}},
	})
	if got := limitNamed(t, Limits(nil, subject), "dirty-cache-before"); got.Bound != 45 {
		t.Errorf("the twin of a member that came to 30 %% may become %g", got.Bound)
	}
	subject.Before.Baseline = subject.Before.Baseline[:1]
	subject.Before.Baseline[0].Gauges[0] = v1alpha1.GaugeMean{Gauge: v1alpha1.GaugeDirtyCache, Mean: "5"}
	if got := limitNamed(t, Limits(nil, subject), "dirty-cache-before"); got.Bound != 20 {
		t.Errorf("a member that was in range is held to %g, wanted the limit", got.Bound)
	}
	subject.Before.Baseline = nil
	for _, limit := range Limits(nil, subject) {
		if strings.HasSuffix(limit.Name, beforeSuffix) {
			t.Errorf("%s is held to a baseline that nobody knows", limit.Name)
		}
	}
}
