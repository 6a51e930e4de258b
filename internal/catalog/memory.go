// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
)

const (
	// maxCacheShare is the largest share of the memory limit a cache may take; the rest is needed by
	// connections (about 1 MiB each), sorts, index builds and the file system cache.
	maxCacheShare = 0.8

	// roomyCachePercent is the share of the memory limit above which a cache is taken and warned of.
	roomyCachePercent = 60

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

// DefaultCacheGB is the cache that mongod's own formula makes of a memory limit in bytes: half of what is
// left after 1 GB, in whole MiB, and no less than every server takes.
func DefaultCacheGB(memoryLimit int64) float64 {
	wanted := 0.5 * (float64(memoryLimit)/gibibyte - 1)
	return float64(CacheBytes(max(wanted, MinCacheSizeGB))) / gibibyte
}

// isDefaultCache tells that a cache is the one that mongod would make of the memory limit by itself.
func (l ContainerLimits) isDefaultCache(sizeGB float64) bool {
	return l.MemoryBytes != 0 && CacheBytes(sizeGB) == CacheBytes(DefaultCacheGB(l.MemoryBytes))
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

// largeCache warns of a cache that leaves little of the memory limit to anything else.
func largeCache(_ Line, settings Settings, limits ContainerLimits) (Problem, bool) {
	sizeGB, declared := settings[CacheSizeGB].AsFloat()
	most := float64(limits.MemoryBytes) * roomyCachePercent / 100
	if !declared || limits.MemoryBytes == 0 || float64(CacheBytes(sizeGB)) <= most {
		return Problem{}, false
	}
	return Problem{
		Knob: CacheSizeGB, Value: settings[CacheSizeGB],
		Allowed: fmt.Sprintf("GB is more than %d %% of the memory limit, which is %.2f GB: connections, sorts and the file system cache have to share the rest; declare a smaller cache or raise the memory limit",
			roomyCachePercent, most/gibibyte),
	}, true
}

// memoryBudget warns when cache, declared connections and a reserve do not fit the memory limit.
func memoryBudget(_ Line, settings Settings, limits ContainerLimits) (Problem, bool) {
	sizeGB, okCache := settings[CacheSizeGB].AsFloat()
	connections, okConnections := settings[MaxIncomingConnections].AsInt()
	if !okCache || !okConnections || limits.MemoryBytes == 0 {
		return Problem{}, false
	}
	limit, needed := float64(limits.MemoryBytes), float64(MemoryNeeded(CacheBytes(sizeGB), connections, limits.MemoryBytes))
	if needed <= limit {
		return Problem{}, false
	}
	return Problem{
		Knob: MaxIncomingConnections, Value: settings[MaxIncomingConnections],
		Allowed: fmt.Sprintf("connections of up to 1 MiB, the cache of %s GB and a reserve of 10 %% make %.2f GB, the memory limit is %.2f GB: the container may be killed when all of them are used",
			settings[CacheSizeGB], needed/gibibyte, limit/gibibyte),
	}, true
}
