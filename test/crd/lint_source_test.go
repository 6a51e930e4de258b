// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// apiField is one field of a struct of the API as its source has it.
type apiField struct {
	owner    string
	name     string
	json     string
	options  []string
	doc      string
	markers  []string
	typeText string
	isFirst  bool
}

func (f apiField) at() string { return f.owner + "." + f.name }

func (f apiField) has(marker string) bool {
	for _, m := range f.markers {
		if m == marker || strings.HasPrefix(m, marker+"=") {
			return true
		}
	}
	return false
}

func (f apiField) mayBeLeftOut() bool {
	for _, option := range f.options {
		if option == "omitempty" || option == "omitzero" {
			return true
		}
	}
	return false
}

// sourceRules look at one field of a struct and answer what is wrong with it, or nothing.
var sourceRules = map[string]func(apiField) string{
	"jsontags": func(f apiField) string {
		camelCase := regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
		return when(!camelCase.MatchString(f.json), "needs a JSON name in camelCase")
	},
	"commentstart": func(f apiField) string {
		return when(!strings.HasPrefix(f.doc, f.json+" "), "needs a comment that starts with "+f.json)
	},
	"commentend": func(f apiField) string {
		return when(!strings.HasSuffix(strings.TrimSpace(f.doc), "."), "needs a comment of whole sentences")
	},
	"optionalorrequired": func(f apiField) string {
		return when(f.has("optional") == f.has("required"), "needs one of +optional and +required")
	},
	"omitempty": func(f apiField) string {
		return when(f.has("optional") != f.mayBeLeftOut(), "must have omitempty or omitzero if and only if it is optional")
	},
	"conflictingmarkers": func(f apiField) string {
		return when(f.has("required") && f.has("kubebuilder:default"), "is required and has a default")
	},
	"defaultsdocumented": func(f apiField) string {
		hasDefault := f.has("kubebuilder:default") && f.json != "status"
		return when(hasDefault && !strings.Contains(f.doc, "Default "), "must say its default in its comment")
	},
	"plainquotes": func(f apiField) string {
		return when(hasTypographicQuotes(f.doc, f.markers...), quotesText)
	},
	"ssatags": func(f apiField) string {
		return when(strings.HasPrefix(f.typeText, "[]") && !f.has("listType"), "needs +listType")
	},
	"pointerbools": func(f apiField) string {
		return when(f.typeText == "bool" && !strings.HasSuffix(f.owner, "Status"), "must be *bool: unset and false differ")
	},
	"nodurations": func(f apiField) string {
		return when(strings.HasSuffix(f.typeText, "Duration"), "must be an integer with the unit in its name")
	},
	"conditionsfirst": func(f apiField) string {
		return when(f.json == "conditions" && !f.isFirst, "must be the first field of status")
	},
}

const quotesText = "has a typographic quote: gofmt makes one of two quotes in a comment, and breaks a CEL rule by it"

func hasTypographicQuotes(doc string, markers ...string) bool {
	return strings.ContainsAny(doc+strings.Join(markers, ""), "“”‘’")
}

func TestAPIConventionsOfTheSource(t *testing.T) {
	fields := apiFields(t)
	if len(fields) < 50 {
		t.Fatalf("found %d fields: the walk misses some", len(fields))
	}
	for _, field := range fields {
		for name, check := range sourceRules {
			if text := check(field); text != "" {
				t.Errorf("%s: %s %s", name, field.at(), text)
			}
		}
	}
}

// TestAPIImportsNothingButApimachinery keeps the dependencies of programs that use our types few.
func TestAPIImportsNothingButApimachinery(t *testing.T) {
	for _, file := range apiFiles(t) {
		for _, imported := range file.Imports {
			path := strings.Trim(imported.Path.Value, `"`)
			isStandard := !strings.Contains(strings.Split(path, "/")[0], ".")
			if !isStandard && !strings.HasPrefix(path, "k8s.io/apimachinery/") {
				t.Errorf("%s is imported", path)
			}
		}
	}
}

// TestEveryExportedNameIsDocumented covers types and constants; a constant may share the comment of its
// block.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, file := range apiFiles(t) {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if !strings.HasPrefix(general.Doc.Text(), spec.Name.Name+" ") {
						t.Errorf("type %s needs a comment that starts with its name", spec.Name.Name)
					}
					if hasTypographicQuotes(markerText(general.Doc)) {
						t.Errorf("type %s %s", spec.Name.Name, quotesText)
					}
				case *ast.ValueSpec:
					if general.Doc.Text() == "" && spec.Doc.Text() == "" && spec.Names[0].IsExported() {
						t.Errorf("%s needs a comment", spec.Names[0].Name)
					}
				}
			}
		}
	}
}

// markerText is a comment with its markers, which the parser's own text leaves out.
func markerText(group *ast.CommentGroup) string {
	var text strings.Builder
	if group == nil {
		return ""
	}
	for _, line := range group.List {
		text.WriteString(line.Text)
	}
	return text.String()
}

// apiFiles parses the hand-written files of the API.
func apiFiles(t *testing.T) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "api", "v1alpha1", "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("find the source of the API: %d files, %v", len(paths), err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "zz_generated") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// apiFields lists the fields of all structs but those that every Kubernetes kind begins with.
func apiFields(t *testing.T) []apiField {
	t.Helper()
	var fields []apiField
	for _, file := range apiFiles(t) {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			structure, ok := spec.Type.(*ast.StructType)
			if !ok || strings.HasSuffix(spec.Name.Name, "List") {
				return true
			}
			for i, field := range structure.Fields.List {
				if len(field.Names) == 1 {
					fields = append(fields, newAPIField(spec.Name.Name, field, i == 0))
				}
			}
			return true
		})
	}
	return fields
}

func newAPIField(owner string, field *ast.Field, isFirst bool) apiField {
	f := apiField{owner: owner, name: field.Names[0].Name, typeText: typeText(field.Type), isFirst: isFirst}
	if field.Tag != nil {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		parts := strings.Split(tag, ",")
		f.json, f.options = parts[0], parts[1:]
	}
	if field.Doc == nil {
		return f
	}
	var doc []string
	for _, line := range field.Doc.List {
		text := strings.TrimSpace(strings.TrimPrefix(line.Text, "//"))
		if marker, isMarker := strings.CutPrefix(text, "+"); isMarker {
			f.markers = append(f.markers, marker)
			continue
		}
		doc = append(doc, text)
	}
	f.doc = strings.Join(doc, " ")
	return f
}

func typeText(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.MapType:
		return "map[" + typeText(e.Key) + "]" + typeText(e.Value)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	}
	return "?"
}
