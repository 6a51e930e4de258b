// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

const (
	// maxCacheShare is the largest share of the memory limit a cache may take; the rest is needed by
	// connections (about 1 MiB each), sorts, index builds and the file system cache.
	maxCacheShare = 0.8

	// memoryReserve is the share of the memory limit that is left for everything but cache and
	// connections before a budget is called tight.
	memoryReserve = 0.1

	// connectionBytes is what one connection may take: a thread with a stack of 1 MiB.
	connectionBytes = mebibyte
)

// LargestCacheGB is the largest cache that a memory limit in bytes may hold, cut to whole MiB.
func LargestCacheGB(memoryLimit int64) float64 {
	return float64(CacheBytes(maxCacheShare*float64(memoryLimit)/gibibyte)) / gibibyte
}

// MemoryNeeded is what a member may come to need, in bytes: its cache, its connections, and the reserve
// that its memory limit leaves for the rest.
func MemoryNeeded(cacheBytes, connections, memoryLimit int64) int64 {
	return cacheBytes + connections*int64(connectionBytes) + int64(memoryReserve*float64(memoryLimit))
}

func checkCache(settings Settings, memoryLimit int64) (Problem, bool) {
	value, declared := settings[CacheSizeGB]
	sizeGB, ok := value.AsFloat()
	if !declared || !ok || memoryLimit == 0 {
		return Problem{}, false
	}
	most := maxCacheShare * float64(memoryLimit) / gibibyte
	if sizeGB <= most {
		return Problem{}, false
	}
	return Problem{
		Knob: CacheSizeGB, Value: value,
		Allowed: fmt.Sprintf("GB must be at most 80 %% of the memory limit, which is %.2f GB: connections, sorts and the file system cache need the rest", most),
	}, true
}

// Warnings are what to know about settings that can be declared: values without effect, and budgets that
// may not hold. The cache size must be resolved already.
func Warnings(component v1alpha1.Component, line Line, settings Settings, memoryLimit int64) []Problem {
	var warnings []Problem
	for _, knob := range KnobsOn(component, line) {
		value, declared := settings[knob.Name]
		if declared && knob.Note != "" && value != knob.Inert {
			warnings = append(warnings, Problem{Knob: knob.Name, Value: value, Allowed: "is declared: " + knob.Note})
		}
	}
	if warning, tight := memoryBudget(settings, memoryLimit); tight {
		warnings = append(warnings, warning)
	}
	return warnings
}

// memoryBudget warns when cache, declared connections and a reserve do not fit the memory limit.
func memoryBudget(settings Settings, memoryLimit int64) (Problem, bool) {
	sizeGB, okCache := settings[CacheSizeGB].AsFloat()
	connections, okConnections := settings[MaxIncomingConnections].AsInt()
	if !okCache || !okConnections || memoryLimit == 0 {
		return Problem{}, false
	}
	limit, needed := float64(memoryLimit), float64(MemoryNeeded(CacheBytes(sizeGB), connections, memoryLimit))
	if needed <= limit {
		return Problem{}, false
	}
	return Problem{
		Knob: MaxIncomingConnections, Value: settings[MaxIncomingConnections],
		Allowed: fmt.Sprintf("connections of up to 1 MiB, the cache of %s GB and a reserve of 10 %% make %.2f GB, the memory limit is %.2f GB: the container may be killed when all of them are used",
			settings[CacheSizeGB], needed/gibibyte, limit/gibibyte),
	}, true
}
