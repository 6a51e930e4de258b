// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// cacheFill is how full the cache is. At eviction_trigger client threads are drafted for eviction. Every
// version shows both figures at the same place.
var cacheFill = Gauge{
	Name: v1alpha1.GaugeCacheFill, Unit: "%", noun: "Cache fill",
	Help:  "Share of the WiredTiger cache that is in use: bytes currently in the cache of maximum bytes configured.",
	above: v1alpha1.ReasonCacheFillAboveLimit,
	measure: func(s Subject) Measurement {
		status, none, ok := s.status()
		if !ok {
			return none
		}
		return s.ratio(status.Cache.UsedBytes, status.Cache.MaxBytes, "wiredTiger . cache . bytes currently in the cache / maximum bytes configured")
	},
}
