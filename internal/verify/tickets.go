// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// ticketsAvailable is the lesser of the tickets left for reads and for writes: without one an operation
// waits before it reaches the storage engine. Up to 7.0 they are in wiredTiger.concurrentTransactions, from 8.0 on
// in queues.execution. From 7.0 on the server itself raises and lowers their number.
var ticketsAvailable = Gauge{
	Name: v1alpha1.GaugeTicketsAvailable, noun: "Tickets left",
	Help:  "Lesser of the read and the write tickets that are left.",
	below: v1alpha1.ReasonTicketsBelowLimit,
	measure: func(s Subject) Measurement {
		const path = "wiredTiger . concurrentTransactions . available"
		status, none, ok := s.status()
		if !ok {
			return none
		}
		read, write := status.ReadTickets.Available, status.WriteTickets.Available
		if read == nil || write == nil {
			return s.notShown(path + " (8.0: queues . execution)")
		}
		return measured(float64(min(*read, *write)), "serverStatus "+path)
	},
}
