// SPDX-License-Identifier: Apache-2.0

package crd

import "strings"

func clusterRules() []rule {
	return []rule{
		nameRule(), versionFormatRule(), versionChangeRule(), shardCountRule(), canaryShardRule(),
		oddMembersRule("spec.shards.members"), oddMembersRule("spec.configServers.members"),
		fixedMembersRule("spec.shards.members"), fixedMembersRule("spec.configServers.members"),
	}
}

func canaryShardRule() rule {
	canary := func(shards, index int) fields {
		return fields{"spec.shards.count": shards, "spec.rollout": fields{"canary": fields{"shardIndex": index}}}
	}
	return rule{
		kind: "MongoTuning", path: "spec.rollout.canary.shardIndex",
		message: "must be less than shards.count: the shards are counted from 0",
		accepted: []change{
			{name: "the first shard is there in every cluster", after: canary(1, 0)},
			{name: "the last shard may go first", after: canary(3, 2)},
		},
		refused: []change{
			{name: "a shard beyond the last does not exist", after: canary(3, 3)},
		},
	}
}

func nameRule() rule {
	named := func(name string) fields { return fields{"metadata.name": name} }
	return rule{
		kind: "MongoTuning", path: wholeObject,
		message: "metadata.name must be a DNS label of at most 40 characters that starts with a letter, because the names of pods and Services are built from it",
		accepted: []change{
			{name: "40 characters fit into the names of pods", after: named(strings.Repeat("a", 40))},
			{name: "digits and dashes may follow the first letter", after: named("a-1")},
			{name: "one letter is a name", after: named("a")},
		},
		refused: []change{
			{name: "41 characters are too many", after: named(strings.Repeat("a", 41))},
			{name: "a Service name cannot start with a digit", after: named("1a")},
			{name: "a dot would make two labels", after: named("a.b")},
			{name: "a dash at the end is no DNS label", after: named("a-")},
		},
	}
}

func versionFormatRule() rule {
	version := func(version string) fields { return fields{"spec.mongodb.version": version} }
	return rule{
		kind: "MongoTuning", path: "spec.mongodb.version",
		message: "must be a full version of a supported line: 4.2.x, 4.4.x, 5.0.x, 6.0.x, 7.0.x or 8.0.x",
		accepted: []change{
			{name: "4.2 is supported", after: version("4.2.25")},
			{name: "4.4 is supported", after: version("4.4.29")},
			{name: "5.0 is supported", after: version("5.0.31")},
			{name: "6.0 is supported", after: version("6.0.27")},
			{name: "7.0 is supported", after: version("7.0.0")},
			{name: "8.0 is supported", after: version("8.0.10")},
		},
		refused: []change{
			{name: "a line without a patch number is not what a server reports", after: version("4.4")},
			{name: "4.0 is too old", after: version("4.0.28")},
			{name: "rapid releases are not supported", after: version("6.1.0")},
			{name: "an image tag is no version", after: version("6.0.27-ubi8")},
			{name: "a leading v is not what a server reports", after: version("v6.0.27")},
			{name: "nothing is no version", after: version("")},
			{
				name:   "a malformed version brings this one message in a change too, when it keeps the line",
				before: version("6.0.27"), after: version("6.0.x"),
			},
		},
	}
}

func versionChangeRule() rule {
	from := func(version string) fields { return fields{"spec.mongodb.version": version} }
	return rule{
		kind: "MongoTuning", path: "spec.mongodb.version",
		message: "must keep its major.minor: only the patch number may change, because upgrades between lines are not supported yet",
		accepted: []change{
			{name: "the patch number may rise", before: from("4.4.2"), after: from("4.4.29")},
			{name: "the patch number may fall", before: from("6.0.27"), after: from("6.0.9")},
		},
		refused: []change{
			{name: "the minor may not rise", before: from("4.2.25"), after: from("4.4.29")},
			{name: "the minor may not fall", before: from("4.4.29"), after: from("4.2.25")},
			{name: "the major may not rise", before: from("5.0.31"), after: from("6.0.27")},
		},
	}
}

func shardCountRule() rule {
	count := func(count int) fields { return fields{"spec.shards.count": count} }
	return rule{
		kind: "MongoTuning", path: "spec.shards.count",
		message: "must not be lowered: removing a shard has to drain its data first, which is not supported yet",
		accepted: []change{
			{name: "shards may be added", before: count(2), after: count(3)},
			{name: "the number may stay when something else changes", before: count(2), after: fields{"spec.suspend": true}},
		},
		refused: []change{
			{name: "a shard cannot be taken away", before: count(2), after: count(1)},
		},
	}
}

func oddMembersRule(path string) rule {
	return rule{
		kind: "MongoTuning", path: path,
		message: "must be odd (1, 3, 5 or 7): an even number of voting members tolerates no more failures and can lose its majority to a tie",
		accepted: []change{
			{name: "one member is allowed", after: fields{path: 1}},
			{name: "three members are allowed", after: fields{path: 3}},
			{name: "five members are allowed", after: fields{path: 5}},
			{name: "seven members are allowed", after: fields{path: 7}},
		},
		refused: []change{
			{name: "two members are refused", after: fields{path: 2}},
			{name: "six members are refused", after: fields{path: 6}},
		},
	}
}

func fixedMembersRule(path string) rule {
	return rule{
		kind: "MongoTuning", path: path,
		message: "must stay as it was made: adding or removing members is not supported yet",
		accepted: []change{
			{name: "the number may stay when something else changes", before: fields{}, after: fields{"spec.mongos.replicas": 4}},
		},
		refused: []change{
			{name: "members cannot be added", before: fields{path: 3}, after: fields{path: 5}},
			{name: "members cannot be removed", before: fields{path: 3}, after: fields{path: 1}},
		},
	}
}

func profileRules() []rule {
	return []rule{
		{
			kind: "TuningProfile", path: wholeObject, message: "metadata.name must be at most 63 characters",
			accepted: []change{
				{name: "63 characters fit into a profileRef", after: fields{"metadata.name": strings.Repeat("a", 63)}},
			},
			refused: []change{
				{name: "64 characters could not be referred to", after: fields{"metadata.name": strings.Repeat("a", 64)}},
			},
		},
		{
			kind: "TuningProfile", path: "spec",
			message: "must stay as it was made: make a profile with a new name and refer to that one",
			accepted: []change{
				{name: "labels may change", before: fields{}, after: fields{"metadata.labels": map[string]string{"team": "db"}}},
				{
					name:   "the same number written in another way is no change",
					before: fields{"spec.tuning.cacheSizeGB": 50}, after: fields{"spec.tuning.cacheSizeGB": 50.0},
				},
			},
			refused: []change{
				{
					name:   "a value cannot change",
					before: fields{"spec.tuning.cacheSizeGB": 50}, after: fields{"spec.tuning.cacheSizeGB": 51},
				},
				{name: "a value cannot be added", before: fields{}, after: fields{"spec.tuning.serviceExecutor": "adaptive"}},
				{
					name:   "a value cannot be taken away",
					before: fields{"spec.tuning.cacheSizeGB": 50}, after: fields{"spec.tuning.cacheSizeGB": nil},
				},
				{name: "the description cannot change", before: fields{}, after: fields{"spec.description": "other"}},
			},
		},
	}
}
