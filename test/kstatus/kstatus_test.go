// SPDX-License-Identifier: Apache-2.0

// Package kstatus asks what Flux will make of our objects, with the code that Flux asks. It is a module of
// its own, because that code lifts many of the operator's dependencies.
package kstatus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const root = "../.."

func read(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// withTypes gives an object what every object on a server has, and numbers the type they have there.
func withTypes(t *testing.T, object map[string]any) *unstructured.Unstructured {
	t.Helper()
	object["apiVersion"], object["kind"] = "mongotuning.io/v1alpha1", "MongoTuning"
	content, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	json, err := yaml.YAMLToJSON(content)
	if err != nil {
		t.Fatal(err)
	}
	typed := &unstructured.Unstructured{}
	if err := typed.UnmarshalJSON(json); err != nil {
		t.Fatal(err)
	}
	return typed
}

func TestEveryStatus(t *testing.T) {
	var rows []struct {
		Name    string         `json:"name"`
		Object  map[string]any `json:"object"`
		KStatus string         `json:"kstatus"`
	}
	read(t, "test/gitops/statuses.yaml", &rows)
	if len(rows) < 10 {
		t.Fatalf("found %d statuses only", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			result, err := status.Compute(withTypes(t, row.Object))
			if err != nil {
				t.Fatal(err)
			}
			if result.Status.String() != row.KStatus {
				t.Errorf("kstatus says %s (%s), want %s", result.Status, result.Message, row.KStatus)
			}
		})
	}
}

const tree = "config/argocd/resource_customizations/mongotuning.io/MongoTuning/"

// TestRealObjects proves that kstatus and our health script say the same of objects that a real operator
// wrote. Suspended is a word that kstatus does not have.
func TestRealObjects(t *testing.T) {
	same := map[string]string{"Healthy": "Current", "Progressing": "InProgress", "Degraded": "Failed"}
	var tests struct {
		Tests []struct {
			Health struct {
				Status string `json:"status"`
			} `json:"healthStatus"`
			Input string `json:"inputPath"`
		} `json:"tests"`
	}
	read(t, tree+"health_test.yaml", &tests)
	for _, test := range tests.Tests {
		want, known := same[test.Health.Status]
		if !known {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(test.Input), ".yaml"), func(t *testing.T) {
			var object map[string]any
			read(t, tree+test.Input, &object)
			result, err := status.Compute(withTypes(t, object))
			if err != nil {
				t.Fatal(err)
			}
			if result.Status.String() != want {
				t.Errorf("kstatus says %s (%s), Argo CD %s", result.Status, result.Message, test.Health.Status)
			}
		})
	}
}
