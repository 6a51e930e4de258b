// SPDX-License-Identifier: Apache-2.0

// Package config holds the manifests of config/ to the promises of the documentation: least rights, the
// restricted pod security standard, and parts that fit together. It reads the files and needs no cluster.
package config

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"
)

// root is the directory of the manifests.
const root = "../../config"

// parts are the directories that config/default installs, but for the CRDs, which test/crd proves.
var parts = []string{"rbac", "manager", "network-policy"}

// kustomization is what these tests read of a kustomization.yaml.
type kustomization struct {
	Resources []string `json:"resources"`
	Images    []struct {
		Name   string `json:"name"`
		NewTag string `json:"newTag"`
	} `json:"images"`
}

// objects reads every object of the installed parts, refusing fields that Kubernetes does not know.
func objects(t *testing.T) []runtime.Object {
	t.Helper()
	var found []runtime.Object
	for _, part := range parts {
		for _, file := range manifests(t, part) {
			data, err := os.ReadFile(filepath.Join(root, part, file))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, decode(t, file, data)...)
		}
	}
	return found
}

// decode reads the documents of one file, or of the output of kustomize.
func decode(t *testing.T, file string, data []byte) []runtime.Object {
	t.Helper()
	strict := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		serializer.SerializerOptions{Yaml: true, Strict: true})
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var found []runtime.Object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(bytes.TrimSpace(document)) == 0 || bytes.Contains(document, []byte("kind: CustomResourceDefinition")) {
			continue
		}
		object, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found = append(found, object)
	}
}

// kinds returns the objects of one Go type.
func kinds[T runtime.Object](t *testing.T, all []runtime.Object) []T {
	t.Helper()
	var found []T
	for _, object := range all {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	if len(found) == 0 {
		t.Fatalf("found no %T", *new(T))
	}
	return found
}

func manifests(t *testing.T, part string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, part))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".yaml" && entry.Name() != "kustomization.yaml" {
			files = append(files, entry.Name())
		}
	}
	return files
}

func readKustomization(t *testing.T, part string) kustomization {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, part, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k kustomization
	if err := sigsyaml.Unmarshal(data, &k); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestKustomizationsListEveryManifest finds a file that was written and is never applied, and one that
// is listed and not there.
func TestKustomizationsListEveryManifest(t *testing.T) {
	for _, part := range slices.Concat(parts, []string{"crd", "samples"}) {
		files, listed := manifests(t, part), readKustomization(t, part).Resources
		for _, file := range files {
			if !slices.Contains(listed, file) {
				t.Errorf("config/%s/kustomization.yaml does not list %s", part, file)
			}
		}
		for _, file := range listed {
			if !slices.Contains(files, file) {
				t.Errorf("config/%s/%s is listed and does not exist", part, file)
			}
		}
	}
}

func TestNamespaceEnforcesTheRestrictedStandard(t *testing.T) {
	for _, namespace := range kinds[*corev1.Namespace](t, objects(t)) {
		if got := namespace.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
			t.Errorf("namespace %s enforces %q, want restricted", namespace.Name, got)
		}
	}
}
