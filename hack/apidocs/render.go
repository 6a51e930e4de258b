// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const intro = `<!-- Generated from config/crd by make generate; do not edit. -->

# API reference

Every field of the API ` + "`%s`" + `, with the rules that the API server checks. A cluster tells
the same by ` + "`kubectl explain mongotuning.spec.tuning --recursive`" + `. What each knob does to a server is in the
[tuning reference](tuning-reference.md).
`

// page collects one definition; seen finds structures that occur in more than one place.
type page struct {
	out  *bytes.Buffer
	kind string
	seen map[string]string
}

func render(out *bytes.Buffer, definitions []apiextensionsv1.CustomResourceDefinition) {
	group := definitions[0].Spec.Group + "/" + definitions[0].Spec.Versions[0].Name
	_, _ = fmt.Fprintf(out, intro, group)
	for _, definition := range definitions {
		version := definition.Spec.Versions[0]
		p := page{out: out, kind: definition.Spec.Names.Kind, seen: map[string]string{}}
		p.head(definition)
		root := version.Schema.OpenAPIV3Schema
		p.rules(root.XValidations)
		for _, part := range []string{"spec", "status"} {
			if schema, ok := root.Properties[part]; ok {
				p.object(part, schema)
			}
		}
	}
}

func (p page) writef(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format, args...) // a buffer takes everything
}

func (p page) head(definition apiextensionsv1.CustomResourceDefinition) {
	names, version := definition.Spec.Names, definition.Spec.Versions[0]
	p.writef("\n## %s\n\n%s\n\n", p.kind, paragraph(version.Schema.OpenAPIV3Schema.Description))
	p.writef("Scope: %s. Short name: `%s`.\n", strings.ToLower(string(definition.Spec.Scope)), strings.Join(names.ShortNames, "`, `"))
	if len(version.AdditionalPrinterColumns) == 0 {
		return
	}
	p.writef("\n| Column | Shows |\n|---|---|\n")
	for _, column := range version.AdditionalPrinterColumns {
		description := column.Description
		if description == "" {
			description = "`" + column.JSONPath + "`"
		}
		if column.Priority > 0 {
			description += " (with `-o wide`)"
		}
		p.writef("| %s | %s |\n", column.Name, cell(description))
	}
}

// object writes one structure and then those below it. One that was written before is only referred to.
func (p page) object(path string, schema apiextensionsv1.JSONSchemaProps) {
	p.writef("\n### %s\n\n%s\n", p.title(path), paragraph(schema.Description))
	if twin, known := p.seen[fingerprint(schema)]; known {
		p.writef("\nThe fields are those of [%s](#%s).\n", p.title(twin), anchor(p.title(twin)))
		return
	}
	p.seen[fingerprint(schema)] = path
	p.rules(schema.XValidations)
	p.writef("\n| Field | Type | Meaning |\n|---|---|---|\n")
	names := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range names {
		p.field(path, name, schema)
	}
	for _, name := range names {
		if below, inner := structure(path+"."+name, schema.Properties[name]); inner != nil {
			p.object(below, *inner)
		}
	}
}

func (p page) field(path, name string, parent apiextensionsv1.JSONSchemaProps) {
	schema := parent.Properties[name]
	label, kind := "`"+name+"`", typeOf(schema)
	if below, inner := structure(path+"."+name, schema); inner != nil {
		label = fmt.Sprintf("[`%s`](#%s)", name, anchor(p.title(below)))
	}
	if slices.Contains(parent.Required, name) {
		kind += ", required"
	}
	var meaning []string
	if text := paragraph(schema.Description); text != "" {
		meaning = append(meaning, cell(text))
	}
	if allowed := bounds(schema); allowed != "" {
		meaning = append(meaning, "Allowed: "+allowed+".")
	}
	if strings.HasPrefix(label, "[") { // its own section has them
		schema.XValidations = nil
	}
	for _, rule := range schema.XValidations {
		meaning = append(meaning, "Rule: "+cell(rule.Message)+".")
	}
	p.writef("| %s | %s | %s |\n", label, kind, strings.Join(meaning, "<br>"))
}

func (p page) rules(rules apiextensionsv1.ValidationRules) {
	if len(rules) == 0 {
		return
	}
	p.writef("\nRules:\n\n")
	for _, rule := range rules {
		field := ""
		if rule.FieldPath != "" {
			field = "`" + strings.TrimPrefix(rule.FieldPath, ".") + "` "
		}
		p.writef("- %s%s\n", field, rule.Message)
	}
}

// title is the path of a structure with its kind where both kinds have one of that name.
func (p page) title(path string) string {
	return p.kind + " " + path
}

// structure finds the object below a field: the field itself or the items of a list.
func structure(path string, schema apiextensionsv1.JSONSchemaProps) (string, *apiextensionsv1.JSONSchemaProps) {
	switch {
	case len(schema.Properties) > 0:
		return path, &schema
	case schema.Items != nil && schema.Items.Schema != nil && len(schema.Items.Schema.Properties) > 0:
		items := *schema.Items.Schema
		return path + "[]", &items
	default:
		return path, nil
	}
}

func typeOf(schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case schema.XIntOrString:
		return "quantity"
	case schema.Items != nil && schema.Items.Schema != nil:
		return "list of " + typeOf(*schema.Items.Schema)
	case schema.AdditionalProperties != nil:
		return "map"
	case schema.Format == "date-time":
		return "time"
	default:
		return schema.Type
	}
}

// bounds are what the schema allows, in words.
func bounds(schema apiextensionsv1.JSONSchemaProps) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if len(schema.Enum) > 0 {
		values := make([]string, 0, len(schema.Enum))
		for _, value := range schema.Enum {
			values = append(values, "`"+strings.Trim(string(value.Raw), `"`)+"`")
		}
		add("%s", strings.Join(values, ", "))
	}
	switch {
	case schema.Minimum != nil && schema.Maximum != nil:
		add("%v to %v", *schema.Minimum, *schema.Maximum)
	case schema.Minimum != nil:
		add("at least %v", *schema.Minimum)
	}
	if schema.MaxLength != nil {
		add("at most %d characters", *schema.MaxLength)
	}
	if schema.MaxItems != nil {
		add("at most %d items", *schema.MaxItems)
	}
	if schema.Default != nil && schema.Type != "object" {
		add("default `%s`", strings.Trim(string(schema.Default.Raw), `"`))
	}
	return strings.Join(parts, "; ")
}

// fingerprint is equal for structures with the same fields, whatever is said about them from outside.
func fingerprint(schema apiextensionsv1.JSONSchemaProps) string {
	schema.Description = ""
	encoded, _ := json.Marshal(schema) // a schema that was read always encodes
	return string(encoded)
}

// paragraph joins the lines of a comment.
func paragraph(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// cell keeps text within one cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(text, "|", `\|`)
}

// anchor is the fragment that GitHub gives to a heading.
func anchor(title string) string {
	var fragment strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			fragment.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			fragment.WriteRune(r)
		}
	}
	return fragment.String()
}
