// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package controllers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/load"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// incidentLimits are the built-in limits that the incident breaks, tight enough for a test: the built-in ones allow
// ten seconds of lag for thirty, and 65 s of history for sixty.
func incidentLimits() *v1alpha1.VerificationSpec {
	limit := func(name string, gauge v1alpha1.Gauge, bound int64) v1alpha1.Limit {
		return v1alpha1.Limit{Name: name, Gauge: gauge, Max: new(bound), ForSeconds: new(int32(4))}
	}
	return &v1alpha1.VerificationSpec{Limits: []v1alpha1.Limit{
		limit(verify.LimitReplicationLag, v1alpha1.GaugeReplicationLag, 5),
		limit(verify.LimitMajorityLag, v1alpha1.GaugeMajorityLag, 5),
		limit(verify.LimitPinnedHistory, v1alpha1.GaugePinnedHistory, historyBound),
	}}
}

// historyBound is over the 5 s of history that these servers keep at any time.
const historyBound = 9

// TestSlowSecondaries repeats the incident of the million-TPS report: both secondaries of a shard stop applying,
// alive as they are. With majority read concern the primary has to keep history for them, and is slowed down on
// purpose; without it neither happens, and nothing protects the oplog.
func TestSlowSecondaries(t *testing.T) {
	kept := map[bool]float64{}
	for _, row := range []struct {
		name         string
		args         []string
		pinned, slow bool
	}{
		{name: "with majority read concern history is pinned and writes are slowed down", pinned: true, slow: true},
		{name: "without it neither is", args: []string{"--enableMajorityReadConcern=false"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := watch(t, "4.2.6", append(row.args, "--setParameter", "flowControlTargetLagSeconds=2")...)
			writes := w.openLoad()
			before := w.loadFor(writes, 8*time.Second, func() {})
			var incident incident
			during := w.loadFor(writes, 30*time.Second, func() {
				secondaries := w.set.Secondaries()
				secondaries[0].LockWhile(func() { secondaries[1].LockWhile(func() { incident = w.watchIncident(row.pinned) }) })
			})
			t.Logf("%.0f writes/s before and %.0f with both secondaries locked; lag up to %.0f s, history up to %.0f s, slowed down %.0f %% of the time",
				before.Total.PerSecond, during.Total.PerSecond, incident.lag, incident.history, incident.lagged)
			kept[row.slow] = during.Total.PerSecond / before.Total.PerSecond
			if before.Total.Failed+during.Total.Failed > 0 {
				t.Errorf("writes of w:1 failed: %v, %v", before.Errors, during.Errors)
			}
			w.expectIncident(incident, row.pinned, row.slow)
			ledger, err := writes.Check(t.Context())
			if err != nil || ledger.Err() != nil {
				t.Errorf("%s, %v", ledger, err)
			}
		})
	}
	t.Logf("kept of the writes: %.0f %% with majority read concern, %.0f %% without", 100*kept[true], 100*kept[false])
	if kept[false] <= kept[true] {
		t.Error("writes did not hold better without majority read concern")
	}
}

// openLoad prepares single updates with w:1, which wait for nobody but the primary.
func (w *watched) openLoad() *load.Load {
	w.t.Helper()
	mix, err := load.ParseMix("update")
	if err != nil {
		w.t.Fatal(err)
	}
	identity := w.set.Servers[0].Credentials()
	uri := "mongodb://" + identity.Username + "@" + w.set.Primary().Address + "/?directConnection=true&authMechanism=SCRAM-SHA-256&authSource=" + identity.Source
	opened, err := load.Open(w.t.Context(), load.Options{
		Targets: []load.Target{{URI: uri, Password: identity.Password}}, Mix: mix, WriteConcern: "1", Timeout: time.Minute, Now: time.Now,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = opened.Leave(context.Background()) })
	if err := opened.Prepare(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return opened
}

// loadFor loads for some time, or until meanwhile has returned if that takes longer.
func (w *watched) loadFor(writes *load.Load, least time.Duration, meanwhile func()) load.Result {
	w.t.Helper()
	ctx, end := context.WithCancel(w.t.Context())
	defer end()
	results := make(chan load.Result, 1)
	failed := make(chan error, 1)
	go func() {
		result, err := writes.Run(ctx, load.Stage{Threads: 4, Duration: 10 * time.Minute, Operations: 100_000_000})
		results <- result
		failed <- err
	}()
	elapsed := time.After(least)
	meanwhile()
	<-elapsed
	end()
	result := <-results
	if err := <-failed; err != nil {
		w.t.Fatal(err)
	}
	return result
}

// incident is the worst that was seen, and every breach.
type incident struct {
	lag, history, lagged float64
	breaches             map[string]verify.Judgement
}

// watchIncident looks until every breach that is expected is there, and as long as it takes without one.
func (w *watched) watchIncident(pinned bool) incident {
	w.t.Helper()
	seen := incident{breaches: map[string]verify.Judgement{}}
	var breaches []v1alpha1.Breach
	var watches map[verify.WatchKey]verify.Watch
	const least, most = 10, 60
	for look := range most {
		w.pause()
		judged := w.judge(incidentLimits(), breaches, watches)
		breaches, watches = judged.Breaches(), judged.Watches
		for _, member := range judged.Members {
			seen.lag = max(seen.lag, measurementOf(member, v1alpha1.GaugeReplicationLag).Value)
			seen.history = max(seen.history, measurementOf(member, v1alpha1.GaugePinnedHistory).Value)
			seen.lagged = max(seen.lagged, measurementOf(member, v1alpha1.GaugeFlowControlLagged).Value)
			for _, judgement := range member.Judgements {
				if judgement.Verdict == verify.Breached {
					seen.breaches[judgement.Name] = judgement
				}
			}
		}
		_, lags := seen.breaches[verify.LimitReplicationLag]
		_, pins := seen.breaches[verify.LimitPinnedHistory]
		if look >= least && lags && (pins || !pinned) {
			return seen
		}
	}
	return seen
}

func (w *watched) expectIncident(found incident, pinned, slow bool) {
	w.t.Helper()
	w.t.Logf("breaches: %v", slices.Sorted(maps.Keys(found.breaches)))
	lag, lags := found.breaches[verify.LimitReplicationLag]
	if !lags || lag.Reason() != v1alpha1.ReasonReplicationLagAboveLimit || !strings.Contains(lag.Sentence(), "Replication lag of "+lag.Member) {
		w.t.Errorf("no breach tells of the lag: %+v", lag)
	}
	history, pins := found.breaches[verify.LimitPinnedHistory]
	if pins != pinned {
		w.t.Errorf("history is pinned: %v, wanted %v; it was up to %.0f s", pins, pinned, found.history)
	}
	if pinned && (history.Reason() != v1alpha1.ReasonPinnedHistoryAboveLimit || !strings.Contains(history.Sentence(), "Pinned history of "+history.Member)) {
		w.t.Errorf("the breach does not name what is pinned: %+v", history)
	}
	if (found.lagged > 0) != slow {
		w.t.Errorf("flow control slowed writes down %.0f %% of the time", found.lagged)
	}
}
