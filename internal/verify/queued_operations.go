// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// queuedOperations is how many operations wait for the global lock, and, where the version tells (8.0),
// for a ticket. Every version shows the former.
var queuedOperations = Gauge{
	Name: v1alpha1.GaugeQueuedOperations, noun: "Queued operations",
	Help:  "Operations that wait for a lock or a ticket: globalLock.currentQueue.total, and queues.execution on 8.0.",
	above: v1alpha1.ReasonQueuedOperationsAboveLimit,
	measure: func(s Subject) Measurement {
		const path = "globalLock . currentQueue . total"
		status, none, ok := s.status()
		switch {
		case !ok:
			return none
		case status.Queue.Total == nil:
			return s.notShown(path)
		}
		total := *status.Queue.Total
		for _, waiting := range []*int64{status.ReadTickets.Queued, status.WriteTickets.Queued} {
			if waiting != nil {
				total += *waiting
			}
		}
		return measured(float64(total), "serverStatus "+path)
	},
}
