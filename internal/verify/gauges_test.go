// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// counters is an answer of serverStatus of a process that is uptime old, with every figure there.
func counters(uptime time.Duration, change ...func(*serverstatus.Status)) *serverstatus.Status {
	status := &serverstatus.Status{
		Pid: new(int64(1)), UptimeMillis: new(uptime.Milliseconds()),
		Cache: serverstatus.Cache{
			MaxBytes: new(int64(1000)), UsedBytes: new(int64(500)), DirtyBytes: new(int64(50)), PagesEvictedByClients: new(int64(100)),
		},
		Checkpoints: serverstatus.Checkpoints{Count: new(int64(3)), RecentMillis: new(int64(1500))},
		History:     serverstatus.History{PinnedSeconds: new(int64(5))},
		ReadTickets: serverstatus.Tickets{Available: new(int64(128))}, WriteTickets: serverstatus.Tickets{Available: new(int64(127))},
		FlowControl: serverstatus.FlowControl{IsEnabled: new(true), LaggedMicros: new(int64(0))},
		Reads:       serverstatus.Latency{Operations: new(int64(10)), TotalMicros: new(int64(10000)), Histogram: []serverstatus.LatencyBucket{{FromMicros: 64, Count: 10}}},
		Writes:      serverstatus.Latency{Operations: new(int64(0)), TotalMicros: new(int64(0))},
		Commands:    serverstatus.Latency{Operations: new(int64(5)), TotalMicros: new(int64(500))},
		Connections: serverstatus.Connections{Current: new(int64(5)), Available: new(int64(95))},
		Queue:       serverstatus.Queue{Total: new(int64(2))},
	}
	for _, apply := range change {
		apply(status)
	}
	return status
}

// member is the primary of a set of its own, at noon.
func member(status *serverstatus.Status, change ...func(*Subject)) Subject {
	pod := observed.Member{Name: "rs-0", Pod: observed.Pod{Exists: true, UID: "uid"}, Look: observed.Look{State: observed.StatePrimary, Status: status}}
	subject := Subject{
		Now: noon, Host: "rs-0:27017", Period: 10 * time.Second, Line: catalog.Line{Major: 4, Minor: 4}, Member: pod,
		Set: observed.ReplicaSet{Name: "rs", Component: v1alpha1.ComponentShardMember, Members: []observed.Member{pod}},
	}
	for _, apply := range change {
		apply(&subject)
	}
	return subject
}

// before gives a member a sample that is ago old.
func before(ago time.Duration, status *serverstatus.Status) func(*Subject) {
	return func(s *Subject) {
		earlier := *s
		earlier.Now = s.Now.Add(-ago)
		earlier.Member.Look.Status = status
		s.History = s.History.Add(earlier)
	}
}

// ofOperations is a mean of so many operations.
func ofOperations(value, operations float64) Measurement {
	mean := is(value)
	mean.Weight = operations
	return mean
}

func measureOne(t *testing.T, name v1alpha1.Gauge, subject Subject) Measurement {
	t.Helper()
	gauge, ok := GaugeOf(name)
	if !ok {
		t.Fatalf("there is no gauge %s", name)
	}
	measurement := gauge.measure(subject)
	if measurement.Evidence == "" {
		t.Error("no evidence")
	}
	measurement.Evidence = ""
	return measurement
}

func is(value float64) Measurement { return Measurement{State: Measured, Value: value, HasValue: true} }

func isNot(why Unknown) Measurement { return Measurement{State: Unmeasured, Why: why} }

const minuteUp, tenMore = time.Minute, 70 * time.Second

var oneLookTests = []struct {
	name  string
	gauge v1alpha1.Gauge
	set   func(*serverstatus.Status)
	want  Measurement
}{
	{name: "dirty cache is a share of the cache", gauge: v1alpha1.GaugeDirtyCache, want: is(5)},
	{
		name: "a clean cache is nought, not unknown", gauge: v1alpha1.GaugeDirtyCache, want: is(0),
		set: func(s *serverstatus.Status) { s.Cache.DirtyBytes = new(int64(0)) },
	},
	{
		name: "a dirty figure that is absent is unknown, not nought", gauge: v1alpha1.GaugeDirtyCache, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.Cache.DirtyBytes = nil },
	},
	{
		name: "a cache of no size cannot be divided by", gauge: v1alpha1.GaugeDirtyCache, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.Cache.MaxBytes = new(int64(0)) },
	},
	{name: "cache fill is a share of the cache", gauge: v1alpha1.GaugeCacheFill, want: is(50)},
	{
		name: "an absent cache section leaves the fill unknown", gauge: v1alpha1.GaugeCacheFill, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.Cache = serverstatus.Cache{} },
	},
	{name: "pinned history is in seconds", gauge: v1alpha1.GaugePinnedHistory, want: is(5)},
	{
		name: "pinned history that is not shown is unknown", gauge: v1alpha1.GaugePinnedHistory, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.History.PinnedSeconds = nil },
	},
	{name: "the scarcer tickets count", gauge: v1alpha1.GaugeTicketsAvailable, want: is(127)},
	{
		name: "no ticket left is nought", gauge: v1alpha1.GaugeTicketsAvailable, want: is(0),
		set: func(s *serverstatus.Status) { s.ReadTickets.Available = new(int64(0)) },
	},
	{
		name: "tickets of one kind alone say nothing", gauge: v1alpha1.GaugeTicketsAvailable, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.WriteTickets.Available = nil },
	},
	{name: "queued operations are counted", gauge: v1alpha1.GaugeQueuedOperations, want: is(2)},
	{
		name: "8.0 adds those that wait for tickets", gauge: v1alpha1.GaugeQueuedOperations, want: is(9),
		set: func(s *serverstatus.Status) {
			s.ReadTickets.Queued, s.WriteTickets.Queued = new(int64(3)), new(int64(4))
		},
	},
	{
		name: "a queue that is not shown is unknown", gauge: v1alpha1.GaugeQueuedOperations, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.Queue.Total = nil },
	},
	{name: "the last checkpoint is in seconds", gauge: v1alpha1.GaugeCheckpointDuration, want: is(1.5)},
	{
		name: "before the first checkpoint there is nothing to judge", gauge: v1alpha1.GaugeCheckpointDuration, want: Measurement{State: Exempt},
		set: func(s *serverstatus.Status) { s.Checkpoints.Count = new(int64(0)) },
	},
	{
		name: "a checkpoint that is not shown is unknown", gauge: v1alpha1.GaugeCheckpointDuration, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.Checkpoints = serverstatus.Checkpoints{} },
	},
	{
		name: "the interval of checkpoints that are not shown is unknown", gauge: v1alpha1.GaugeCheckpointInterval, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.Checkpoints = serverstatus.Checkpoints{} },
	},
	{name: "connections are a share of those possible", gauge: v1alpha1.GaugeConnectionsUsed, want: is(5)},
	{
		name: "connections that are not shown are unknown", gauge: v1alpha1.GaugeConnectionsUsed, want: isNot(NotShown),
		set: func(s *serverstatus.Status) { s.Connections.Available = nil },
	},
}

func TestGaugesOfOneLook(t *testing.T) {
	for _, test := range oneLookTests {
		t.Run(test.name, func(t *testing.T) {
			status := counters(minuteUp)
			if test.set != nil {
				test.set(status)
			}
			if diff := cmp.Diff(test.want, measureOne(t, test.gauge, member(status))); diff != "" {
				t.Errorf("measurement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingAnsweredIsUnknown(t *testing.T) {
	silent := member(nil, func(s *Subject) {
		s.Set.Members[0].Look, s.Member.Look = observed.Look{}, observed.Look{Error: "timed out"}
	})
	for _, measurement := range measureAll(silent) {
		if measurement.State != Unmeasured || measurement.Evidence == "" {
			t.Errorf("%s of a silent member: %+v", measurement.Gauge, measurement)
		}
	}
}

func evicted(pages int64) func(*serverstatus.Status) {
	return func(s *serverstatus.Status) { s.Cache.PagesEvictedByClients = &pages }
}

var rateTests = []struct {
	name   string
	gauge  v1alpha1.Gauge
	now    *serverstatus.Status
	change []func(*Subject)
	want   Measurement
}{
	{
		name: "growth is divided by the seconds of the server's clock", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(tenMore, evicted(1100)), change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: is(100),
	},
	{
		name: "no growth is nought", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(tenMore), change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: is(0),
	},
	{
		name: "one sample makes no rate", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(tenMore), want: isNot(FirstSample),
	},
	{
		name: "a sample less than half a period old makes none either", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(minuteUp + 4*time.Second), change: []func(*Subject){before(4*time.Second, counters(minuteUp))}, want: isNot(FirstSample),
	},
	{
		name: "a sample half a period old does", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(minuteUp+5*time.Second, evicted(600)), change: []func(*Subject){before(5*time.Second, counters(minuteUp))}, want: is(100),
	},
	{
		name: "the newest sample that is old enough is taken", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(tenMore, evicted(1100)),
		change: []func(*Subject){
			before(40*time.Second, counters(30*time.Second, evicted(0))), before(10*time.Second, counters(minuteUp)),
			before(2*time.Second, counters(68*time.Second, evicted(1000))),
		},
		want: is(100),
	},
	{
		name: "a younger process is a restart, not a negative rate", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(5*time.Second, evicted(3)), change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: isNot(Restarted),
	},
	{
		name: "another process id is a restart", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now:    counters(tenMore, func(s *serverstatus.Status) { s.Pid = new(int64(2)) }),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: isNot(Restarted),
	},
	{
		name: "an older process that started later is a restart too", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now:    counters(80*time.Second, evicted(1000)),
		change: []func(*Subject){before(100*time.Second, counters(minuteUp))}, want: isNot(Restarted),
	},
	{
		name: "a counter that fell without a restart is not taken for a rate", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now: counters(tenMore, evicted(99)), change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: isNot(Restarted),
	},
	{
		name: "a counter that is not shown is unknown", gauge: v1alpha1.GaugeApplicationThreadEvictions,
		now:    counters(tenMore, func(s *serverstatus.Status) { s.Cache.PagesEvictedByClients = nil }),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: isNot(NotShown),
	},
	{
		name: "time under flow control is a share of the time", gauge: v1alpha1.GaugeFlowControlLagged,
		now:    counters(tenMore, func(s *serverstatus.Status) { s.FlowControl.LaggedMicros = new(int64(2500000)) }),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: is(25),
	},
	{
		name: "flow control that acts at this moment acts all the time, since its time is counted when it ends", gauge: v1alpha1.GaugeFlowControlLagged,
		now:    counters(tenMore, func(s *serverstatus.Status) { s.FlowControl.IsLagged = new(true) }),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: is(100),
	},
	{
		name: "flow control that has just ended is a share of the time, of which there is no more than all", gauge: v1alpha1.GaugeFlowControlLagged,
		now: counters(tenMore, func(s *serverstatus.Status) {
			s.FlowControl.IsLagged, s.FlowControl.LaggedMicros = new(false), new(int64(60000000))
		}),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: is(100),
	},
	{
		name: "flow control that is off slows nobody", gauge: v1alpha1.GaugeFlowControlLagged,
		now:  counters(tenMore, func(s *serverstatus.Status) { s.FlowControl.IsEnabled = new(false) }),
		want: Measurement{State: Exempt},
	},
	{
		name: "flow control on a secondary means nothing", gauge: v1alpha1.GaugeFlowControlLagged, now: counters(tenMore),
		change: []func(*Subject){func(s *Subject) { s.Member.Look.State = observed.StateSecondary }}, want: Measurement{State: Exempt},
	},
	{
		name: "flow control that is not shown is unknown", gauge: v1alpha1.GaugeFlowControlLagged,
		now: counters(tenMore, func(s *serverstatus.Status) { s.FlowControl = serverstatus.FlowControl{} }), want: isNot(NotShown),
	},
	{
		name: "a mean is that of the operations in between", gauge: v1alpha1.GaugeReadLatency,
		now: counters(tenMore, func(s *serverstatus.Status) {
			s.Reads.Operations, s.Reads.TotalMicros = new(int64(14)), new(int64(20000))
		}),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: ofOperations(2.5, 4),
	},
	{
		name: "without operations there is no mean", gauge: v1alpha1.GaugeWriteLatency,
		now: counters(tenMore), change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: Measurement{State: Exempt},
	},
	{
		name: "commands have a mean of their own", gauge: v1alpha1.GaugeCommandLatency,
		now: counters(tenMore, func(s *serverstatus.Status) {
			s.Commands.Operations, s.Commands.TotalMicros = new(int64(6)), new(int64(1500))
		}),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: ofOperations(1, 1),
	},
	{
		name: "latencies that are not shown are unknown", gauge: v1alpha1.GaugeCommandLatency,
		now:    counters(tenMore, func(s *serverstatus.Status) { s.Commands = serverstatus.Latency{} }),
		change: []func(*Subject){before(10*time.Second, counters(minuteUp))}, want: isNot(NotShown),
	},
}

func TestRates(t *testing.T) {
	for _, test := range rateTests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, measureOne(t, test.gauge, member(test.now, test.change...))); diff != "" {
				t.Errorf("measurement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSlowOperations(t *testing.T) {
	histogram := func(buckets ...serverstatus.LatencyBucket) func(*serverstatus.Status) {
		return func(s *serverstatus.Status) { s.Reads.Histogram = buckets }
	}
	earlier := before(10*time.Second, counters(minuteUp, histogram(serverstatus.LatencyBucket{FromMicros: 131072, Count: 5})))
	tests := []struct {
		name string
		now  func(*serverstatus.Status)
		with func(*Subject)
		want Measurement
	}{
		{
			name: "buckets from the threshold on count, those below do not", want: is(3),
			now: histogram(serverstatus.LatencyBucket{FromMicros: 98304, Count: 100}, serverstatus.LatencyBucket{FromMicros: 131072, Count: 30},
				serverstatus.LatencyBucket{FromMicros: 262144, Count: 5}),
		},
		{
			name: "a bucket that begins at the threshold counts", want: is(9.5),
			now: histogram(serverstatus.LatencyBucket{FromMicros: 100000, Count: 100}),
		},
		{
			name: "the threshold in force decides", want: is(0),
			now:  histogram(serverstatus.LatencyBucket{FromMicros: 131072, Count: 100}),
			with: func(s *Subject) { s.Settings = catalog.Settings{catalog.SlowOperationThreshold: "200"} },
		},
		{
			name: "operations without a histogram are unknown", want: isNot(NotShown), now: histogram(),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			subject := member(counters(tenMore, test.now), earlier)
			if test.with != nil {
				test.with(&subject)
			}
			if diff := cmp.Diff(test.want, measureOne(t, v1alpha1.GaugeSlowOperations, subject)); diff != "" {
				t.Errorf("measurement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckpointInterval(t *testing.T) {
	seen := func(ago time.Duration, count int64) func(*Subject) {
		return before(ago, counters(10*time.Minute-ago, func(s *serverstatus.Status) { s.Checkpoints.Count = new(count) }))
	}
	now := counters(10*time.Minute, func(s *serverstatus.Status) { s.Checkpoints.Count = new(int64(6)) })
	tests := []struct {
		name   string
		change []func(*Subject)
		want   Measurement
	}{
		{name: "the first count says nothing about when", change: []func(*Subject){seen(60*time.Second, 5)}, want: Measurement{State: Exempt}},
		{
			name: "two movements make an interval", want: is(60),
			change: []func(*Subject){seen(90*time.Second, 4), seen(60*time.Second, 5), seen(30*time.Second, 5)},
		},
		{
			name: "several checkpoints between two looks are counted", want: is(20),
			change: []func(*Subject){seen(90*time.Second, 2), seen(60*time.Second, 3)},
		},
		{name: "an idle member makes none", change: []func(*Subject){seen(90*time.Second, 6), seen(60*time.Second, 6)}, want: Measurement{State: Exempt}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, measureOne(t, v1alpha1.GaugeCheckpointInterval, member(now, test.change...))); diff != "" {
				t.Errorf("measurement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	history := History{}
	for i := range 1000 {
		at := time.Duration(i) * time.Minute
		subject := member(counters(at, func(s *serverstatus.Status) { s.Checkpoints.Count = new(int64(i)) }))
		subject.Now, subject.History = noon.Add(at), history
		history = history.Add(subject)
	}
	if len(history.samples) > keptSamples || len(history.checkpoints) > keptCheckpoints {
		t.Errorf("%d samples and %d checkpoints are kept", len(history.samples), len(history.checkpoints))
	}
	if history.samples[0].Status.Document != nil {
		t.Error("the whole document is kept")
	}
}

// aMemberWith is a member with a memory limit of 1 GiB, a cache of half of it, and so many connections at
// most: each GiB is 1024 connections.
func aMemberWith(connections int64, change ...func(*Subject)) Subject {
	status := counters(minuteUp, func(s *serverstatus.Status) { s.Cache.MaxBytes = new(int64(512 << 20)) })
	return member(status, append([]func(*Subject){func(s *Subject) {
		s.Member.Pod.MemoryLimit, s.PeakConnections = 1<<30, connections
	}}, change...)...)
}

func TestMemoryBudget(t *testing.T) {
	noLimit := func(s *Subject) { s.Member.Pod.MemoryLimit = 0 }
	declared := func(s *Subject) { s.Settings = catalog.Settings{catalog.MaxIncomingConnections: "256"} }
	for _, test := range []struct {
		name    string
		subject Subject
		want    float64
		verdict Verdict
	}{
		{"half for the cache, a tenth in reserve", aMemberWith(0), 60, InRange},
		{"the connections that were seen", aMemberWith(256), 85, InRange},
		{"just below the limit", aMemberWith(409), 99.94, InRange},
		{"just above the limit", aMemberWith(410), 100.04, Pending},
		{"declared connections instead of those that were seen", aMemberWith(1000, declared), 85, InRange},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := measureOne(t, v1alpha1.GaugeMemoryBudget, test.subject)
			if got.State != Measured || math.Abs(got.Value-test.want) > 0.01 {
				t.Errorf("got %+v, wanted %g", got, test.want)
			}
			judged := JudgeGauges(nil, []Subject{test.subject}, nil, nil)
			budget, _ := judged.Members[0].Judgement(LimitMemoryBudget)
			if budget.Verdict != test.verdict || budget.Bound != 100 || budget.Enforcement != v1alpha1.EnforcementReport {
				t.Errorf("got %s (%s), wanted %s (Report)", budget.Verdict, budget.Enforcement, test.verdict)
			}
		})
	}
	t.Run("without a limit there is no budget", func(t *testing.T) {
		if got := measureOne(t, v1alpha1.GaugeMemoryBudget, aMemberWith(1, noLimit)); got.State != Exempt {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a cache that is not shown is unknown", func(t *testing.T) {
		subject := aMemberWith(1, func(s *Subject) { s.Member.Look.Status.Cache.MaxBytes = nil })
		if got := measureOne(t, v1alpha1.GaugeMemoryBudget, subject); got != isNot(NotShown) {
			t.Errorf("got %+v", got)
		}
	})
}
