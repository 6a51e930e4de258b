// SPDX-License-Identifier: Apache-2.0

// Command generate writes the files that are made from others: docs/tuning-reference.md from the knob
// catalogue, docs/metrics.md from the metrics, the PrometheusRule from the file of alerts, the snippet for
// argocd-cm from the scripts. Its only argument is the directory of the repository, "." when there is none.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mongotuning/mongotuning/internal/metrics"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	files := map[string]string{referencePath: reference(), metricsPath: metrics.Reference()}
	for path, generate := range map[string]func(root string) (string, error){rulePath: prometheusRule, snippetPath: argoSnippet} {
		content, err := generate(root)
		if err != nil {
			fmt.Fprintf(os.Stderr, "generate %s: %v\n", path, err)
			os.Exit(1)
		}
		files[path] = content
	}
	for path, page := range files {
		if err := os.WriteFile(filepath.Join(root, path), []byte(page), 0o644); err != nil { //nolint:gosec // for everybody
			fmt.Fprintln(os.Stderr, "write a generated file:", err)
			os.Exit(1)
		}
	}
}

// metricsPath is the page of the metrics.
const metricsPath = "docs/metrics.md"
