// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// tuningBlocks are the places where knobs are declared.
var tuningBlocks = []struct {
	kind, path string
	component  v1alpha1.Component
}{
	{"MongoTuning", "spec.tuning", v1alpha1.ComponentShardMember},
	{"MongoTuning", "spec.configServers.tuning", v1alpha1.ComponentConfigServer},
	{"MongoTuning", "spec.mongos.tuning", v1alpha1.ComponentMongos},
	{"TuningProfile", "spec.tuning", v1alpha1.ComponentShardMember},
	{"TuningProfile", "spec.configServerTuning", v1alpha1.ComponentConfigServer},
	{"TuningProfile", "spec.mongosTuning", v1alpha1.ComponentMongos},
}

// setParametersField is the one field whose items are rows of their own.
const setParametersField = "setParameters"

// TestFieldsAreTheRowsOfTheCatalogue proves that every knob has a field and every field a knob, and that
// the field promises what the row does: bounds, values, default, versions, and whether members restart.
func TestFieldsAreTheRowsOfTheCatalogue(t *testing.T) {
	for _, block := range tuningBlocks {
		t.Run(block.kind+" "+block.path, func(t *testing.T) {
			nodes := leaves(t, block.kind, block.path)
			for _, row := range catalog.Knobs(block.component) {
				if row.Fixed || strings.HasPrefix(row.Name, setParametersField+".") {
					continue
				}
				node, there := nodes[row.Name]
				if !there {
					t.Errorf("%s has no field", row.Name)
					continue
				}
				delete(nodes, row.Name)
				compareField(t, block.component, row, node)
			}
			delete(nodes, setParametersField)
			for name := range nodes {
				t.Errorf("field %s has no row", name)
			}
		})
	}
}

// leaves are the fields below a block, by their path below it.
func leaves(t *testing.T, kind, block string) map[string]*apiextensionsv1.JSONSchemaProps {
	t.Helper()
	found := map[string]*apiextensionsv1.JSONSchemaProps{}
	walk(definitionOf(t, kind).crd, func(path string, node *apiextensionsv1.JSONSchemaProps) {
		name, below := strings.CutPrefix(path, block+".")
		if below && len(node.Properties) == 0 && !strings.Contains(name, "[0]") {
			found[name] = node
		}
	})
	return found
}

func compareField(t *testing.T, component v1alpha1.Component, row catalog.Knob, node *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	switch row.Kind {
	case catalog.KindInteger, catalog.KindDecimal:
		if node.Minimum == nil || node.Maximum == nil || *node.Minimum != row.Min || *node.Maximum != row.Max {
			t.Errorf("%s: the field is bounded by %v and %v, the row by %v and %v", row.Name, deref(node.Minimum), deref(node.Maximum), row.Min, row.Max)
		}
	case catalog.KindEnum:
		compareValues(t, row, node.Enum)
	case catalog.KindList:
		compareValues(t, row, node.Items.Schema.Enum)
	case catalog.KindBoolean:
		if node.Type != "boolean" {
			t.Errorf("%s: the field is a %s, the row a truth value", row.Name, node.Type)
		}
	case catalog.KindText:
	}
	text := strings.Join(strings.Fields(node.Description), " ")
	for _, words := range promises(component, row) {
		if !strings.Contains(text, words) {
			t.Errorf("%s: the description does not say %q: %s", row.Name, words, text)
		}
	}
	if diff := cmp.Diff(defaultsOf(row), sentences(statedDefault.FindAllString(text, -1))); diff != "" {
		t.Errorf("%s: defaults (-row +description):\n%s", row.Name, diff)
	}
	if diff := cmp.Diff(rangesOf(row), statedRange.FindAllString(text, -1)); diff != "" {
		t.Errorf("%s: ranges (-row +description):\n%s", row.Name, diff)
	}
}

// What a description states of defaults and ranges. They are compared whole: "Default 1" is also the beginning of
// "Default 10", and a field whose row has no default must not promise one.
var (
	statedDefault = regexp.MustCompile(`\bDefault .+?\.( |$)`)
	statedRange   = regexp.MustCompile(`[0-9.]+ to [0-9.]*[0-9]`)
)

// sentences takes away the blanks that tell the end of a sentence from a decimal point.
func sentences(found []string) []string {
	for i := range found {
		found[i] = strings.TrimSpace(found[i])
	}
	return found
}

// defaultsOf is the sentence about the default that the description of a row's field has to have; none where
// the default depends on the machine on every line.
func defaultsOf(row catalog.Knob) []string {
	if row.Default == "" {
		return nil
	}
	text := "Default " + strings.ReplaceAll(string(row.Default), ",", ", ")
	byValue := row.Defaults()
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		switch lines := byValue[value]; value {
		case row.Default:
		case "":
			usual := byValue[row.Default]
			text += " up to " + usual[len(usual)-1].String()
		default:
			text += fmt.Sprintf(", and %s on %s and %s", value, lines[0], lines[len(lines)-1])
		}
	}
	return []string{text + "."}
}

// rangesOf are the ranges that the description of a row's field has to state: its own, and no other.
func rangesOf(row catalog.Knob) []string {
	if row.Kind == catalog.KindInteger || row.Kind == catalog.KindDecimal {
		return []string{row.Range()}
	}
	return nil
}

func deref(number *float64) any {
	if number == nil {
		return "nothing"
	}
	return *number
}

func compareValues(t *testing.T, row catalog.Knob, enum []apiextensionsv1.JSON) {
	t.Helper()
	var field, table []string
	for _, value := range enum {
		field = append(field, strings.Trim(string(value.Raw), `"`))
	}
	for _, value := range row.Enum {
		table = append(table, string(value))
	}
	slices.Sort(field)
	slices.Sort(table)
	if diff := cmp.Diff(table, field); diff != "" {
		t.Errorf("%s: values (-row +field):\n%s", row.Name, diff)
	}
}

// promises are the words that the description of a row's field has to have beside default and range.
func promises(component v1alpha1.Component, row catalog.Knob) []string {
	var words []string
	words = append(words, map[string]string{
		"4.2-4.4": "MongoDB 4.2 and 4.4 only", "4.4+": "MongoDB 4.4 and newer", "5.0-6.0": "MongoDB 5.0 and 6.0 only",
	}[row.Versions.String()])
	switch {
	case component == v1alpha1.ComponentMongos:
		words = append(words, "olls the mongos Deployment")
	case !row.HasEffect():
		words = append(words, "has no effect")
	case row.NeedsRestart():
		words = append(words, "Restarts members")
	default:
		words = append(words, "Set online")
	}
	return words
}
