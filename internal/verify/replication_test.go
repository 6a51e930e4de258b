// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// secondary is the second member of a set whose primary sees it lag behind.
func secondary(lag time.Duration, change ...func(*Subject)) Subject {
	written := noon.Add(-time.Hour) // an idle set: the newest operation is old
	primary := observed.Member{Name: "rs-0", Look: observed.Look{State: observed.StatePrimary, Peers: map[string]observed.Peer{
		"rs-0:27017": {Healthy: true, State: observed.StatePrimary, OptimeDate: written},
		"rs-1:27017": {Healthy: true, State: observed.StateSecondary, OptimeDate: written.Add(-lag)},
	}}}
	subject := member(counters(minuteUp), func(s *Subject) {
		s.Host, s.Member.Name, s.Member.Look.State = "rs-1:27017", "rs-1", observed.StateSecondary
		s.Set.Members = []observed.Member{primary, s.Member}
	})
	for _, apply := range change {
		apply(&subject)
	}
	return subject
}

func primaryOf(s *Subject) *observed.Look { return &s.Set.Members[0].Look }

func peer(host string, change func(*observed.Peer)) func(*Subject) {
	return func(s *Subject) {
		seen := primaryOf(s).Peers[host]
		change(&seen)
		primaryOf(s).Peers[host] = seen
	}
}

// level gives a history in which the member was seen level with its primary some time ago.
func level(ago time.Duration) func(*Subject) {
	return func(s *Subject) {
		earlier := secondary(0)
		earlier.Now = s.Now.Add(-ago)
		s.History = History{}.Add(earlier)
	}
}

func TestReplicationLag(t *testing.T) {
	tests := []struct {
		name    string
		subject Subject
		want    Measurement
	}{
		{name: "an idle set has no lag, however old its newest operation", subject: secondary(0), want: is(0)},
		{name: "lag is the distance of the optimes", subject: secondary(7 * time.Second), want: is(7)},
		{name: "a member ahead by a heartbeat has no lag", subject: secondary(-2 * time.Second), want: is(0)},
		{
			name: "the first write after a pause is not a lag as long as the pause", want: is(10),
			subject: secondary(time.Hour, level(10*time.Second)),
		},
		{name: "a lag shorter than the time since it was level is the lag", subject: secondary(7*time.Second, level(10*time.Second)), want: is(7)},
		{
			name: "milliseconds are taken where the server tells them", want: is(1.25),
			subject: secondary(2*time.Second,
				peer("rs-0:27017", func(p *observed.Peer) { p.LastApplied = noon }),
				peer("rs-1:27017", func(p *observed.Peer) { p.LastApplied = noon.Add(-1250 * time.Millisecond) })),
		},
		{name: "without a primary nobody knows", subject: secondary(0, func(s *Subject) { primaryOf(s).State = observed.StateSecondary }), want: isNot(NoPrimary)},
		{name: "two that claim to lead are none", subject: secondary(0, func(s *Subject) { s.Set.Members[1].Look.State = observed.StatePrimary }), want: isNot(NoPrimary)},
		{
			name: "a member whose heartbeats do not come through is unknown", want: isNot(NotKnownToPrimary),
			subject: secondary(0, peer("rs-1:27017", func(p *observed.Peer) { p.Healthy = false })),
		},
		{
			name: "a member without an operation is unknown", want: isNot(NotKnownToPrimary),
			subject: secondary(0, peer("rs-1:27017", func(p *observed.Peer) { p.OptimeDate = time.Time{} })),
		},
		{
			name: "a member in initial sync is unknown", want: isNot(NotKnownToPrimary),
			subject: secondary(0, func(s *Subject) { s.Member.Look.State = observed.StateOther }),
		},
		{name: "the primary is level with itself", subject: member(counters(minuteUp)), want: is(0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, measureOne(t, v1alpha1.GaugeReplicationLag, test.subject)); diff != "" {
				t.Errorf("measurement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMajorityLag(t *testing.T) {
	optimes := func(applied, committed time.Time) func(*Subject) {
		return func(s *Subject) {
			primaryOf(s).Optimes = observed.Optimes{LastApplied: applied, LastCommitted: committed}
		}
	}
	tests := []struct {
		name    string
		subject Subject
		want    Measurement
	}{
		{name: "the primary tells how far the majority is behind", subject: member(counters(minuteUp), optimes(noon, noon.Add(-1500*time.Millisecond))), want: is(1.5)},
		{name: "a committed time ahead is no lag", subject: member(counters(minuteUp), optimes(noon, noon.Add(time.Second))), want: is(0)},
		{name: "secondaries only repeat it", subject: secondary(0), want: Measurement{State: Exempt}},
		{name: "a server that does not tell is unknown", subject: member(counters(minuteUp)), want: isNot(NotShown)},
		{name: "without a primary nobody knows", subject: secondary(0, func(s *Subject) { primaryOf(s).State = observed.StateOther }), want: isNot(NoPrimary)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, measureOne(t, v1alpha1.GaugeMajorityLag, test.subject)); diff != "" {
				t.Errorf("measurement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOplogWindow(t *testing.T) {
	first, last := noon.Add(-time.Hour), noon
	read := func(first time.Time) func(*Subject) {
		return func(s *Subject) { s.Member.Look.Oplog = &observed.Oplog{First: first, Last: last} }
	}
	earlier := func(first time.Time) func(*Subject) {
		return func(s *Subject) {
			then := member(nil, read(first))
			then.Now = s.Now.Add(-3 * time.Minute)
			s.History = s.History.Add(then)
		}
	}
	growing := Measurement{State: Exempt, Value: 3600, HasValue: true}
	tests := []struct {
		name    string
		subject Subject
		want    Measurement
	}{
		{name: "an oplog that is not full at its first reading grows", subject: member(nil, read(first)), want: growing},
		{name: "unless it is full, and drops what is oldest", subject: member(nil, func(s *Subject) {
			s.Member.Look.Oplog = &observed.Oplog{First: first, Last: last, IsFull: true}
		}), want: is(3600)},
		{name: "or retains for hours what it would drop", subject: member(nil, func(s *Subject) {
			s.Member.Look.Oplog = &observed.Oplog{First: first, Last: last, IsFull: true}
			s.Member.Look.Process.ServerStatus = map[string]any{"oplogTruncation": map[string]any{"oplogMinRetentionHours": float64(24)}}
		}), want: growing},
		{name: "an oplog that drops nothing grows", subject: member(nil, earlier(first), read(first)), want: growing},
		{name: "an oplog that drops has a window", subject: member(nil, earlier(first.Add(-time.Minute)), read(first)), want: is(3600)},
		{
			name: "the reading before stays good between two", want: is(3600),
			subject: member(nil, earlier(first.Add(-time.Minute)), earlier(first)),
		},
		{name: "an oplog that could not be read is unknown", subject: member(nil, func(s *Subject) { s.Member.Look.OplogError = "no" }), want: isNot(Unanswered)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, measureOne(t, v1alpha1.GaugeOplogWindow, test.subject)); diff != "" {
				t.Errorf("measurement (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("it is read every two minutes", func(t *testing.T) {
		history := History{}.Add(member(nil, read(first)))
		for after, want := range map[time.Duration]bool{oplogPeriod - time.Second: false, oplogPeriod: true, oplogPeriod + time.Second: true} {
			if history.WantsOplog(noon.Add(after)) != want {
				t.Errorf("asked again after %s: %v", after, !want)
			}
		}
		if !(History{}).WantsOplog(noon) {
			t.Error("never read, and not asked")
		}
	})
}
