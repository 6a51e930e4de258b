// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
)

func storageRules(storage string) []rule {
	size, class := storage+".size", storage+".className"
	return []rule{
		{
			kind: "MongoTuning", path: size,
			message: "must be at least 1Gi: the journal and the oplog of an empty member do not fit into less",
			accepted: []change{
				{name: "1Gi is enough", after: fields{size: "1Gi"}},
				{name: "a number of bytes is understood", after: fields{size: 1 << 30}},
			},
			refused: []change{
				{name: "one mebibyte less than 1Gi is refused", after: fields{size: "1023Mi"}},
				{name: "a number without a unit is bytes", after: fields{size: 10}},
				{name: "zero is refused", after: fields{size: "0"}},
			},
		},
		{
			kind: "MongoTuning", path: size,
			message: "must stay as it was made: resizing volumes is not supported yet",
			accepted: []change{
				{
					name:   "the same size written in another way is no change",
					before: fields{size: "10Gi"}, after: fields{size: "10240Mi"},
				},
			},
			refused: []change{
				{name: "a volume cannot grow", before: fields{size: "10Gi"}, after: fields{size: "20Gi"}},
				{name: "a volume cannot shrink", before: fields{size: "10Gi"}, after: fields{size: "5Gi"}},
			},
		},
		{
			kind: "MongoTuning", path: class,
			message: "must stay as it was made, set or unset: moving data to another class is not supported yet",
			accepted: []change{
				{name: "a class that was named may stay", before: fields{class: "fast"}, after: fields{"spec.suspend": true}},
				{name: "the default class may stay", before: fields{}, after: fields{"spec.suspend": true}},
			},
			refused: []change{
				{name: "another class is refused", before: fields{class: "fast"}, after: fields{class: "slow"}},
				{name: "naming a class later is refused", before: fields{}, after: fields{class: "fast"}},
				{name: "taking the name away is refused", before: fields{class: "fast"}, after: fields{class: nil}},
			},
		},
	}
}

func resourceRules(resources string) []rule {
	var rules []rule
	for _, amounts := range []string{resources + ".requests", resources + ".limits"} {
		cpu, memory := amounts+".cpu", amounts+".memory"
		rules = append(rules,
			rule{
				kind: "MongoTuning", path: cpu, message: "must be more than zero",
				accepted: []change{
					{name: "a millicore is taken", after: fields{cpu: "1m"}},
					{name: "a plain number is cores", after: fields{cpu: 2}},
				},
				refused: []change{
					{name: "zero is refused", after: fields{cpu: "0"}},
					{name: "less than zero is refused", after: fields{cpu: "-1"}},
				},
			},
			rule{
				kind: "MongoTuning", path: memory,
				message: "must be at least 256Mi: less does not hold the smallest cache mongod takes",
				accepted: []change{
					{name: "256Mi is taken", after: fields{memory: "256Mi"}},
					{name: "a number of bytes is understood", after: fields{memory: 256 << 20}},
				},
				refused: []change{
					{name: "255Mi is refused", after: fields{memory: "255Mi"}},
					{name: "a forgotten unit is refused", after: fields{memory: "4"}},
				},
			})
	}
	return append(rules,
		withinLimitRule(resources, "cpu", "500m", "1", "1001m"),
		withinLimitRule(resources, "memory", "512Mi", "1Gi", "1025Mi"))
}

// withinLimitRule is the rule that a request is at most the limit of the same resource.
func withinLimitRule(resources, name, less, limit, more string) rule {
	request, atMost := resources+".requests."+name, resources+".limits."+name
	return rule{
		kind: "MongoTuning", path: request,
		message: "must be at most limits." + name + ": Kubernetes refuses the pods otherwise",
		accepted: []change{
			{name: "a request below the limit is taken", after: fields{request: less, atMost: limit}},
			{name: "a request as high as the limit is taken", after: fields{request: limit, atMost: limit}},
			{name: "a request without a limit is taken", after: fields{request: more}},
		},
		refused: []change{
			{name: "a request above the limit is refused", after: fields{request: more, atMost: limit}},
		},
	}
}

func placementRules(placement string) []rule {
	selector := placement + ".nodeSelector"
	rules := []rule{{
		kind: "MongoTuning", path: selector,
		message: "must hold labels: keys of at most 317 characters, values of at most 63",
		accepted: []change{
			{name: "a label is taken", after: fields{selector: map[string]string{"kubernetes.io/arch": "amd64"}}},
			{
				name:  "the longest label is taken",
				after: fields{selector: map[string]string{strings.Repeat("k", 317): strings.Repeat("v", 63)}},
			},
		},
		refused: []change{
			{name: "a key of 318 characters is refused", after: fields{selector: map[string]string{strings.Repeat("k", 318): "v"}}},
			{name: "a value of 64 characters is refused", after: fields{selector: map[string]string{"key": strings.Repeat("v", 64)}}},
		},
	}}
	return append(rules, tolerationRules(placement+".tolerations")...)
}

func tolerationRules(tolerations string) []rule {
	tolerate := func(toleration fields) fields { return fields{tolerations: []fields{toleration}} }
	return []rule{
		{
			kind: "MongoTuning", path: tolerations + "[0].key", message: "must be set unless operator is Exists",
			accepted: []change{
				{name: "operator Exists without a key tolerates every taint", after: tolerate(fields{"operator": "Exists"})},
				{name: "a key and a value are compared", after: tolerate(fields{"key": "dedicated", "value": "mongodb"})},
			},
			refused: []change{
				{name: "a value alone compares with nothing", after: tolerate(fields{"value": "mongodb"})},
				{name: "operator Equal needs a key", after: tolerate(fields{"operator": "Equal", "value": "mongodb"})},
			},
		},
		{
			kind: "MongoTuning", path: tolerations + "[0].value", message: "must be left out when operator is Exists",
			accepted: []change{
				{name: "operator Exists asks for the key only", after: tolerate(fields{"key": "dedicated", "operator": "Exists"})},
			},
			refused: []change{
				{
					name:  "operator Exists does not compare values",
					after: tolerate(fields{"key": "dedicated", "operator": "Exists", "value": "mongodb"}),
				},
			},
		},
		{
			kind: "MongoTuning", path: tolerations + "[0].tolerationSeconds", message: "must be left out unless effect is NoExecute",
			accepted: []change{
				{
					name:  "a pod may outlive a NoExecute taint for a while",
					after: tolerate(fields{"key": "dedicated", "effect": "NoExecute", "tolerationSeconds": 60}),
				},
			},
			refused: []change{
				{
					name:  "a NoSchedule taint evicts nobody",
					after: tolerate(fields{"key": "dedicated", "effect": "NoSchedule", "tolerationSeconds": 60}),
				},
				{
					name:  "an effect has to be named",
					after: tolerate(fields{"key": "dedicated", "tolerationSeconds": 60}),
				},
			},
		},
	}
}
