// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

func limitNamed(t *testing.T, limits []Limit, name string) Limit {
	t.Helper()
	for _, limit := range limits {
		if limit.Name == name {
			return limit
		}
	}
	t.Fatalf("there is no limit %s", name)
	return Limit{}
}

func TestBuiltInLimitsFollowTheTuningInForce(t *testing.T) {
	sentString := func(text string) func(*Subject) {
		return func(s *Subject) {
			s.Member.Look.Process = catalog.Process{Parameters: map[string]any{
				catalog.RuntimeConfigParameter: text, "flowControlTargetLagSeconds": int64(25),
			}}
		}
	}
	tests := []struct {
		name    string
		limit   string
		subject Subject
		want    float64
	}{
		{name: "the server's default where nothing is known", limit: LimitDirtyCache, subject: member(nil), want: 20},
		{
			name: "the declared trigger while the process does not show it", limit: LimitDirtyCache, want: 30,
			subject: member(nil, func(s *Subject) { s.Settings = catalog.Settings{catalog.EvictionDirtyTrigger: "30"} }),
		},
		{
			name: "what the process runs on weighs more than what is declared", limit: LimitDirtyCache, want: 25,
			subject: member(nil, sentString("eviction_dirty_trigger=25"), func(s *Subject) { s.Settings = catalog.Settings{catalog.EvictionDirtyTrigger: "30"} }),
		},
		{name: "cache fill is held to the trigger", limit: LimitCacheFill, subject: member(nil, sentString("eviction_trigger=97")), want: 97},
		{name: "lag is held to the target of flow control", limit: LimitReplicationLag, subject: member(nil, sentString("")), want: 25},
		{name: "the majority's lag as well", limit: LimitMajorityLag, subject: member(nil), want: 10},
		{name: "pinned history may be a minute longer than the window, 5 s on 4.4", limit: LimitPinnedHistory, subject: member(nil), want: 65},
		{
			name: "pinned history may be a minute longer than the window, 300 s on 5.0", limit: LimitPinnedHistory, want: 360,
			subject: member(nil, func(s *Subject) { s.Line = catalog.Line{Major: 5} }),
		},
		{name: "checkpoints are to end before the next", limit: LimitCheckpointDuration, subject: member(nil), want: 60},
		{name: "evictions on 4.4", limit: LimitThreadEvictions, subject: member(nil), want: 500},
		{
			name: "evictions on 4.2, whose clients evict far more", limit: LimitThreadEvictions, want: 10000,
			subject: member(nil, func(s *Subject) { s.Line = catalog.Line{Major: 4, Minor: 2} }),
		},
		{name: "one ticket at least", limit: LimitTickets, subject: member(nil), want: 1},
		{name: "an hour of oplog", limit: LimitOplogWindow, subject: member(nil), want: 3600},
		{name: "four fifths of the connections", limit: LimitConnections, subject: member(nil), want: 80},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := limitNamed(t, Limits(nil, test.subject), test.limit)
			if got.Bound != test.want || got.Source == "" || got.Enforcement != v1alpha1.EnforcementEnforce || got.For <= 0 {
				t.Errorf("got %+v, want bound %v", got, test.want)
			}
		})
	}
	t.Run("7.0 adjusts its tickets itself", func(t *testing.T) {
		for _, limit := range Limits(nil, member(nil, func(s *Subject) { s.Line = catalog.Line{Major: 7} })) {
			if limit.Name == LimitTickets {
				t.Errorf("got %+v", limit)
			}
		}
	})
}

func TestDeclaredLimits(t *testing.T) {
	declared := func(limits ...v1alpha1.Limit) *v1alpha1.VerificationSpec {
		return &v1alpha1.VerificationSpec{Limits: limits}
	}
	t.Run("a built-in limit is replaced by its name", func(t *testing.T) {
		limits := Limits(declared(v1alpha1.Limit{Name: LimitDirtyCache, Gauge: v1alpha1.GaugeDirtyCache, Max: new(int64(12)), ForSeconds: new(int32(0))}), member(nil))
		want := Limit{
			Name: LimitDirtyCache, Gauge: v1alpha1.GaugeDirtyCache, Bound: 12,
			Scope: v1alpha1.ScopeShardMembers, Enforcement: v1alpha1.EnforcementEnforce,
		}
		if diff := cmp.Diff(want, limitNamed(t, limits, LimitDirtyCache)); diff != "" {
			t.Errorf("limit (-want +got):\n%s", diff)
		}
		if len(limits) != len(Limits(nil, member(nil))) {
			t.Error("the built-in one is there besides")
		}
	})
	t.Run("another name is added, with the defaults", func(t *testing.T) {
		limits := Limits(declared(v1alpha1.Limit{Name: "slow", Gauge: v1alpha1.GaugeSlowOperations, Min: new(int64(1))}), member(nil))
		want := Limit{
			Name: "slow", Gauge: v1alpha1.GaugeSlowOperations, Bound: 1, IsMin: true, For: 30 * time.Second,
			Scope: v1alpha1.ScopeShardMembers, Enforcement: v1alpha1.EnforcementEnforce,
		}
		if diff := cmp.Diff(want, limitNamed(t, limits, "slow")); diff != "" {
			t.Errorf("limit (-want +got):\n%s", diff)
		}
	})
	t.Run("Off takes a limit away", func(t *testing.T) {
		off := v1alpha1.Limit{Name: LimitDirtyCache, Gauge: v1alpha1.GaugeDirtyCache, Max: new(int64(1)), Enforcement: v1alpha1.EnforcementOff}
		if got, before := len(Limits(declared(off), member(nil))), len(Limits(nil, member(nil))); got != before-1 {
			t.Errorf("%d limits, want one less than %d", got, before)
		}
	})
	config := func(s *Subject) { s.Set.Component = v1alpha1.ComponentConfigServer }
	scopes := []struct {
		scope   v1alpha1.LimitScope
		subject Subject
		want    bool
	}{
		{v1alpha1.ScopeShardMembers, member(nil), true},
		{v1alpha1.ScopeShardMembers, member(nil, config), false},
		{v1alpha1.ScopePrimaries, member(nil), true},
		{v1alpha1.ScopePrimaries, secondary(0), false},
		{v1alpha1.ScopePrimaries, member(nil, config), false},
		{v1alpha1.ScopeSecondaries, secondary(0), true},
		{v1alpha1.ScopeSecondaries, member(nil), false},
		{v1alpha1.ScopeConfigServers, member(nil, config), true},
		{v1alpha1.ScopeConfigServers, member(nil), false},
		{v1alpha1.ScopeAllMembers, member(nil), true},
		{v1alpha1.ScopeAllMembers, member(nil, config), true},
	}
	for _, test := range scopes {
		limits := Limits(declared(v1alpha1.Limit{Name: "x", Gauge: v1alpha1.GaugeDirtyCache, Max: new(int64(1)), Scope: test.scope}), test.subject)
		if got := limits[len(limits)-1].Name == "x"; got != test.want {
			t.Errorf("%s concerns a member of %s in state %d: %v", test.scope, test.subject.Set.Component, test.subject.Member.Look.State, got)
		}
	}
}

func TestPeriod(t *testing.T) {
	if Period(nil) != 10*time.Second || Period(&v1alpha1.VerificationSpec{}) != 10*time.Second {
		t.Error("the default is 10 s")
	}
	if Period(&v1alpha1.VerificationSpec{PeriodSeconds: new(int32(5))}) != 5*time.Second {
		t.Error("the declared period is not taken")
	}
}

func TestEdgesOfABound(t *testing.T) {
	for value, want := range map[float64]bool{19.9: true, 20: true, 20.1: false} {
		if got := (Limit{Bound: 20}).allows(value); got != want {
			t.Errorf("max 20 allows %v: %v", value, got)
		}
	}
	for value, want := range map[float64]bool{19.9: false, 20: true, 20.1: true} {
		if got := (Limit{Bound: 20, IsMin: true}).allows(value); got != want {
			t.Errorf("min 20 allows %v: %v", value, got)
		}
	}
}

// story plays looks at one gauge under the limit of 20 for 30 s, each ten seconds after the one before.
type story struct {
	watch    Watch
	recorded *v1alpha1.Breach
	now      time.Time
}

func (s *story) look(measurement Measurement) Judgement {
	limit := Limit{Name: LimitDirtyCache, Gauge: v1alpha1.GaugeDirtyCache, Bound: 20, For: 30 * time.Second, Enforcement: v1alpha1.EnforcementEnforce}
	var judgement Judgement
	judgement, s.watch = judge(limit, measurement, s.watch, s.recorded, s.now)
	judgement.Member = "rs-0"
	s.recorded = nil
	if judgement.Verdict == Breached {
		breach := judgement.Breach()
		s.recorded = &breach
	}
	s.now = s.now.Add(10 * time.Second)
	return judgement
}

// restart in the place of a value is a new operator that looks on.
const restart = -1.0

var verdictTests = []struct {
	name string
	// looks are the values, in turn; nil is Unknown, restart is a new operator.
	looks []*float64
	want  []Verdict
}{
	{name: "in range", looks: []*float64{new(20.0), new(5.0)}, want: []Verdict{InRange, InRange}},
	{name: "a spike shorter than the limit's time is none", looks: []*float64{new(23.0), new(23.0), new(20.0)}, want: []Verdict{Pending, Pending, InRange}},
	{
		name:  "out of range for long enough is a breach",
		looks: []*float64{new(23.0), new(24.0), new(25.0), new(26.0)}, want: []Verdict{Pending, Pending, Pending, Breached},
	},
	{
		name:  "a breach ends when the gauge was back for as long",
		looks: []*float64{new(23.0), new(23.0), new(23.0), new(23.0), new(5.0), new(5.0), new(5.0), new(5.0)},
		want:  []Verdict{Pending, Pending, Pending, Breached, Breached, Breached, Breached, InRange},
	},
	{
		name:  "a moment back in range does not end a breach",
		looks: []*float64{new(23.0), new(23.0), new(23.0), new(23.0), new(5.0), new(23.0), new(5.0), new(5.0), new(5.0), new(5.0)},
		want:  []Verdict{Pending, Pending, Pending, Breached, Breached, Breached, Breached, Breached, Breached, InRange},
	},
	{
		name:  "no answer ends no breach",
		looks: []*float64{new(23.0), new(23.0), new(23.0), new(23.0), nil, nil}, want: []Verdict{Pending, Pending, Pending, Breached, Breached, Breached},
	},
	{name: "no answer is unknown", looks: []*float64{new(5.0), nil, new(5.0)}, want: []Verdict{InRange, UnknownVerdict, InRange}},
	{
		name:  "no answer does not make a gauge out of range start anew",
		looks: []*float64{new(23.0), nil, nil, new(23.0)}, want: []Verdict{Pending, UnknownVerdict, UnknownVerdict, Breached},
	},
	{
		name:  "a breach survives a restart of the operator",
		looks: []*float64{new(23.0), new(23.0), new(23.0), new(23.0), new(restart), nil, new(23.0)},
		want:  []Verdict{Pending, Pending, Pending, Breached, Breached, Breached},
	},
	{
		name:  "what is pending starts anew with the operator",
		looks: []*float64{new(23.0), new(23.0), new(restart), new(23.0), new(23.0)}, want: []Verdict{Pending, Pending, Pending, Pending},
	},
}

func TestVerdicts(t *testing.T) {
	unknown := isNot(FirstSample)
	for _, test := range verdictTests {
		t.Run(test.name, func(t *testing.T) {
			s := story{now: noon}
			var got []Verdict
			for _, value := range test.looks {
				switch {
				case value == nil:
					got = append(got, s.look(unknown).Verdict)
				case *value == restart:
					s.watch = Watch{}
				default:
					got = append(got, s.look(is(*value)).Verdict)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a gauge that is exempt is in range", func(t *testing.T) {
		s := story{now: noon}
		if got := s.look(exempt("idle")); got.Verdict != InRange {
			t.Errorf("got %s", got.Verdict)
		}
	})
	t.Run("a recorded breach keeps its words and its time", func(t *testing.T) {
		recorded := v1alpha1.Breach{
			Limit: LimitDirtyCache, Member: "rs-0", Gauge: v1alpha1.GaugeDirtyCache, Found: "23 %", Bound: "20 %",
			Enforcement: v1alpha1.EnforcementEnforce, Since: metav1.NewTime(noon.Add(-time.Hour)),
		}
		s := story{now: noon, recorded: &recorded}
		got := s.look(is(40))
		if diff := cmp.Diff(recorded, got.Breach()); diff != "" {
			t.Errorf("breach (-want +got):\n%s", diff)
		}
		if want := "Dirty cache of rs-0 was 23 % when it rose above the limit of 20 %"; got.Sentence() != want {
			t.Errorf("got %q, want %q", got.Sentence(), want)
		}
		if got.Reason() != v1alpha1.ReasonDirtyCacheAboveLimit {
			t.Errorf("got %s", got.Reason())
		}
	})
}

func TestTexts(t *testing.T) {
	for value, want := range map[float64]string{23: "23 %", 23.46: "23.5 %", 123.4: "123 %", 0: "0 %"} {
		if got := dirtyCache.Text(value); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
	if got := dirtyCache.textBeside(20.004, 20); got != "20.004 %" {
		t.Errorf("got %q, which reads like the bound", got)
	}
	if got := ticketsAvailable.Text(3); got != "3" {
		t.Errorf("got %q", got)
	}
}

func TestEveryGaugeHasItsWords(t *testing.T) {
	seen := map[v1alpha1.Gauge]bool{}
	for _, gauge := range Gauges() {
		if seen[gauge.Name] || gauge.Help == "" || gauge.noun == "" || gauge.measure == nil || gauge.above+gauge.below == "" {
			t.Errorf("%s lacks something, or is there twice", gauge.Name)
		}
		seen[gauge.Name] = true
		for _, reason := range []string{gauge.above, gauge.below} {
			if reason != "" && !IsBreachReason(reason) {
				t.Errorf("%s is not known as the reason of a breach", reason)
			}
		}
	}
	if IsBreachReason("") || IsBreachReason(v1alpha1.ReasonKnobMismatch) {
		t.Error("other reasons are taken for breaches")
	}
}

func TestJudgeGauges(t *testing.T) {
	dirty := func(s *serverstatus.Status) { s.Cache.DirtyBytes = new(int64(230)) }
	spec := &v1alpha1.VerificationSpec{Limits: []v1alpha1.Limit{
		{Name: LimitDirtyCache, Gauge: v1alpha1.GaugeDirtyCache, Max: new(int64(20)), ForSeconds: new(int32(0))},
		{Name: "full", Gauge: v1alpha1.GaugeCacheFill, Max: new(int64(10)), ForSeconds: new(int32(0)), Enforcement: v1alpha1.EnforcementReport},
	}}
	subject := member(counters(minuteUp, dirty))
	judged := JudgeGauges(spec, []Subject{subject}, nil, nil)
	want := []v1alpha1.Breach{
		{
			Limit: LimitDirtyCache, Member: "rs-0", Gauge: v1alpha1.GaugeDirtyCache, Found: "23 %", Bound: "20 %",
			Enforcement: v1alpha1.EnforcementEnforce, Since: metav1.NewTime(noon),
		},
		{
			Limit: "full", Member: "rs-0", Gauge: v1alpha1.GaugeCacheFill, Found: "50 %", Bound: "10 %",
			Enforcement: v1alpha1.EnforcementReport, Since: metav1.NewTime(noon),
		},
	}
	if diff := cmp.Diff(want, judged.Breaches()); diff != "" {
		t.Errorf("breaches (-want +got):\n%s", diff)
	}
	if breach := judged.Breach(); breach == nil || breach.Name != LimitDirtyCache {
		t.Errorf("the enforced breach is %+v", breach)
	}
	if unknown := judged.Unknown(); unknown == nil || unknown.Measurement.IsTooEarly() {
		t.Errorf("a gauge that stays unknown comes before one that lacks a second sample: %+v", unknown)
	}
	onlyReported := JudgeGauges(&v1alpha1.VerificationSpec{Limits: spec.Limits[1:]}, []Subject{member(counters(minuteUp))}, nil, nil)
	if onlyReported.Breach() != nil {
		t.Error("a limit that only reports counts as broken")
	}
	gone := JudgeGauges(spec, []Subject{subject}, []v1alpha1.Breach{{Limit: "gone", Member: "rs-0"}, {Limit: LimitDirtyCache, Member: "rs-9"}}, nil)
	if diff := cmp.Diff(want, gone.Breaches()); diff != "" {
		t.Errorf("breaches of limits and members that are gone stay (-want +got):\n%s", diff)
	}
	if got := judged.Of("rs-9"); len(got.Judgements) != 0 || got.Breach() != nil || judged.Of("rs-0").Pending() != nil {
		t.Errorf("got %+v", got)
	}
}

// TestTheEndOfABreachOutlivesAStatusThatWasNotWritten lets the write of a status fail that would have ended a
// breach, as it does when somebody has changed the object in the meantime.
func TestTheEndOfABreachOutlivesAStatusThatWasNotWritten(t *testing.T) {
	limit := Limit{Name: LimitDirtyCache, Gauge: v1alpha1.GaugeDirtyCache, Bound: 25, For: 4 * time.Second}
	recorded := &v1alpha1.Breach{Since: metav1.NewTime(noon), Found: "30 %", Bound: "25 %"}
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	first, watch := judge(limit, measured(10, ""), Watch{}, recorded, at(10))
	second, watch := judge(limit, measured(10, ""), watch, recorded, at(15))
	third, watch := judge(limit, measured(10, ""), watch, recorded, at(16))
	if first.Verdict != Breached || second.Verdict != InRange || third.Verdict != InRange {
		t.Errorf("back in range, %s; after five seconds %s; when that was not written %s", first.Verdict, second.Verdict, third.Verdict)
	}
	again, watch := judge(limit, measured(30, ""), watch, nil, at(17))
	if again.Verdict != Pending || !again.Since.Equal(at(17)) {
		t.Errorf("out of range anew, it is %s since %s", again.Verdict, again.Since)
	}
	if over, watch := judge(limit, measured(10, ""), watch, nil, at(18)); over.Verdict != InRange || watch != (Watch{}) {
		t.Errorf("back at once, it is %s, and %+v is remembered", over.Verdict, watch)
	}
}
