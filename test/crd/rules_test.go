// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// wholeObject is what an API server prints as the path of an error about the whole object.
const wholeObject = "<nil>"

// rule is one CEL rule of a CRD as a user meets it: where the error points, what it says, and examples
// on both sides.
type rule struct {
	kind    string
	path    string
	message string

	accepted []change
	refused  []change
}

// change is one request. Without before it creates the base object with the fields of after; with it,
// the base object with the fields of before is changed by the fields of after.
type change struct {
	name   string
	before fields
	after  fields
}

// allRules holds an entry for every CEL rule of every CRD; TestEveryRuleHasExamples checks that.
func allRules() []rule {
	return slices.Concat(
		clusterRules(),
		rolloutRules(),
		verificationRules(),
		profileRules(),
		storageRules("spec.shards.storage"),
		storageRules("spec.configServers.storage"),
		resourceRules("spec.shards.resources"),
		resourceRules("spec.configServers.resources"),
		resourceRules("spec.mongos.resources"),
		placementRules("spec.shards.placement"),
		placementRules("spec.configServers.placement"),
		placementRules("spec.mongos.placement"),
		cacheShareRules("spec.tuning", "spec.shards.resources", "shards"),
		cacheShareRules("spec.configServers.tuning", "spec.configServers.resources", "configServers"),
		cacheOnceRules("MongoTuning", "spec.tuning"),
		cacheOnceRules("MongoTuning", "spec.configServers.tuning"),
		cacheOnceRules("TuningProfile", "spec.tuning"),
		cacheOnceRules("TuningProfile", "spec.configServerTuning"),
		evictionRules("MongoTuning", "spec.tuning.eviction"),
		evictionRules("TuningProfile", "spec.tuning.eviction"),
		hostRules(),
		blockRules("MongoTuning", "spec.tuning", "spec.mongos.tuning"),
		blockRules("TuningProfile", "spec.tuning", "spec.mongosTuning"),
	)
}

func TestRules(t *testing.T) {
	for _, r := range allRules() {
		t.Run(fmt.Sprintf("%s %s %s", r.kind, r.path, r.message), func(t *testing.T) {
			for _, c := range r.accepted {
				t.Run(c.name, func(t *testing.T) {
					wantErrors(t, r.kind, c, nil)
				})
			}
			for _, c := range r.refused {
				t.Run(c.name, func(t *testing.T) {
					wantErrors(t, r.kind, c, []string{r.path + ": " + r.message})
				})
			}
		})
	}
}

// wantErrors sends the change and compares every error of the answer, so that one mistake of a user
// brings one message and not a heap of them.
func wantErrors(t *testing.T, kind string, c change, want []string) {
	t.Helper()
	var got []string
	for _, err := range answer(t, kind, c) {
		got = append(got, err.Field+": "+err.Detail)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func answer(t *testing.T, kind string, c change) field.ErrorList {
	t.Helper()
	d := definitionOf(t, kind)
	after := object(t, kind, c.before.with(c.after))
	if unknown := d.unknownFields(after); len(unknown) > 0 {
		t.Fatalf("the example has fields the API does not: %v", unknown)
	}
	if c.before == nil {
		return d.create(t, after)
	}
	before := object(t, kind, c.before)
	if errs := d.create(t, before); len(errs) > 0 {
		t.Fatalf("the object before the change is refused already: %v", errs)
	}
	return d.update(t, before, after)
}

// TestEveryRuleHasExamples walks the CRDs: a rule without an accepted and a refused example is not
// known to work, and an entry without a rule promises something that is no longer there.
func TestEveryRuleHasExamples(t *testing.T) {
	written := map[string]bool{}
	for _, r := range allRules() {
		id := r.kind + " " + r.path + ": " + r.message
		if written[id] {
			t.Errorf("two entries for %s", id)
		}
		written[id] = true
		if len(r.accepted) == 0 || len(r.refused) == 0 {
			t.Errorf("needs an accepted and a refused example: %s", id)
		}
	}
	for kind := range crdFiles {
		walk(definitionOf(t, kind).crd, func(path string, node *apiextensionsv1.JSONSchemaProps) {
			for _, validation := range node.XValidations {
				id := kind + " " + errorPath(path, validation.FieldPath) + ": " + validation.Message
				if !written[id] {
					t.Errorf("has no entry: %s", id)
				}
				delete(written, id)
			}
		})
	}
	for id := range written {
		t.Errorf("is not a rule of the CRD: %s", id)
	}
}

func errorPath(path, fieldPath string) string {
	if path == "" && fieldPath == "" {
		return wholeObject
	}
	return path + fieldPath
}

// walk visits every node of the schema, parents before children; the path of the first item of a list
// ends in [0].
func walk(crd *apiextensionsv1.CustomResourceDefinition, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	var descend func(string, *apiextensionsv1.JSONSchemaProps)
	descend = func(path string, node *apiextensionsv1.JSONSchemaProps) {
		visit(path, node)
		for name, child := range node.Properties {
			next := path + "." + name
			if path == "" {
				next = name
			}
			descend(next, &child)
		}
		if node.Items != nil {
			descend(path+"[0]", node.Items.Schema)
		}
		if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
			descend(path+"[*]", node.AdditionalProperties.Schema)
		}
	}
	descend("", crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
}
