// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/mongotuning/mongotuning/profiles"
)

// TestProfilesAreAccepted proves that an API server takes every profile that comes with the operator.
func TestProfilesAreAccepted(t *testing.T) {
	names, err := fs.Glob(profiles.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := definitionOf(t, "TuningProfile")
	for _, name := range names {
		text, err := profiles.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		object := parse(t, text)
		for _, field := range d.unknownFields(object) {
			t.Errorf("%s has a field the API does not: %s", name, field)
		}
		for _, err := range d.create(t, object) {
			t.Errorf("%s is refused: %v", name, err)
		}
		metadata, _ := object["metadata"].(map[string]any)
		if metadata["name"] != strings.TrimSuffix(name, ".yaml") {
			t.Errorf("%s holds the profile %v", name, metadata["name"])
		}
	}
}
