// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// pinnedHistory is the age of the oldest version of data that the storage engine has to keep: it grows
// while secondaries lag and while long transactions are open, and fills the cache. WiredTiger shows a
// range of timestamps, whose upper half is seconds; 3.6 and newer have it.
var pinnedHistory = Gauge{
	Name: v1alpha1.GaugePinnedHistory, Unit: "s", noun: "Pinned history",
	Help:  "Age in seconds of the oldest version of data that has to be kept: transaction range of timestamps currently pinned.",
	above: v1alpha1.ReasonPinnedHistoryAboveLimit,
	measure: func(s Subject) Measurement {
		const path = "wiredTiger . transaction . transaction range of timestamps currently pinned"
		status, none, ok := s.status()
		switch {
		case !ok:
			return none
		case status.History.PinnedSeconds == nil:
			return s.notShown(path)
		}
		return measured(float64(*status.History.PinnedSeconds), "serverStatus "+path)
	},
}
