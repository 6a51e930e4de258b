// SPDX-License-Identifier: Apache-2.0

//go:build kustomize

package config

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

// built is one object that kustomize wrote, as far as it is looked at here.
type built struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec map[string]any    `json:"spec"`
	Data map[string]string `json:"data"`
}

// build runs kustomize, which KUSTOMIZE names; make manifests-test sets it.
func build(t *testing.T, directory string) []built {
	t.Helper()
	program := os.Getenv("KUSTOMIZE")
	if program == "" {
		t.Fatal("KUSTOMIZE does not say where kustomize is; run make manifests-test")
	}
	var log bytes.Buffer
	command := exec.CommandContext(t.Context(), program, "build", directory)
	command.Stderr = &log
	output, err := command.Output()
	if err != nil {
		t.Fatalf("kustomize build %s: %v\n%s", directory, err, log.String())
	}
	var all []built
	for document := range strings.SplitSeq(string(output), "\n---\n") {
		var object built
		if err := sigsyaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%s: %v", directory, err)
		}
		all = append(all, object)
	}
	return all
}

func one(t *testing.T, all []built, kind string) built {
	t.Helper()
	i := slices.IndexFunc(all, func(object built) bool { return object.Kind == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return all[i]
}

func kindsOf(all []built) []string {
	var names []string
	for _, object := range all {
		names = append(names, object.Kind)
	}
	slices.Sort(names)
	return names
}

// TestEveryDirectoryBuilds builds each kustomization of config that stands by itself.
func TestEveryDirectoryBuilds(t *testing.T) {
	found := 0
	for _, pattern := range []string{"*/kustomization.yaml", "argocd/*/kustomization.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			found++
			if all := build(t, filepath.Dir(file)); len(all) == 0 {
				t.Errorf("%s makes nothing", file)
			}
		}
	}
	if found < 8 {
		t.Errorf("found %d directories only", found)
	}
}

func TestMonitoringIsWhatTheDocsSay(t *testing.T) {
	want := []string{"ClusterRoleBinding", "PrometheusRule", "ServiceMonitor"}
	if diff := cmp.Diff(want, kindsOf(build(t, filepath.Join(root, "prometheus")))); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	dashboard := one(t, build(t, filepath.Join(root, "grafana")), "ConfigMap")
	if dashboard.Metadata.Labels["grafana_dashboard"] != "1" || dashboard.Data["mongotuning.json"] == "" {
		t.Errorf("Grafana's sidecar does not find the dashboard in %+v", dashboard.Metadata)
	}
}

// TestPlatformOverlayChangesWhatItSays takes the way that the overlay describes: the released file beside it.
func TestPlatformOverlayChangesWhatItSays(t *testing.T) {
	directory := t.TempDir()
	for to, from := range map[string]string{
		"kustomization.yaml": filepath.Join(root, "overlays", "platform", "kustomization.yaml"),
		"install.yaml":       filepath.Join("..", "..", "dist", "install.yaml"),
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, to), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := build(t, directory)
	if diff := cmp.Diff(kindsOf(build(t, filepath.Join(root, "default"))), kindsOf(all)); diff != "" {
		t.Errorf("kinds (-config/default +overlay):\n%s", diff)
	}
	operator := one(t, all, "Deployment")
	if operator.Spec["replicas"] != float64(2) {
		t.Errorf("replicas is %v", operator.Spec["replicas"])
	}
	content, err := sigsyaml.Marshal(operator.Spec)
	if err != nil {
		t.Fatal(err)
	}
	const image = "registry.example.org/platform/mongotuning-operator:v0.1.0"
	for _, want := range []string{"image: " + image, "value: " + image, "priorityClassName: system-cluster-critical", "memory: 1Gi", "- --cluster-domain=cluster.local"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("the operator lacks %q:\n%s", want, content)
		}
	}
	if strings.Contains(string(content), "docker.io/mongotuning") {
		t.Errorf("the original image is left somewhere:\n%s", content)
	}
}

// TestWavesOfTheExample proves the order in which Argo CD applies the example.
func TestWavesOfTheExample(t *testing.T) {
	for _, object := range build(t, filepath.Join(root, "argocd", "example")) {
		want := "-1"
		switch object.Kind {
		case "CustomResourceDefinition":
			want = "-2"
		case "TuningProfile":
			want = "0"
		case "MongoTuning":
			want = "1"
		case "Job":
			want = ""
			if object.Metadata.Annotations["argocd.argoproj.io/hook"] != "PostSync" {
				t.Errorf("Job %s does not run after the sync", object.Metadata.Name)
			}
		}
		if got := object.Metadata.Annotations["argocd.argoproj.io/sync-wave"]; got != want {
			t.Errorf("%s %s is in wave %q, want %q", object.Kind, object.Metadata.Name, got, want)
		}
	}
}
