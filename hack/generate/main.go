// SPDX-License-Identifier: Apache-2.0

// Command generate writes the pages that are made from code: docs/tuning-reference.md from the knob
// catalogue. Its only argument is the directory of the repository, "." when there is none.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := os.WriteFile(filepath.Join(root, referencePath), []byte(reference()), 0o644); err != nil { //nolint:gosec // a page for everybody
		fmt.Fprintln(os.Stderr, "write the tuning reference:", err)
		os.Exit(1)
	}
}
