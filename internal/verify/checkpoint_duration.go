// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// checkpointDuration is how long the last checkpoint took: the time in which the disk is busiest. Up to
// 7.0 the figure is in wiredTiger.transaction, on 8.0 in wiredTiger.checkpoint. One that is still under
// way is not in it.
var checkpointDuration = Gauge{
	Name: v1alpha1.GaugeCheckpointDuration, Unit: "s", noun: "Duration of the last checkpoint",
	Help:  "Seconds that the last checkpoint took.",
	above: v1alpha1.ReasonCheckpointTooLong,
	measure: func(s Subject) Measurement {
		const path = "wiredTiger . transaction . transaction checkpoint most recent time (msecs)"
		status, none, ok := s.status()
		switch {
		case !ok:
			return none
		case status.Checkpoints.RecentMillis == nil || status.Checkpoints.Count == nil:
			return s.notShown(path + " (8.0: wiredTiger . checkpoint)")
		case *status.Checkpoints.Count == 0:
			return exempt("there was no checkpoint since the process started")
		}
		return measured(float64(*status.Checkpoints.RecentMillis)/millisPerSecond, "serverStatus "+path)
	},
}
