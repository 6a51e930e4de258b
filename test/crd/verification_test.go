// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"

	"github.com/mongotuning/mongotuning/internal/verify"
)

const limits = "spec.verification.limits"

func verificationBounds() []bound {
	named := fields{"name": "x", "gauge": "DirtyCachePercent"}
	whole := named.with(fields{"max": 1})
	var gauges []any
	for _, gauge := range verify.Gauges() {
		gauges = append(gauges, string(gauge.Name))
	}
	return []bound{
		number("MongoTuning", "spec.verification.periodSeconds", 5, 300, 1),
		items(limits, 64, func(i int) any { return whole.with(fields{"name": fmt.Sprint("limit-", i)}) }),
		itemLength(limits, "name", 0, 63, whole),
		itemValues(limits, "gauge", whole, gauges...),
		inItems(limits, number("MongoTuning", "max", 0, 1000000000, 1), named),
		inItems(limits, number("MongoTuning", "min", 0, 1000000000, 1), named),
		inItems(limits, number("MongoTuning", "forSeconds", 0, 86400, 1), whole),
		itemValues(limits, "scope", whole, "ShardMembers", "Primaries", "Secondaries", "ConfigServers", "AllMembers"),
		itemValues(limits, "enforcement", whole, "Enforce", "Report", "Off"),
	}
}

func verificationRules() []rule {
	limit := func(change fields) fields {
		return fields{limits: []any{fields{"name": "dirty-cache", "gauge": "DirtyCachePercent"}.with(change)}}
	}
	named := func(name string) fields { return limit(fields{"name": name, "max": 1}) }
	return []rule{
		{
			kind: "MongoTuning", path: limits + "[0]", message: "exactly one of max and min must be set: two bounds are two limits",
			accepted: []change{
				{name: "a limit may have a greatest value", after: limit(fields{"max": 20})},
				{name: "a limit may have a least value", after: limit(fields{"min": 1})},
				{name: "nought is a value", after: limit(fields{"max": 0})},
			},
			refused: []change{
				{name: "both are two limits", after: limit(fields{"max": 20, "min": 1})},
				{name: "without either nothing is limited", after: limit(fields{})},
			},
		},
		{
			kind: "MongoTuning", path: limits + "[0].name",
			message: "must be lower case letters, digits and dashes, with a letter or digit at both ends",
			accepted: []change{
				{name: "one letter is a name", after: named("a")},
				{name: "dashes may join words", after: named("p99-of-reads")},
			},
			refused: []change{
				{name: "nothing is no name", after: named("")},
				{name: "capital letters are refused", after: named("Dirty")},
				{name: "a dash at the end is refused", after: named("a-")},
				{name: "a space is refused", after: named("a b")},
			},
		},
	}
}
