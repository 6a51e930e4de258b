// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// bound is one limit of the schema on one field: values on its edge that are accepted, and their
// neighbours that are refused.
type bound struct {
	kind  string
	path  string
	limit string // what is limited: number, length, items, properties, values or quantity

	accepted []any
	refused  []any
	says     string // part of the error of every refused value

	with fields // what the accepted values need beside them
}

// allBounds holds an entry for every limit that the schema sets on a field of spec.
func allBounds() []bound {
	return slices.Concat(
		clusterBounds(),
		rolloutBounds(),
		verificationBounds(),
		storageBounds("spec.shards.storage"),
		storageBounds("spec.configServers.storage"),
		resourceBounds("spec.shards.resources"),
		resourceBounds("spec.configServers.resources"),
		resourceBounds("spec.mongos.resources"),
		placementBounds("spec.shards.placement"),
		placementBounds("spec.configServers.placement"),
		placementBounds("spec.mongos.placement"),
		tuningBounds("MongoTuning", "spec.tuning", "spec.configServers.tuning", "spec.mongos.tuning"),
		tuningBounds("TuningProfile", "spec.tuning", "spec.configServerTuning", "spec.mongosTuning"),
		blockBounds("MongoTuning", "spec.tuning", "spec.configServers.tuning", "spec.mongos.tuning"),
		blockBounds("TuningProfile", "spec.tuning", "spec.configServerTuning", "spec.mongosTuning"),
		hostBounds(),
		[]bound{length("TuningProfile", "spec.description", 0, 1024)},
	)
}

func clusterBounds() []bound {
	version := length("MongoTuning", "spec.mongodb.version", 0, 12)
	version.accepted, version.refused = []any{"4.4.12345678"}, []any{"4.4.123456789"}
	return []bound{
		version,
		length("MongoTuning", "spec.mongodb.image", 1, 512),
		items("spec.mongodb.imagePullSecrets", 8, func(i int) any { return fields{"name": fmt.Sprint("secret", i)} }),
		itemLength("spec.mongodb.imagePullSecrets", "name", 1, 253, nil),
		number("MongoTuning", "spec.shards.count", 1, 64, 1),
		number("MongoTuning", "spec.shards.members", 1, 7, 1),
		number("MongoTuning", "spec.configServers.members", 1, 7, 1),
		number("MongoTuning", "spec.mongos.replicas", 1, 256, 1),
		length("MongoTuning", "spec.profileRef.name", 1, 63),
		values("MongoTuning", "spec.deletionPolicy", "Delete", "Orphan"),
		values("MongoTuning", "spec.dataRetention", "Retain", "Delete"),
		values("MongoTuning", "spec.driftPolicy", "Correct", "Report"),
	}
}

func storageBounds(storage string) []bound {
	return []bound{
		quantity(storage + ".size"),
		length("MongoTuning", storage+".className", 1, 253),
	}
}

func resourceBounds(resources string) []bound {
	return []bound{
		quantity(resources + ".requests.cpu"), quantity(resources + ".requests.memory"),
		quantity(resources + ".limits.cpu"), quantity(resources + ".limits.memory"),
	}
}

func placementBounds(placement string) []bound {
	tolerations := placement + ".tolerations"
	labels := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprint("label", i)] = "x"
		}
		return out
	}
	return []bound{
		values("MongoTuning", placement+".nodeSpread", "Preferred", "Required", "None"),
		values("MongoTuning", placement+".zoneSpread", "Preferred", "Required", "None"),
		{
			kind: "MongoTuning", path: placement + ".nodeSelector", limit: "properties",
			accepted: []any{labels(32)}, refused: []any{labels(33)}, says: "must have at most 32 items",
		},
		length("MongoTuning", placement+".priorityClassName", 1, 253),
		items(tolerations, 32, func(int) any { return fields{"operator": "Exists"} }),
		itemLength(tolerations, "key", 0, 316, nil),
		itemLength(tolerations, "value", 0, 63, fields{"key": "dedicated"}),
		itemValues(tolerations, "operator", fields{"key": "dedicated"}, "Equal", "Exists"),
		itemValues(tolerations, "effect", fields{"key": "dedicated"}, "NoSchedule", "PreferNoSchedule", "NoExecute"),
		inItems(tolerations, number("MongoTuning", "tolerationSeconds", 0, 604800, 1),
			fields{"key": "dedicated", "effect": "NoExecute"}),
	}
}

// tuningBounds are the bounds of the three tuning blocks, which are the same in a profile.
func tuningBounds(kind, members, configServers, mongos string) []bound {
	eviction := members + ".eviction"
	executor := func(path string) bound { return values(kind, path+".serviceExecutor", "synchronous", "adaptive") }
	threadsMin := number(kind, eviction+".threadsMin", 1, 20, 1)
	threadsMin.with = fields{eviction + ".threadsMax": 20}
	threadsMax := number(kind, eviction+".threadsMax", 1, 20, 1)
	threadsMax.with = fields{eviction + ".threadsMin": 1}
	bounds := []bound{
		number(kind, eviction+".targetPercent", 10, 99, 1),
		number(kind, eviction+".triggerPercent", 11, 100, 1),
		number(kind, eviction+".dirtyTargetPercent", 1, 99, 1),
		number(kind, eviction+".dirtyTriggerPercent", 2, 100, 1),
		threadsMin, threadsMax,
		executor(members), executor(configServers), executor(mongos),
	}
	for _, tuning := range []string{members, configServers} {
		share := number(kind, tuning+".cacheSizePercent", 5, 80, 1)
		if kind == "MongoTuning" {
			share.with = fields{"spec.shards.resources.limits.memory": "4Gi", "spec.configServers.resources.limits.memory": "4Gi"}
		}
		bounds = append(bounds, share, number(kind, tuning+".cacheSizeGB", 0.25, 10000, 0.01))
	}
	return bounds
}

// number is a field from least to greatest; step is the distance to a neighbour.
func number(kind, path string, least, greatest, step float64) bound {
	return bound{
		kind: kind, path: path, limit: "number",
		accepted: []any{least, greatest}, refused: []any{least - step, greatest + step}, says: "should be",
	}
}

// beside is a bound whose accepted values need other fields.
func beside(b bound, with fields) bound {
	b.with = with
	return b
}

func length(kind, path string, least, greatest int) bound {
	b := bound{
		kind: kind, path: path, limit: "length",
		accepted: []any{strings.Repeat("x", greatest)}, refused: []any{strings.Repeat("x", greatest+1)},
	}
	if least > 0 {
		b.accepted = append(b.accepted, strings.Repeat("x", least))
		b.refused = append(b.refused, strings.Repeat("x", least-1))
	}
	return b
}

func items(path string, greatest int, item func(int) any) bound {
	list := func(n int) (out []any) {
		for i := range n {
			out = append(out, item(i))
		}
		return out
	}
	return bound{
		kind: "MongoTuning", path: path, limit: "items",
		accepted: []any{list(greatest)}, refused: []any{list(greatest + 1)}, says: fmt.Sprintf("must have at most %d items", greatest),
	}
}

func values(kind, path string, allowed ...any) bound {
	return bound{kind: kind, path: path, limit: "values", accepted: allowed, refused: []any{"SomethingElse"}, says: "supported values"}
}

func quantity(path string) bound {
	return bound{
		kind: "MongoTuning", path: path, limit: "quantity",
		accepted: []any{"2Gi", 2 << 30, "2048Mi"}, refused: []any{"2 Gi", "lots"}, says: "should match",
	}
}

// inItems turns a bound on one field into the same bound on that field of the first item of a list.
func inItems(list string, b bound, beside fields) bound {
	wrap := func(values []any) (out []any) {
		for _, value := range values {
			out = append(out, []any{beside.with(fields{b.path: value})})
		}
		return out
	}
	return bound{
		kind: b.kind, path: list + "[0]." + b.path, limit: b.limit,
		accepted: wrap(b.accepted), refused: wrap(b.refused), says: b.says,
	}
}

func itemLength(list, name string, least, greatest int, beside fields) bound {
	return inItems(list, length("MongoTuning", name, least, greatest), beside)
}

func itemValues(list, name string, beside fields, allowed ...any) bound {
	return inItems(list, values("MongoTuning", name, allowed...), beside)
}

func TestBounds(t *testing.T) {
	for _, b := range allBounds() {
		set, _, _ := strings.Cut(b.path, "[0]")
		t.Run(b.kind+" "+b.path+" "+b.limit, func(t *testing.T) {
			for _, value := range b.accepted {
				for _, err := range answer(t, b.kind, change{after: b.with.with(fields{set: value})}) {
					t.Errorf("%v is refused: %v", value, err)
				}
			}
			for _, value := range b.refused {
				errs := answer(t, b.kind, change{after: b.with.with(fields{set: value})})
				if len(errs) == 0 {
					t.Fatalf("%v is accepted", value)
				}
				if errs[0].Field != b.path || !strings.Contains(errs[0].Detail, b.says) {
					t.Errorf("the first error for %v is %v, want one at %s saying %q", value, errs[0], b.path, b.says)
				}
			}
		})
	}
}

// TestEveryBoundHasExamples walks the spec of the CRDs, as TestEveryRuleHasExamples does for CEL rules.
func TestEveryBoundHasExamples(t *testing.T) {
	written := map[string]bool{}
	for _, b := range allBounds() {
		written[b.kind+" "+b.path+" "+b.limit] = true
	}
	for kind := range crdFiles {
		walk(definitionOf(t, kind).crd, func(path string, node *apiextensionsv1.JSONSchemaProps) {
			if !strings.HasPrefix(path, "spec") {
				return
			}
			for _, limit := range limitsOf(node) {
				id := kind + " " + path + " " + limit
				if !written[id] {
					t.Errorf("has no entry: %s", id)
				}
				delete(written, id)
			}
		})
	}
	for id := range written {
		t.Errorf("is not a bound of the CRD: %s", id)
	}
}

// limitsOf names what the schema limits of one field. Kubernetes' own int32 is no limit of ours.
func limitsOf(node *apiextensionsv1.JSONSchemaProps) (limits []string) {
	for limit, isSet := range map[string]bool{
		"number":     node.Minimum != nil || node.Maximum != nil,
		"length":     node.MinLength != nil || node.MaxLength != nil,
		"items":      node.MinItems != nil || node.MaxItems != nil,
		"properties": node.MinProperties != nil || node.MaxProperties != nil,
		"values":     node.Enum != nil,
		"quantity":   node.Pattern != "",
	} {
		if isSet {
			limits = append(limits, limit)
		}
	}
	return limits
}

// TestWholeNumbersOnly proves that the percentages and counts do not take fractions.
func TestWholeNumbersOnly(t *testing.T) {
	for _, b := range allBounds() {
		if b.limit != "number" || strings.HasSuffix(b.path, "cacheSizeGB") || strings.Contains(b.path, "[0]") {
			continue
		}
		middle := math.Floor((b.accepted[0].(float64)+b.accepted[1].(float64))/2) + 0.5
		if errs := answer(t, b.kind, change{after: b.with.with(fields{b.path: middle})}); len(errs) == 0 {
			t.Errorf("%s takes %v", b.path, middle)
		}
	}
}
