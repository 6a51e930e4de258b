// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReferenceIsCurrent proves that the page in the tree is what the catalogue says.
func TestReferenceIsCurrent(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", referencePath))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reference(), string(page)); diff != "" {
		t.Errorf("run go run ./hack/generate (-catalogue +page):\n%s", diff)
	}
}

// TestPrometheusRuleIsCurrent proves that the object in the tree holds the alerts of the source.
func TestPrometheusRuleIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := prometheusRule(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, rulePath))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run go run ./hack/generate (-source +object):\n%s", diff)
	}
}
