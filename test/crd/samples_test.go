// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// samples returns the objects of config/samples by file name.
func samples(t *testing.T) map[string]map[string]any {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]any{}
	for _, path := range paths {
		if filepath.Base(path) == "kustomization.yaml" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(path)] = parse(t, data)
	}
	if len(found) < 3 {
		t.Fatalf("found %d samples", len(found))
	}
	return found
}

func TestSamplesAreAccepted(t *testing.T) {
	for file, sample := range samples(t) {
		t.Run(file, func(t *testing.T) {
			d := definitionOf(t, sample["kind"].(string))
			if unknown := d.unknownFields(sample); len(unknown) > 0 {
				t.Errorf("fields the API does not have: %v", unknown)
			}
			for _, err := range d.create(t, sample) {
				t.Error(err)
			}
			if _, has := sample["metadata"].(map[string]any)["namespace"]; has {
				t.Error("names a namespace, which is the user's choice")
			}
		})
	}
}

// TestSamplesStayInSync proves what Argo CD asks after every look: the three-way patch between Git, the
// object last applied and the live object with the defaults filled in must be empty.
func TestSamplesStayInSync(t *testing.T) {
	for file, sample := range samples(t) {
		t.Run(file, func(t *testing.T) {
			live := definitionOf(t, sample["kind"].(string)).admitted(sample)
			patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(encode(t, sample), encode(t, sample), encode(t, live))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("{}", string(patch)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSamplesSurviveOurTypes proves that quantities and numbers are written as Go writes them: a program
// that reads a sample into our types and writes it back changes nothing.
func TestSamplesSurviveOurTypes(t *testing.T) {
	for file, sample := range samples(t) {
		t.Run(file, func(t *testing.T) {
			if sample["kind"] != "MongoTuning" {
				t.Skip("holds no quantities")
			}
			typed := &v1alpha1.MongoTuning{}
			if err := yaml.UnmarshalStrict(encode(t, sample), typed); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sample, parse(t, encode(t, typed))); diff != "" {
				t.Errorf("written back (-sample +types):\n%s", diff)
			}
		})
	}
}

// TestDemoFitsTheMachineItIsMadeFor adds up the requests of the demonstrations.
func TestDemoFitsTheMachineItIsMadeFor(t *testing.T) {
	cores, memory := resource.MustParse("1"), resource.MustParse("8Gi")
	for file, sample := range samples(t) {
		if !strings.HasPrefix(file, "demo") {
			continue
		}
		typed := &v1alpha1.MongoTuning{}
		if err := yaml.UnmarshalStrict(encode(t, sample), typed); err != nil {
			t.Fatal(err)
		}
		var cpuSum, memorySum resource.Quantity
		add := func(pods int32, requests v1alpha1.ComputeQuantities) {
			for range pods {
				cpuSum.Add(*requests.CPU)
				memorySum.Add(*requests.Memory)
			}
		}
		spec := typed.Spec
		add(spec.Shards.Count*spec.Shards.Members, spec.Shards.Resources.Requests)
		add(spec.ConfigServers.Members, spec.ConfigServers.Resources.Requests)
		add(spec.Mongos.Replicas, spec.Mongos.Resources.Requests)
		if cpuSum.Cmp(cores) > 0 || memorySum.Cmp(memory) > 0 {
			t.Errorf("%s requests %s of CPU and %s of memory, want at most %s and %s",
				file, cpuSum.String(), memorySum.String(), cores.String(), memory.String())
		}
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestExampleOfArgoCDIsAcceptedAndStaysInSync holds the objects of the example application to the same.
func TestExampleOfArgoCDIsAcceptedAndStaysInSync(t *testing.T) {
	for _, file := range []string{"cluster.yaml", "profile.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "config", "argocd", "example", file))
		if err != nil {
			t.Fatal(err)
		}
		object := parse(t, data)
		d := definitionOf(t, object["kind"].(string))
		for _, err := range d.create(t, object) {
			t.Errorf("%s: %v", file, err)
		}
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(encode(t, object), encode(t, object), encode(t, d.admitted(object)))
		if err != nil {
			t.Fatal(err)
		}
		if string(patch) != "{}" {
			t.Errorf("%s: Argo CD would want to patch %s", file, patch)
		}
	}
}
