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
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"
)

// crdFiles holds the file of each kind below config/crd.
var crdFiles = map[string]string{
	"MongoTuning":   "mongotuning.io_mongotunings.yaml",
	"TuningProfile": "mongotuning.io_tuningprofiles.yaml",
}

// definition is one CRD, ready to judge objects.
type definition struct {
	crd        *apiextensionsv1.CustomResourceDefinition
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
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
	crd, _, err := readCRD(kind)
	if err != nil {
		return nil, err
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, props, nil); err != nil {
		return nil, fmt.Errorf("convert the schema of %s: %w", kind, err)
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is not structural: %w", kind, err)
	}
	schema, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("build the validator of %s: %w", kind, err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return &definition{crd: crd, structural: structural, schema: schema, rules: rules}, nil
}

// admitted returns the object as an API server would hold it after defaulting.
func (d *definition) admitted(object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	defaulting.Default(out, d.structural)
	return out
}

// unknownFields lists the fields of the object that the schema does not have.
func (d *definition) unknownFields(object map[string]any) []string {
	return pruning.PruneWithOptions(runtime.DeepCopyJSON(object), d.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// create returns what an API server answers to the creation of an object, in its order of checks.
func (d *definition) create(t *testing.T, object map[string]any) field.ErrorList {
	t.Helper()
	after := d.admitted(object)
	errs := validation.ValidateCustomResource(nil, after, d.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.structural, after)...)
	if stopsBeforeRules(errs) {
		return errs
	}
	ruleErrs, _ := d.rules.Validate(t.Context(), nil, d.structural, after, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, ruleErrs...)
}

// update returns what an API server answers to a change of an object. Parts that do not change are not
// held to rules they already break (validation ratcheting, on since Kubernetes 1.33).
func (d *definition) update(t *testing.T, before, object map[string]any) field.ErrorList {
	t.Helper()
	before, after := d.admitted(before), d.admitted(object)
	ratchet := common.NewCorrelatedObject(after, before, &model.Structural{Structural: d.structural})
	errs := validation.ValidateCustomResourceUpdate(nil, after, before, d.schema, validation.WithRatcheting(ratchet))
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.structural, after)...)
	if stopsBeforeRules(errs) {
		return errs
	}
	ruleErrs, _ := d.rules.Validate(t.Context(), nil, d.structural, after, before,
		celconfig.RuntimeCELCostBudget, cel.WithRatcheting(ratchet))
	return append(errs, ruleErrs...)
}

// stopsBeforeRules says whether an API server skips the CEL rules because the object is malformed.
func stopsBeforeRules(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		default:
		}
	}
	return false
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
