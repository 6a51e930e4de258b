// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/servers"
)

// gaugePeriod is the period of the looks in these tests; samples half of it apart make a rate.
const gaugePeriod = 2 * time.Second

// watched is a replica set of real servers that is looked at as the reconciler does.
type watched struct {
	t         *testing.T
	set       *servers.ReplicaSet
	databases *DriverDatabases
	as        secrets
	line      catalog.Line
	histories map[string]verify.History
}

func watch(t *testing.T, version string, args ...string) *watched {
	t.Helper()
	parsed, err := catalog.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{
		t: t, databases: &DriverDatabases{}, line: parsed.Line(), histories: map[string]verify.History{},
		set: servers.StartReplicaSet(t, servers.Options{Version: version, KeyFile: servers.KeyFile, Args: args}, 3),
		as:  secrets{cluster: "test", operator: login{username: operatorUser, password: "operator's password"}},
	}
	primary := w.set.Primary().Member()
	servers.Await(t, "the operator's user", func(ctx context.Context) error {
		return createUser(ctx, primary, mongodb.OperatorRole(), w.as.operator)
	})
	t.Cleanup(func() { w.databases.Forget(context.Background(), w.as.cluster, nil) })
	return w
}

// look asks every member and measures its gauges.
func (w *watched) look() map[string]verify.MemberGauges {
	w.t.Helper()
	found := map[string]verify.MemberGauges{}
	for _, member := range w.judge(nil, nil, nil).Members {
		found[member.Member] = member
	}
	return found
}

// judge asks every member and holds its gauges to limits, as JudgeGauges does.
func (w *watched) judge(spec *v1alpha1.VerificationSpec, breaches []v1alpha1.Breach, watches map[verify.WatchKey]verify.Watch) verify.ClusterGauges {
	w.t.Helper()
	seen := observed.ReplicaSet{Name: w.set.Name, Component: v1alpha1.ComponentShardMember}
	servers.Await(w.t, "a complete look", func(ctx context.Context) error {
		seen.Members = nil
		for _, server := range w.set.Servers {
			look := w.databases.Look(ctx, Server{PodUID: server.Address, Address: server.Address, Line: w.line, WantsOplog: true}, w.as)
			switch {
			case look.LockedOut:
				return errors.New("the operator's user has not come to " + server.Address)
			case look.Error != "" || look.OplogError != "":
				return errors.New(look.Error + look.OplogError)
			}
			seen.Members = append(seen.Members, observed.Member{Name: server.Address, Pod: observed.Pod{Exists: true, UID: server.Address}, Look: look})
		}
		return nil
	})
	var subjects []verify.Subject
	now := time.Now()
	for _, member := range seen.Members {
		subjects = append(subjects, verify.Subject{
			Now: now, Set: seen, Member: member, Host: member.Name, Line: w.line, Period: gaugePeriod, History: w.histories[member.Name],
		})
	}
	judged := verify.JudgeGauges(spec, subjects, breaches, watches)
	for _, subject := range subjects {
		w.histories[subject.Member.Name] = subject.History.Add(subject)
	}
	return judged
}

func (w *watched) pause() {
	w.t.Helper()
	select {
	case <-time.After(gaugePeriod):
	case <-w.t.Context().Done():
	}
}

func measurementOf(gauges verify.MemberGauges, name v1alpha1.Gauge) verify.Measurement {
	for _, measurement := range gauges.Measurements {
		if measurement.Gauge == name {
			return measurement
		}
	}
	return verify.Measurement{}
}

// Every gauge can be read on every version: with two samples nothing is unknown on any member. What a
// load moves is moved by one, and a process that was started anew is one.
func TestGaugesOnRealServers(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		w := watch(t, version)
		w.assertFirst(w.look())
		w.pause()
		w.assertIdle(w.look())
		w.assertLoad()
		w.assertRestart()
	})
}

func (w *watched) assertFirst(found map[string]verify.MemberGauges) {
	w.t.Helper()
	for member, gauges := range found {
		for _, measurement := range gauges.Measurements {
			if measurement.State == verify.Unmeasured && measurement.Why != verify.FirstSample {
				w.t.Errorf("%s of %s: %s: %s", measurement.Gauge, member, measurement.Why, measurement.Evidence)
			}
		}
		if rate := measurementOf(gauges, v1alpha1.GaugeApplicationThreadEvictions); rate.Why != verify.FirstSample {
			w.t.Errorf("a rate from one sample: %+v", rate)
		}
	}
}

func (w *watched) assertIdle(found map[string]verify.MemberGauges) {
	w.t.Helper()
	primary := w.set.Primary().Address
	for member, gauges := range found {
		for _, measurement := range gauges.Measurements {
			w.t.Logf("%s %s: %v %.3f %s", member, measurement.Gauge, measurement.State, measurement.Value, measurement.Evidence)
			if measurement.State == verify.Unmeasured {
				w.t.Errorf("%s of %s: %s: %s", measurement.Gauge, member, measurement.Why, measurement.Evidence)
			}
		}
		for _, judgement := range gauges.Judgements {
			if judgement.Verdict != verify.InRange {
				w.t.Errorf("limit %s on idle %s: %s, %s", judgement.Name, member, judgement.Verdict, judgement.Sentence())
			}
		}
		if slow := measurementOf(gauges, v1alpha1.GaugeSlowOperations); slow.Value > 1 {
			w.t.Errorf("an idle member has slow operations: %+v", slow)
		}
		onPrimary := member == primary
		for _, gauge := range []v1alpha1.Gauge{v1alpha1.GaugeMajorityLag, v1alpha1.GaugeFlowControlLagged} {
			if isMeasured := measurementOf(gauges, gauge).State == verify.Measured; isMeasured != onPrimary {
				w.t.Errorf("%s of %s is measured: %v, is the primary: %v", gauge, member, isMeasured, onPrimary)
			}
		}
	}
}

// assertLoad makes eviction start early, writes, and waits until the figures move.
func (w *watched) assertLoad() {
	w.t.Helper()
	primary := w.set.Primary()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	err := primary.Member().SetWiredTigerRuntimeConfig(ctx, "eviction_dirty_target=1,eviction_dirty_trigger=2,eviction=(threads_min=1,threads_max=1)")
	if err != nil {
		w.t.Fatal(err)
	}
	var dirty, evictions, writes verify.Measurement
	const looks = 15
	primary.WriteWhile(8, func() {
		for range looks {
			w.pause()
			gauges := w.look()[primary.Address]
			if now := measurementOf(gauges, v1alpha1.GaugeDirtyCache); now.Value > dirty.Value {
				dirty = now
			}
			if now := measurementOf(gauges, v1alpha1.GaugeApplicationThreadEvictions); now.Value > evictions.Value {
				evictions = now
			}
			writes = measurementOf(gauges, v1alpha1.GaugeWriteLatency)
			if dirty.Value > 1 && evictions.Value > 0 && writes.State == verify.Measured {
				return
			}
		}
	})
	w.t.Logf("under load: dirty %.2f %%, %.1f evictions/s, %.2f ms per write", dirty.Value, evictions.Value, writes.Value)
	if dirty.Value <= 1 || evictions.Value <= 0 || writes.Value <= 0 {
		w.t.Errorf("under load: dirty %+v, evictions %+v, writes %+v", dirty, evictions, writes)
	}
}

// assertRestart restarts a secondary between two looks.
func (w *watched) assertRestart() {
	w.t.Helper()
	w.look()
	restarted := w.set.Secondaries()[0]
	restarted.Stop()
	restarted.Start()
	w.set.AwaitWhole()
	rate := measurementOf(w.look()[restarted.Address], v1alpha1.GaugeApplicationThreadEvictions)
	if rate.State != verify.Unmeasured || rate.Why != verify.Restarted {
		w.t.Errorf("a rate across a restart: %+v", rate)
	}
	w.pause()
	rate = measurementOf(w.look()[restarted.Address], v1alpha1.GaugeApplicationThreadEvictions)
	if rate.State != verify.Measured {
		w.t.Errorf("the rate after a restart: %+v", rate)
	}
}
