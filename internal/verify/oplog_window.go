// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// oplogWindow is the time between the oldest and the newest entry of the oplog: a member that is away
// for longer has to copy all data anew. It costs commands, so it is read every two minutes. An oplog that
// is not full and has not dropped anything since the reading before has a window that grows, and no limit
// is held against it.
var oplogWindow = Gauge{
	Name: v1alpha1.GaugeOplogWindow, Unit: "s", noun: "Oplog window",
	Help:  "Seconds between the oldest and the newest entry of the oplog, read every two minutes.",
	below: v1alpha1.ReasonOplogWindowBelowLimit,
	measure: func(s Subject) Measurement {
		const evidence = "first and last entry of local.oplog.rs"
		history := s.History.Add(s)
		if history.oplogReadings == 0 {
			return unmeasured(Unanswered, evidence+" could not be read: "+s.oplogError())
		}
		reading := measured(max(0, history.oplog.Last.Sub(history.oplog.First).Seconds()), evidence)
		if !history.oplogDrops {
			reading.State, reading.Evidence = Exempt, evidence+"; the oplog is not full and has dropped nothing since it was read before, so the window grows"
		}
		return reading
	},
}

// OplogWindow is how far the member's oplog reaches back, 0 while that is not known. One that nothing was
// dropped from is as long as the member's life, and never a reason to wait.
func (m MemberGauges) OplogWindow() time.Duration {
	switch measurement := m.measurement(v1alpha1.GaugeOplogWindow); measurement.State {
	case Exempt:
		return endless
	case Measured:
		return max(time.Second, time.Duration(measurement.Value*float64(time.Second)))
	case Unmeasured:
		return 0
	default:
		return 0
	}
}

// endless is longer than any restart takes.
const endless = 365 * 24 * time.Hour

func (s Subject) oplogError() string {
	if said := s.Member.Look.OplogError; said != "" {
		return said
	}
	return s.silence()
}
