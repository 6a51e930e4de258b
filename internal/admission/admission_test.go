// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"os"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// Three rules of three fields are broken, and they are named in the order of their fields every time: the
// validator by itself names them in an order of chance.
func TestBrokenRulesAreNamedInOneOrder(t *testing.T) {
	content, err := os.ReadFile("../../config/crd/mongotuning.io_mongotunings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition, err := Read(content)
	if err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile("../../config/samples/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	before, after := map[string]any{}, map[string]any{}
	for _, object := range []map[string]any{before, after} {
		if err := yaml.Unmarshal(sample, &object); err != nil {
			t.Fatal(err)
		}
	}
	spec, _ := after["spec"].(map[string]any)
	shards, _ := spec["shards"].(map[string]any)
	servers, _ := spec["configServers"].(map[string]any)
	shards["members"], servers["members"] = int64(5), int64(5)
	spec["tuning"] = map[string]any{"eviction": map[string]any{"dirtyTargetPercent": int64(40), "dirtyTriggerPercent": int64(30)}}
	for range 20 {
		var fields []string
		for _, problem := range definition.Update(t.Context(), before, after) {
			fields = append(fields, problem.Field)
		}
		if len(fields) < 3 || !slices.IsSorted(fields) {
			t.Fatalf("named in the order %q", fields)
		}
	}
}
