// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// checkpointInterval is the real time from one checkpoint to the next, from the moments at which their
// counter was seen to move: the server's own word cannot be trusted, since setParameter syncdelay is
// accepted, reported and does nothing (measured on 4.2.6 to 6.0.27). A member on which nothing is
// written skips checkpoints, so no movement says nothing. The figure is as fine as the period of the
// looks.
var checkpointInterval = Gauge{
	Name: v1alpha1.GaugeCheckpointInterval, Unit: "s", noun: "Time between checkpoints",
	Help:  "Seconds from one checkpoint to the next, by the growth of their counter over several looks.",
	above: v1alpha1.ReasonCheckpointIntervalOutOfRange,
	below: v1alpha1.ReasonCheckpointIntervalOutOfRange,
	measure: func(s Subject) Measurement {
		const path = "wiredTiger . transaction . transaction checkpoints"
		status, none, ok := s.status()
		switch {
		case !ok:
			return none
		case status.Checkpoints.Count == nil:
			return s.notShown(path + " (8.0: wiredTiger . checkpoint)")
		}
		// The first mark is when the counter was first read, not when it moved.
		marks := s.History.Add(s).checkpoints
		const toCompare = 3
		if len(marks) < toCompare {
			return exempt("fewer than two checkpoints were seen so far; a member on which nothing is written makes none")
		}
		oldest, newest := marks[1], marks[len(marks)-1]
		return measured(newest.at.Sub(oldest.at).Seconds()/float64(newest.count-oldest.count), "serverStatus "+path+", growth")
	},
}
