// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// baseCluster is a MongoTuning that is accepted as it stands; rows change fields of it.
const baseCluster = `
apiVersion: mongotuning.io/v1alpha1
kind: MongoTuning
metadata: {name: demo}
spec:
  mongodb: {version: 4.4.2}
  shards: {count: 2, members: 3, storage: {size: 10Gi}}
  configServers: {members: 3, storage: {size: 10Gi}}
  mongos: {replicas: 1}
`

// baseProfile is a TuningProfile that is accepted as it stands.
const baseProfile = `
apiVersion: mongotuning.io/v1alpha1
kind: TuningProfile
metadata: {name: demo-v1}
spec:
  description: values for a demonstration
`

// fields are values by dotted path; nil takes a field away.
type fields map[string]any

// with returns both sets of fields together.
func (f fields) with(more fields) fields {
	all := fields{}
	maps.Copy(all, f)
	maps.Copy(all, more)
	return all
}

func cluster(t *testing.T) map[string]any { return parse(t, []byte(baseCluster)) }

// object returns the base object of a kind with some fields changed.
func object(t *testing.T, kind string, changed fields) map[string]any {
	t.Helper()
	base := baseCluster
	if kind == "TuningProfile" {
		base = baseProfile
	}
	out := parse(t, []byte(base))
	for path, value := range changed {
		keys := strings.Split(path, ".")
		if value == nil {
			unstructured.RemoveNestedField(out, keys...)
			continue
		}
		if err := unstructured.SetNestedField(out, plain(t, value), keys...); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// parse reads YAML the way an API server does: whole numbers become int64, others float64.
func parse(t *testing.T, data []byte) map[string]any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	return out.Object
}

// plain turns a Go value into the types an API server works on.
func plain(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(map[string]any{"kind": "Wrapper", "value": value})
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return out.Object["value"]
}
