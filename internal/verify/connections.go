// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// connectionsUsed is the share of the possible connections that is open. When none is left,
// applications, other members and the operator are turned away. Every version shows both figures.
var connectionsUsed = Gauge{
	Name: v1alpha1.GaugeConnectionsUsed, Unit: "%", noun: "Connections used",
	Help:  "Share of the possible connections that is open: connections.current of current and available.",
	above: v1alpha1.ReasonConnectionsAboveLimit,
	measure: func(s Subject) Measurement {
		const path = "connections . current / (current + available)"
		status, none, ok := s.status()
		if !ok {
			return none
		}
		current, available := status.Connections.Current, status.Connections.Available
		if current == nil || available == nil {
			return s.notShown(path)
		}
		possible := *current + *available
		return s.ratio(current, &possible, path)
	},
}
