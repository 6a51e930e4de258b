// SPDX-License-Identifier: Apache-2.0

package verify

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// applicationThreadEvictions is the harm that the eviction settings are to prevent: pages that client
// threads had to evict instead of answering. A counter also shows what happened between two looks. Every
// version shows it at the same place.
var applicationThreadEvictions = Gauge{
	Name: v1alpha1.GaugeApplicationThreadEvictions, Unit: "pages/s", noun: "Eviction by client threads",
	Help:  "Pages per second that client threads had to evict: growth of pages evicted by application threads.",
	above: v1alpha1.ReasonApplicationThreadsEvicting,
	measure: func(s Subject) Measurement {
		return s.rate(func(status serverstatus.Status) *int64 { return status.Cache.PagesEvictedByClients },
			"wiredTiger . cache . pages evicted by application threads")
	},
}
