// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The definition has one of everything that is rendered in a way of its own.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Thing, plural: things, shortNames: [th]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size, description: How large, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: Thing is an example.
        properties:
          spec:
            type: object
            description: spec is wanted.
            required: [size]
            x-kubernetes-validations:
            - {rule: "true", fieldPath: .size, message: must be right}
            properties:
              size: {type: integer, minimum: 1, maximum: 9, description: "size\nin | units."}
              mode: {type: string, enum: [A, B], default: A}
              first: {type: object, description: the first, properties: {x: {type: string, maxLength: 3}}}
              second: {type: object, description: the second, properties: {x: {type: string, maxLength: 3}}}
              parts: {type: array, maxItems: 4, items: {type: object, properties: {y: {type: boolean}}}}
`

func TestPage(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "mongotuning.io_things.yaml"), []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(directory, "api.md")
	if err := run(directory, output); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Thing\n\nThing is an example.\n",
		"Short name: `th`.",
		"| Size | How large (with `-o wide`) |",
		"- `size` must be right\n",
		"| `size` | integer, required | size in \\| units.<br>Allowed: 1 to 9. |",
		"Allowed: `A`, `B`; default `A`.",
		"| [`first`](#thing-specfirst) | object | the first |",
		"### Thing spec.second\n\nthe second\n\nThe fields are those of [Thing spec.first](#thing-specfirst).\n",
		"| [`parts`](#thing-specparts) | list of object | Allowed: at most 4 items. |",
		"### Thing spec.parts[]\n",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestADirectoryWithoutDefinitionsIsRefused(t *testing.T) {
	if err := run(t.TempDir(), filepath.Join(t.TempDir(), "api.md")); err == nil {
		t.Error("an empty page was written")
	}
}
