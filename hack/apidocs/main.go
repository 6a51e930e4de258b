// SPDX-License-Identifier: Apache-2.0

// Command apidocs writes docs/api.md from the CRDs: what kubectl explain tells, with the rules that the
// API server checks, on one page. It reads the generated YAML and not the Go types, so that the page
// says what a cluster enforces.
//
//	go run ./hack/apidocs config/crd docs/api.md
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: apidocs DIRECTORY-OF-CRDS OUTPUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "apidocs:", err)
		os.Exit(1)
	}
}

func run(directory, output string) error {
	definitions, err := read(directory)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	render(&page, definitions)
	return os.WriteFile(output, page.Bytes(), 0o644) //nolint:gosec // a page of the documentation
}

// read loads the definitions in the order of their file names.
func read(directory string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(directory, "mongotuning.io_*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no definitions", directory)
	}
	definitions := make([]apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // the caller names the directory
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(data, &definitions[i]); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	return definitions, nil
}
