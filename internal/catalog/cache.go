// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"math"
)

// MinCacheSizeGB is the smallest cache a server of every version takes: 6.0 refuses less.
const MinCacheSizeGB = 0.25

var cacheRows = []Knob{
	{
		Name: CacheSizeGB, MongoDBName: "storage.wiredTiger.engineConfig.cacheSizeGB",
		Components: allMongod, Versions: always,
		Kind: KindDecimal, Unit: "GB (2^30 bytes)", Min: MinCacheSizeGB, Max: 10000,
		ConfigKey: "storage.wiredTiger.engineConfig.cacheSizeGB", WiredTigerKey: "cache_size", Online: OnlineWiredTiger,
		read:    fromServerStatus("wiredTiger/cache/maximum bytes configured", gigabytes),
		same:    sameCacheSize,
		TooHigh: "more dirty data per checkpoint, less file system cache, and the container is killed when connections and sorts want memory too; 110-120 of 190 GB gave 5 s time-outs that 50 GB cured",
		TooLow:  "pages are read again and again, and client threads are drafted for eviction",
		Source:  "MongoDB manual, storage.wiredTiger; " + oppo + "; " + measured,
	},
	{
		Name: CacheSizePercent, MongoDBName: "storage.wiredTiger.engineConfig.cacheSizeGB",
		Components: allMongod, Versions: always,
		Kind: KindInteger, Unit: "percent of the memory limit", Min: 5, Max: 80,
		DerivedInto: CacheSizeGB, Online: OnlineWiredTiger,
		TooHigh: "as cacheSizeGB", TooLow: "as cacheSizeGB",
		Source: "the share of the memory limit in cacheSizeGB, cut to whole MiB and raised to 0.25 GB",
	},
}

// gigabytes turns a number of bytes into cacheSizeGB.
func gigabytes(raw any) (Value, bool) {
	value, ok := valueOf(raw)
	if !ok {
		return "", false
	}
	bytes, ok := value.AsFloat()
	return Decimal(bytes / gibibyte), ok
}

// CacheBytes is the cache that mongod makes of cacheSizeGB: it counts in whole MiB and drops the rest.
func CacheBytes(sizeGB float64) int64 {
	return int64(math.Floor(sizeGB*1024)) * int64(mebibyte)
}

func sameCacheSize(wanted, found Value) bool {
	wantedGB, ok := wanted.AsFloat()
	foundGB, okFound := found.AsFloat()
	return ok && okFound && CacheBytes(wantedGB) == int64(math.Round(foundGB*gibibyte))
}
