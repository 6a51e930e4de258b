// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// replicationLag is how far a member is behind in the primary's view. The wall clock is never part of
// it: an idle primary writes once in 10 s only (periodicNoopIntervalSecs), and until the next heartbeat,
// 2 s at most, the first write after a pause makes everybody look as late as the pause was long. So the
// lag is never taken to be longer than the time since the member was last seen level with its primary.
// Heartbeats may show a member ahead; that is no lag.
var replicationLag = Gauge{
	Name: v1alpha1.GaugeReplicationLag, Unit: "s", noun: "Replication lag",
	Help:    "Seconds by which a member is behind its primary, in the primary's view: optimes of replSetGetStatus on the primary.",
	above:   v1alpha1.ReasonReplicationLagAboveLimit,
	measure: measureReplicationLag,
}

func measureReplicationLag(s Subject) Measurement {
	const evidence = "replSetGetStatus on the primary"
	primary := s.Set.Primary()
	if primary == nil {
		return unmeasured(NoPrimary, "replica set "+s.Set.Name+" has no primary to ask")
	}
	if primary.Name == s.Member.Name {
		return measured(0, "it is the primary")
	}
	if s.Member.Look.State == observed.StateOther {
		return unmeasured(NotKnownToPrimary, "it is neither primary nor secondary")
	}
	lag, known := s.Set.Lag(s.Host)
	if !known {
		return unmeasured(NotKnownToPrimary, fmt.Sprintf("primary %s does not hear from it", primary.Name))
	}
	if level := s.History.caughtUp; !level.IsZero() {
		lag = min(lag, max(0, s.Now.Sub(level)))
	}
	return measured(lag.Seconds(), evidence)
}
