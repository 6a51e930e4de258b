// SPDX-License-Identifier: Apache-2.0

package crd

// cacheShareRules are the rules that hold the cache to the memory limit of the same component.
func cacheShareRules(tuning, resources, component string) []rule {
	gigabytes, percent := tuning+".cacheSizeGB", tuning+".cacheSizePercent"
	limit := resources + ".limits.memory"
	return []rule{
		{
			kind: "MongoTuning", path: gigabytes,
			message: "must be at most 80 % of " + component + ".resources.limits.memory: connections, sorts and the file system cache need the rest",
			accepted: []change{
				{name: "80 % is taken", after: fields{gigabytes: 0.8, limit: "1Gi"}},
				{name: "80 % is taken where binary fractions do not come out even", after: fields{gigabytes: 5.6, limit: "7Gi"}},
				{name: "a whole number is taken", after: fields{gigabytes: 50, limit: "64Gi"}},
				{name: "a limit in bytes is understood", after: fields{gigabytes: 0.8, limit: 1 << 30}},
				{name: "without a memory limit there is nothing to compare with", after: fields{gigabytes: 50}},
			},
			refused: []change{
				{name: "a hundredth more than 80 % is refused", after: fields{gigabytes: 0.81, limit: "1Gi"}},
				{name: "the whole limit is refused", after: fields{gigabytes: 64, limit: "64Gi"}},
				{name: "GB means 2^30 bytes: 80 % of 10G is less than 8", after: fields{gigabytes: 8, limit: "10G"}},
				{
					name:   "lowering the limit under a cache that stays is refused",
					before: fields{gigabytes: 8, limit: "16Gi"}, after: fields{limit: "8Gi"},
				},
			},
		},
		{
			kind: "MongoTuning", path: percent,
			message: "must be set only together with " + component + ".resources.limits.memory: the cache is a share of that limit",
			accepted: []change{
				{name: "a share of a limit is taken", after: fields{percent: 50, limit: "4Gi"}},
			},
			refused: []change{
				{name: "a share of nothing is refused", after: fields{percent: 50}},
				{name: "a request is no limit", after: fields{percent: 50, resources + ".requests.memory": "4Gi"}},
			},
		},
	}
}

// cacheOnceRules is the rule that one object declares a cache size once.
func cacheOnceRules(kind, tuning string) []rule {
	gigabytes, percent := tuning+".cacheSizeGB", tuning+".cacheSizePercent"
	limits := fields{}
	if kind == "MongoTuning" {
		limits = fields{"spec.shards.resources.limits.memory": "4Gi", "spec.configServers.resources.limits.memory": "4Gi"}
	}
	return []rule{{
		kind: kind, path: percent,
		message: "must not be set together with cacheSizeGB: declare the cache size once",
		accepted: []change{
			{name: "a size is taken", after: limits.with(fields{gigabytes: 1})},
			{name: "a share is taken", after: limits.with(fields{percent: 50})},
		},
		refused: []change{
			{name: "a size and a share are refused", after: limits.with(fields{gigabytes: 1, percent: 50})},
		},
	}}
}

func evictionRules(kind, eviction string) []rule {
	target, trigger := eviction+".targetPercent", eviction+".triggerPercent"
	dirtyTarget, dirtyTrigger := eviction+".dirtyTargetPercent", eviction+".dirtyTriggerPercent"
	return append([]rule{
		belowRule(kind, target, trigger, "must be less than triggerPercent: mongod does not start otherwise"),
		belowRule(kind, dirtyTarget, dirtyTrigger,
			"must be less than dirtyTriggerPercent: background eviction would start after the clients were drafted"),
		atMostRule(kind, dirtyTrigger, trigger, "must be at most triggerPercent: WiredTiger cuts it to that without saying so"),
		atMostRule(kind, dirtyTarget, target, "must be at most targetPercent: WiredTiger cuts it to that without saying so"),
	}, threadRules(kind, eviction)...)
}

func belowRule(kind, low, high, message string) rule {
	return rule{
		kind: kind, path: low, message: message,
		accepted: []change{
			{name: "one percent below is taken", after: fields{low: 49, high: 50}},
			{name: "the lower one alone overrides a profile", after: fields{low: 49}},
			{name: "the higher one alone overrides a profile", after: fields{high: 50}},
		},
		refused: []change{
			{name: "the same value is refused", after: fields{low: 50, high: 50}},
			{name: "more is refused", after: fields{low: 51, high: 50}},
		},
	}
}

func atMostRule(kind, low, high, message string) rule {
	return rule{
		kind: kind, path: low, message: message,
		accepted: []change{
			{name: "the same value is taken", after: fields{low: 50, high: 50}},
			{name: "the lower one alone overrides a profile", after: fields{low: 50}},
			{name: "the higher one alone overrides a profile", after: fields{high: 50}},
		},
		refused: []change{
			{name: "one percent more is refused", after: fields{low: 51, high: 50}},
		},
	}
}

func threadRules(kind, eviction string) []rule {
	least, most := eviction+".threadsMin", eviction+".threadsMax"
	return []rule{
		{
			kind: kind, path: least, message: "must be set together with threadsMax: one alone stops mongod from starting",
			accepted: []change{
				{name: "both are taken", after: fields{least: 14, most: 18}},
				{name: "neither is taken", after: fields{eviction + ".targetPercent": 75}},
			},
			refused: []change{
				{name: "the least number alone is refused", after: fields{least: 4}},
				{name: "the greatest number alone is refused", after: fields{most: 4}},
			},
		},
		{
			kind: kind, path: least, message: "must be at most threadsMax",
			accepted: []change{
				{name: "a fixed number of threads is taken", after: fields{least: 4, most: 4}},
			},
			refused: []change{
				{name: "a least number above the greatest is refused", after: fields{least: 5, most: 4}},
			},
		},
	}
}
