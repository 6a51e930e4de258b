// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// maxFileBytes is what kubectl's client-side apply can store in an annotation.
const maxFileBytes = 256 << 10

// TestKindsFollowTheConventions holds the definitions as a whole to what users and tools expect.
func TestKindsFollowTheConventions(t *testing.T) {
	scopes := map[string]apiextensionsv1.ResourceScope{"MongoTuning": "Namespaced", "TuningProfile": "Cluster"}
	for kind := range crdFiles {
		t.Run(kind, func(t *testing.T) {
			crd, data, err := readCRD(kind)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) >= maxFileBytes {
				t.Errorf("the file has %d bytes, client-side apply takes less than %d", len(data), maxFileBytes)
			}
			if crd.Spec.Scope != scopes[kind] {
				t.Errorf("scope is %s, want %s", crd.Spec.Scope, scopes[kind])
			}
			if slices.Contains(crd.Spec.Names.Categories, "all") {
				t.Error("category all is for what every user has")
			}
			for _, short := range crd.Spec.Names.ShortNames {
				if len(short) < 3 {
					t.Errorf("short name %q will collide", short)
				}
			}
			for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
				if column.Name == "Age" && column.JSONPath != ".metadata.creationTimestamp" {
					t.Errorf("column Age shows %s", column.JSONPath)
				}
			}
			if len(crd.Spec.Versions) != 1 || crd.Spec.Conversion != nil {
				t.Error("one version, no conversion: whoever adds one has to prove the round trip")
			}
		})
	}
}

// TestStatusFollowsTheConventions proves what programs that know no MongoTuning rely on: a status
// subresource, conditions merged by type, and no scale subresource (a tuning has no replicas).
func TestStatusFollowsTheConventions(t *testing.T) {
	version := definitionOf(t, "MongoTuning").crd.Spec.Versions[0]
	if version.Subresources == nil || version.Subresources.Status == nil || version.Subresources.Scale != nil {
		t.Errorf("subresources are %v, want status only", version.Subresources)
	}
	status := version.Schema.OpenAPIV3Schema.Properties["status"]
	if len(status.Required) > 0 {
		t.Errorf("status requires %v: the first write could not be partial", status.Required)
	}
	conditions := status.Properties["conditions"]
	if diff := cmp.Diff([]string{"type"}, conditions.XListMapKeys); diff != "" {
		t.Errorf("keys of the list of conditions (-want +got):\n%s", diff)
	}
	if conditions.XListType == nil || *conditions.XListType != "map" {
		t.Error("conditions must have listType map")
	}
	for _, name := range []string{"observedGeneration", "type", "status", "reason", "message", "lastTransitionTime"} {
		if _, has := conditions.Items.Schema.Properties[name]; !has {
			t.Errorf("conditions have no %s", name)
		}
	}
}
