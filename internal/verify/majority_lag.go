// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// majorityLag is how far the majority is behind: the newest operation of the primary against the newest
// that a majority has. Writes with majority, the default from 5.0 on, take at least as long. It is read
// on the primary, in milliseconds, from 4.2 on; other members repeat what they heard of it.
var majorityLag = Gauge{
	Name: v1alpha1.GaugeMajorityLag, Unit: "s", noun: "Majority lag",
	Help:  "Seconds by which the majority is behind the primary: optimes.lastAppliedWallTime less lastCommittedWallTime of replSetGetStatus on the primary.",
	above: v1alpha1.ReasonMajorityLagAboveLimit,
	measure: func(s Subject) Measurement {
		primary := s.Set.Primary()
		switch {
		case primary == nil:
			return unmeasured(NoPrimary, "replica set "+s.Set.Name+" has no primary to ask")
		case primary.Name != s.Member.Name:
			return exempt("the primary tells it")
		}
		optimes := primary.Look.Optimes
		if optimes.LastApplied.IsZero() || optimes.LastCommitted.IsZero() {
			return unmeasured(NotShown, "replSetGetStatus does not show optimes.lastCommittedWallTime")
		}
		return measured(max(0, optimes.LastApplied.Sub(optimes.LastCommitted).Seconds()), "replSetGetStatus on the primary")
	},
}
