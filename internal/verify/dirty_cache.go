// SPDX-License-Identifier: Apache-2.0

package verify

import v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"

// dirtyCache is the dirty ratio: tracked dirty bytes of maximum bytes configured. At
// eviction_dirty_trigger client threads are drafted for eviction, and a checkpoint has to write it all.
// Every version shows both figures at the same place (measured on 4.2.6, 4.4.2, 5.0.4 and 6.0.27); 4.2.6
// sends them as doubles, which decoding takes.
var dirtyCache = Gauge{
	Name: v1alpha1.GaugeDirtyCache, Unit: "%", noun: "Dirty cache",
	Help:  "Share of the WiredTiger cache that is not on disk yet: tracked dirty bytes of maximum bytes configured.",
	above: v1alpha1.ReasonDirtyCacheAboveLimit,
	measure: func(s Subject) Measurement {
		status, none, ok := s.status()
		if !ok {
			return none
		}
		return s.ratio(status.Cache.DirtyBytes, status.Cache.MaxBytes, "wiredTiger . cache . tracked dirty bytes in the cache / maximum bytes configured")
	},
}
