// SPDX-License-Identifier: Apache-2.0

// Package crd proves the CustomResourceDefinitions of config/crd without an API server: it puts objects
// through the defaulting, schema and CEL code that an API server runs. What only a real one shows, such
// as pruning of stored objects, is left to the integration tests.
package crd

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/admission"
)

// crdFiles holds the file of each kind below config/crd.
var crdFiles = map[string]string{
	"MongoTuning":   "mongotuning.io_mongotunings.yaml",
	"TuningProfile": "mongotuning.io_tuningprofiles.yaml",
}

// definition is one CRD, ready to judge objects as an API server does.
type definition struct {
	*admission.Definition
	crd *apiextensionsv1.CustomResourceDefinition
}

// readDefinition holds a reader for each kind; compiling the CEL rules takes a while, so each CRD is
// read once for all tests.
var readDefinition = map[string]func() (*definition, error){
	"MongoTuning":   sync.OnceValues(func() (*definition, error) { return newDefinition("MongoTuning") }),
	"TuningProfile": sync.OnceValues(func() (*definition, error) { return newDefinition("TuningProfile") }),
}

func definitionOf(t *testing.T, kind string) *definition {
	t.Helper()
	read, known := readDefinition[kind]
	if !known {
		t.Fatalf("there is no CRD for kind %q", kind)
	}
	d, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func readCRD(kind string) (*apiextensionsv1.CustomResourceDefinition, []byte, error) {
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", crdFiles[kind]))
	if err != nil {
		return nil, nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return nil, nil, fmt.Errorf("read the CRD of %s: %w", kind, err)
	}
	return crd, data, nil
}

func newDefinition(kind string) (*definition, error) {
	crd, data, err := readCRD(kind)
	if err != nil {
		return nil, err
	}
	read, err := admission.Read(data)
	return &definition{Definition: read, crd: crd}, err
}

// admitted returns the object as an API server would hold it after defaulting.
func (d *definition) admitted(object map[string]any) map[string]any { return d.Defaulted(object) }

// unknownFields lists the fields of the object that the schema does not have.
func (d *definition) unknownFields(object map[string]any) []string { return d.UnknownFields(object) }

// create returns what an API server answers to the creation of an object.
func (d *definition) create(t *testing.T, object map[string]any) field.ErrorList {
	t.Helper()
	return d.Create(t.Context(), object)
}

// update returns what an API server answers to a change of an object.
func (d *definition) update(t *testing.T, before, object map[string]any) field.ErrorList {
	t.Helper()
	return d.Update(t.Context(), before, object)
}

// TestDefinitionsAreAccepted proves that an API server takes the CRDs: the schemas are structural, the
// CEL rules compile, their field paths exist and their estimated cost is within budget.
func TestDefinitionsAreAccepted(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	for kind := range crdFiles {
		t.Run(kind, func(t *testing.T) {
			crd, _, err := readCRD(kind)
			if err != nil {
				t.Fatal(err)
			}
			scheme.Default(crd)
			internal := &apiextensions.CustomResourceDefinition{}
			if err := scheme.Convert(crd, internal, nil); err != nil {
				t.Fatal(err)
			}
			internal.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
			for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), internal) {
				t.Error(err)
			}
		})
	}
}

// TestStatusSaysNotYetSeen proves that an object which no operator has looked at is not taken for ready
// by programs that compare status.observedGeneration with metadata.generation.
func TestStatusSaysNotYetSeen(t *testing.T) {
	after := definitionOf(t, "MongoTuning").admitted(cluster(t))
	status, _ := after["status"].(map[string]any)
	if got := status["observedGeneration"]; got != int64(-1) {
		t.Errorf("status.observedGeneration of a new object is %v, want -1", got)
	}
}
