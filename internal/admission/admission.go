// SPDX-License-Identifier: Apache-2.0

// Package admission says what an API server would say of an object, from the CustomResourceDefinition alone:
// it fills in defaults, finds unknown fields, and holds the object to schema and CEL rules with the code that
// an API server runs. What takes other objects or a policy is left to a real one.
package admission

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// Definition judges the objects of one kind.
type Definition struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// Read makes a Definition of a CustomResourceDefinition with one version. Compiling its rules takes a
// moment, so keep it.
func Read(definition []byte) (*Definition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(definition, crd); err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition: %w", err)
	}
	kind := crd.Spec.Names.Kind
	if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Schema == nil {
		return nil, fmt.Errorf("the CustomResourceDefinition of %s has %d versions, wanted 1 with a schema", kind, len(crd.Spec.Versions))
	}
	properties := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, properties, nil); err != nil {
		return nil, fmt.Errorf("convert the schema of %s: %w", kind, err)
	}
	structural, err := structuralschema.NewStructural(properties)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is not structural: %w", kind, err)
	}
	schema, _, err := validation.NewSchemaValidator(properties)
	if err != nil {
		return nil, fmt.Errorf("build the validator of %s: %w", kind, err)
	}
	return &Definition{structural: structural, schema: schema, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Defaulted is the object with every default filled in.
func (d *Definition) Defaulted(object map[string]any) map[string]any {
	filled := runtime.DeepCopyJSON(object)
	defaulting.Default(filled, d.structural)
	return filled
}

// UnknownFields are the fields of the object that the schema does not have; an API server drops them.
func (d *Definition) UnknownFields(object map[string]any) []string {
	return pruning.PruneWithOptions(runtime.DeepCopyJSON(object), d.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// Create is what an API server answers to the creation of an object, in its order of checks.
func (d *Definition) Create(ctx context.Context, object map[string]any) field.ErrorList {
	after := d.Defaulted(object)
	problems := validation.ValidateCustomResource(nil, after, d.schema)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, d.structural, after)...)
	if stopsBeforeRules(problems) {
		return problems
	}
	broken, _ := d.rules.Validate(ctx, nil, d.structural, after, nil, celconfig.RuntimeCELCostBudget)
	return append(problems, inOrder(broken)...)
}

// Update is what an API server answers to a change of an object. Parts that do not change are not held to
// rules they already break (validation ratcheting, on since Kubernetes 1.33).
func (d *Definition) Update(ctx context.Context, before, object map[string]any) field.ErrorList {
	before, after := d.Defaulted(before), d.Defaulted(object)
	ratchet := common.NewCorrelatedObject(after, before, &model.Structural{Structural: d.structural})
	problems := validation.ValidateCustomResourceUpdate(nil, after, before, d.schema, validation.WithRatcheting(ratchet))
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, d.structural, after)...)
	if stopsBeforeRules(problems) {
		return problems
	}
	broken, _ := d.rules.Validate(ctx, nil, d.structural, after, before, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(ratchet))
	return append(problems, inOrder(broken)...)
}

// inOrder sorts broken rules by their field: the validator goes through the fields in an order of chance,
// and two readings of the same file should not differ.
func inOrder(broken field.ErrorList) field.ErrorList {
	slices.SortStableFunc(broken, func(one, other *field.Error) int {
		return cmp.Or(cmp.Compare(one.Field, other.Field), cmp.Compare(one.Detail, other.Detail))
	})
	return broken
}

// stopsBeforeRules tells that an API server leaves the CEL rules out because the object is malformed.
func stopsBeforeRules(problems field.ErrorList) bool {
	for _, problem := range problems {
		switch problem.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		default:
		}
	}
	return false
}
