// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mongotuning/mongotuning/internal/hosttune"
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

// TestManifestsAreCurrent proves that the objects in the tree hold what their sources say.
func TestManifestsAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	for path, generate := range map[string]func(string) (string, error){rulePath: prometheusRule, snippetPath: argoSnippet} {
		want, err := generate(root)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("run go run ./hack/generate (-source +%s):\n%s", path, diff)
		}
	}
}

// TestHostTuningIsCurrent proves that the tables of the page are what the code says.
func TestHostTuningIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := hostTuning(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, hosttune.ReferencePage))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run go run ./hack/generate (-code +page):\n%s", diff)
	}
}
