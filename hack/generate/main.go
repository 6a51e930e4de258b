// SPDX-License-Identifier: Apache-2.0

// Command generate writes the files that are made from others: docs/tuning-reference.md from the knob
// catalogue, docs/metrics.md from the metrics, the tables of docs/host-tuning.md from the host settings, the
// PrometheusRule from the file of alerts, the snippet for argocd-cm from the scripts. Its only argument is
// the directory of the repository, "." when there is none.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/metrics"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	files := map[string]string{referencePath: reference(), metricsPath: metrics.Reference()}
	for path, generate := range map[string]func(root string) (string, error){
		rulePath: prometheusRule, snippetPath: argoSnippet, hosttune.ReferencePage: hostTuning,
	} {
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

// hostTuning is the page of host tuning with its tables made anew between their marks; the rest of it is
// written by hand.
func hostTuning(root string) (string, error) {
	page, err := os.ReadFile(filepath.Join(root, hosttune.ReferencePage)) //nolint:gosec // a page of the repository
	if err != nil {
		return "", err
	}
	before, rest, begun := strings.Cut(string(page), hosttune.ReferenceBegin)
	_, after, ended := strings.Cut(rest, hosttune.ReferenceEnd)
	if !begun || !ended {
		return "", fmt.Errorf("%s has lost the marks around its generated part", hosttune.ReferencePage)
	}
	return before + hosttune.ReferenceBegin + "\n" + hosttune.Reference() + "\n" + hosttune.ReferenceEnd + after, nil
}
