// SPDX-License-Identifier: Apache-2.0

// Package source reads what Go files declare, for tests that hold pages and manifests to them.
package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// Constants are the string constants of the Go files that fit a pattern, by name.
func Constants(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		collect(t, file, found)
	}
	if len(found) == 0 {
		t.Fatalf("%s has no constants", pattern)
	}
	return found
}

func collect(t *testing.T, file *ast.File, found map[string]string) {
	t.Helper()
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			literal, ok := value.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[spec.Names[i].Name] = text
		}
		return false
	})
}
