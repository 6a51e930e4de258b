// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// The names of the built-in limits.
const (
	LimitDirtyCache         = "dirty-cache"
	LimitCacheFill          = "cache-fill"
	LimitThreadEvictions    = "application-thread-evictions"
	LimitReplicationLag     = "replication-lag"
	LimitMajorityLag        = "majority-lag"
	LimitOplogWindow        = "oplog-window"
	LimitTickets            = "tickets"
	LimitConnections        = "connections"
	LimitMemoryBudget       = "memory-budget"
	LimitPinnedHistory      = "pinned-history"
	LimitCheckpointDuration = "checkpoint-duration"
)

const (
	// evictionsPerSecond lies between what good and bad eviction settings showed under a load that filled
	// a cache of 256 MB on two cores: 16 to 84 pages/s against 954 with the target above the trigger on
	// 6.0.27. On 4.2.6, whose clients evict far more and smaller pages, 1304 to 4568 against 31388.
	evictionsPerSecond   = 500
	evictionsPerSecond42 = 10000
	// evictionsFor lets a burst pass: client threads help for a moment whenever a bulk load begins.
	evictionsFor = 60 * time.Second
	// leastOplogWindow is the window below which MongoDB Atlas alerts by default (1 hour): a member that
	// is away for a repair has to copy all data anew.
	leastOplogWindow = 3600
	// leastTickets in sustained lack means that operations queue before the storage engine.
	leastTickets = 1
	// mostConnectionsUsed is the share above which MongoDB Atlas alerts by default (80 %): what is left
	// has to hold a reconnect of all applications at once.
	mostConnectionsUsed = 80
	// historySlack is the time that a transaction may be open and pin history by itself
	// (transactionLifetimeLimitSeconds, default 60).
	historySlack = 60
	// forWaves is for gauges that move slowly or in waves.
	forWaves = 60 * time.Second
)

// builtInLimits follow the tuning in force on the member, so that they move with a canary's new values.
func builtInLimits(s Subject) []Limit {
	var limits []Limit
	add := func(limit Limit) {
		if limit.Enforcement == "" {
			limit.Enforcement = v1alpha1.EnforcementEnforce
		}
		if limit.Scope == "" {
			limit.Scope = v1alpha1.ScopeAllMembers
		}
		if limit.For == 0 {
			limit.For = defaultFor
		}
		limits = append(limits, limit)
	}
	follow := func(limit Limit, knob string, more float64) {
		if value, ok := s.inForce(knob); ok {
			limit.Bound = value + more
			limit.Source = knob + " in force on the member"
			if more > 0 {
				limit.Source += fmt.Sprintf(" and %g more", more)
			}
			add(limit)
		}
	}
	follow(Limit{Name: LimitDirtyCache, Gauge: v1alpha1.GaugeDirtyCache}, catalog.EvictionDirtyTrigger, 0)
	follow(Limit{Name: LimitCacheFill, Gauge: v1alpha1.GaugeCacheFill}, catalog.EvictionTrigger, 0)
	add(s.evictionLimit())
	follow(Limit{Name: LimitReplicationLag, Gauge: v1alpha1.GaugeReplicationLag}, catalog.FlowControlTargetLag, 0)
	follow(Limit{Name: LimitMajorityLag, Gauge: v1alpha1.GaugeMajorityLag}, catalog.FlowControlTargetLag, 0)
	add(Limit{
		Name: LimitOplogWindow, Gauge: v1alpha1.GaugeOplogWindow, Bound: leastOplogWindow, IsMin: true,
		Source: "MongoDB Atlas alerts below one hour by default",
	})
	if s.Line.Major < dynamicTicketsSince {
		add(Limit{
			Name: LimitTickets, Gauge: v1alpha1.GaugeTicketsAvailable, Bound: leastTickets, IsMin: true,
			Source: "without a ticket an operation waits before the storage engine; not on 7.0 and newer, which adjust the number of tickets themselves",
		})
	}
	add(Limit{
		Name: LimitConnections, Gauge: v1alpha1.GaugeConnectionsUsed, Bound: mostConnectionsUsed, For: forWaves,
		Source: "MongoDB Atlas alerts above 80 % by default",
	})
	add(Limit{
		// A warning: what may be needed is not yet used, and returning a change frees no connection.
		Name: LimitMemoryBudget, Gauge: v1alpha1.GaugeMemoryBudget, Bound: percent, Enforcement: v1alpha1.EnforcementReport,
		Source: "the container is killed when more than its memory limit is used",
	})
	follow(Limit{Name: LimitPinnedHistory, Gauge: v1alpha1.GaugePinnedHistory, For: forWaves}, catalog.SnapshotHistoryWindow, historySlack)
	follow(Limit{Name: LimitCheckpointDuration, Gauge: v1alpha1.GaugeCheckpointDuration}, catalog.CheckpointWait, 0)
	return limits
}

// dynamicTicketsSince is the first major release that raises and lowers the number of tickets itself
// (MongoDB manual, storageEngineConcurrentReadTransactions).
const dynamicTicketsSince = 7

func (s Subject) evictionLimit() Limit {
	limit := Limit{
		Name: LimitThreadEvictions, Gauge: v1alpha1.GaugeApplicationThreadEvictions, Bound: evictionsPerSecond, For: evictionsFor,
		Source: "between good and bad eviction settings under full load, measured",
	}
	if s.Line == (catalog.Line{Major: 4, Minor: 2}) {
		limit.Bound = evictionsPerSecond42
	}
	return limit
}
