// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// memoryBudget is what a member may come to need, as a share of its memory limit: the cache in force, 1 MiB
// for each connection, and a reserve. The connections are those that are declared, or else the most that
// were seen at once since the operator began to watch: that figure only grows, so that a storm which is
// over does not make the warning come and go. connections.totalCreated would count the same client each
// time it comes back, and call every short connection memory.
var memoryBudget = Gauge{
	Name: v1alpha1.GaugeMemoryBudget, Unit: "%", noun: "Memory that may be needed",
	Help:  "Share of the memory limit that cache, connections (1 MiB each; those declared, else the most seen at once) and a reserve of 10 % come to.",
	above: v1alpha1.ReasonMemoryBudgetAboveLimit,
	measure: func(s Subject) Measurement {
		status, none, ok := s.status()
		limit := s.Member.Pod.MemoryLimit
		if !ok {
			return none
		}
		if limit == 0 {
			return exempt("the member has no memory limit")
		}
		if status.Cache.MaxBytes == nil {
			return s.notShown("wiredTiger . cache . maximum bytes configured")
		}
		connections, source := s.PeakConnections, "most seen at once"
		if declared, ok := s.Settings[catalog.MaxIncomingConnections].AsInt(); ok {
			connections, source = declared, "declared"
		}
		needed := catalog.MemoryNeeded(*status.Cache.MaxBytes, connections, limit)
		return measured(percent*float64(needed)/float64(limit),
			fmt.Sprintf("cache of serverStatus, %d connections (%s) and a reserve, of the limit of %d MiB", connections, source, limit>>20))
	},
}
