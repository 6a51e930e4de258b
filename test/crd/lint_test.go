// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// exception lifts one API rule for one field, with the reason why. A path is as users write it, without
// the [0] of lists.
type exception struct {
	rule   string
	path   string
	reason string
}

var exceptions = []exception{
	{"nofloats", "tuning.cacheSizeGB", "mongod's own option, name and unit; a quantity would invite 50G for what mongod calls 50"},
	{"nofloats", "configServers.tuning.cacheSizeGB", "as tuning.cacheSizeGB"},
	{"nofloats", "configServerTuning.cacheSizeGB", "as tuning.cacheSizeGB"},
	{"nobools", "suspend", "the Kubernetes name and type for this, as in Job and CronJob"},
	{"nobools", "tuning.enableMajorityReadConcern", "mongod's own option, which takes true or false"},
	{"nobools", "tuning.flowControl.enabled", "the server's own parameter, which takes true or false"},
	{"nobools", "tuning.ttlMonitor.enabled", "the server's own parameter, which takes true or false"},
	{"nobools", "status.members.pendingRestart", "an observation with two answers; the third, not asked, is role Unknown"},
	{"nomaps", "shards.placement.nodeSelector", "the shape of a pod's nodeSelector, which people paste here"},
	{"nomaps", "configServers.placement.nodeSelector", "as shards.placement.nodeSelector"},
	{"nomaps", "mongos.placement.nodeSelector", "as shards.placement.nodeSelector"},
	{"maxlength", "status.conditions.lastTransitionTime", "a time, which has a format"},
	{"maxlength", "status.rollout.since", "a time, which has a format"},
	{"maxlength", "status.breaches.since", "a time, which has a format"},
	{"maxlength", "status.hostTuning.nodes.reportTime", "a time, which has a format"},
	{"maxlength", "status.waiting.since", "a time, which has a format"},
}

// finding is one broken API rule.
type finding struct {
	rule string
	path string
	text string
}

// apiRule looks at one field of the schema and answers what is wrong with it, or nothing.
type apiRule struct {
	name  string
	check func(path string, node *apiextensionsv1.JSONSchemaProps) string
}

// apiRules are named as in kube-api-linter; each is a rule of the Kubernetes API conventions.
var apiRules = []apiRule{
	{"documented", func(_ string, node *apiextensionsv1.JSONSchemaProps) string {
		return when(node.Description == "", "has no description")
	}},
	{"nofloats", func(_ string, node *apiextensionsv1.JSONSchemaProps) string {
		return when(node.Type == "number", "is a float: floats do not survive all clients unchanged")
	}},
	{"nobools", func(_ string, node *apiextensionsv1.JSONSchemaProps) string {
		return when(node.Type == "boolean", "is a bool: a third answer will not fit in")
	}},
	{"nomaps", func(_ string, node *apiextensionsv1.JSONSchemaProps) string {
		return when(node.AdditionalProperties != nil, "is a map: a list of named objects can grow fields")
	}},
	{"nonullable", func(_ string, node *apiextensionsv1.JSONSchemaProps) string {
		return when(node.Nullable, "is nullable: leaving out and null would mean two things")
	}},
	{"integers", checkInteger},
	{"maxlength", checkLength},
	{"maxitems", checkList},
	{"nophase", func(path string, _ *apiextensionsv1.JSONSchemaProps) string {
		return when(lastName(path) == "phase", "is a phase: conditions say more")
	}},
	{"notimestamp", func(path string, _ *apiextensionsv1.JSONSchemaProps) string {
		return when(strings.HasSuffix(strings.ToLower(path), "timestamp"), "must end in Time")
	}},
	{"noreferences", func(path string, _ *apiextensionsv1.JSONSchemaProps) string {
		return when(strings.HasSuffix(path, "Reference"), "must end in Ref")
	}},
	{"nodurations", func(path string, node *apiextensionsv1.JSONSchemaProps) string {
		isDuration := node.Format == "duration" || regexp.MustCompile(`(Duration|Timeout|Period|Interval|Deadline)$`).MatchString(path)
		return when(isDuration, "must be an integer with the unit in its name, as in periodSeconds")
	}},
	{"camelcase", func(path string, _ *apiextensionsv1.JSONSchemaProps) string {
		return when(!regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`).MatchString(lastName(path)), "is not camelCase")
	}},
	{"conflictingmarkers", checkDefaultedRequired},
	{"nodefaultsinlists", func(path string, node *apiextensionsv1.JSONSchemaProps) string {
		return when(strings.Contains(path, "[0]") && node.Default != nil,
			"has a default inside a list: a GitOps diff, which takes lists whole, would never end")
	}},
	{"structuredenums", func(_ string, node *apiextensionsv1.JSONSchemaProps) string {
		return when(node.Enum != nil && node.Type != "string", "is an enum that is no string")
	}},
	{"messages", checkMessages},
}

func when(broken bool, text string) string {
	if broken {
		return text
	}
	return ""
}

// checkInteger wants int32 or int64 with both ends in spec. Status counts what is there: it needs the
// lower end only.
func checkInteger(path string, node *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case node.Type != "integer":
		return ""
	case node.Format != "int32" && node.Format != "int64":
		return "must be int32 or int64"
	case node.Minimum == nil:
		return "has no minimum"
	case node.Maximum == nil && strings.HasPrefix(path, "spec"):
		return "has no maximum"
	}
	return ""
}

func checkLength(_ string, node *apiextensionsv1.JSONSchemaProps) string {
	isFree := node.Type == "string" && node.Enum == nil && !node.XIntOrString
	return when(isFree && node.MaxLength == nil, "has no maxLength")
}

func checkList(_ string, node *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case node.AdditionalProperties != nil && node.MaxProperties == nil:
		return "has no maxProperties"
	case node.Type != "array":
		return ""
	case node.MaxItems == nil:
		return "has no maxItems"
	case node.XListType == nil:
		return "has no listType"
	case *node.XListType == "map" && len(node.XListMapKeys) == 0:
		return "has listType map and no listMapKey"
	}
	return ""
}

func checkDefaultedRequired(_ string, node *apiextensionsv1.JSONSchemaProps) string {
	for name, child := range node.Properties {
		if child.Default != nil && slices.Contains(node.Required, name) {
			return "requires " + name + " and has a default for it"
		}
	}
	return ""
}

// checkMessages wants messages that say what is allowed, in words.
func checkMessages(_ string, node *apiextensionsv1.JSONSchemaProps) string {
	for _, rule := range node.XValidations {
		_, afterName, _ := strings.Cut(rule.Message, "must ")
		switch {
		case afterName == "":
			return "has a rule whose message does not say what must be: " + rule.Rule
		case strings.ContainsAny(rule.Message, "<>=`\n"):
			return "has a message with signs instead of words: " + rule.Message
		case strings.HasSuffix(rule.Message, "."):
			return "has a message with a full stop, which kubectl puts into the middle of a line: " + rule.Message
		}
	}
	return ""
}

func lastName(path string) string {
	name := path[strings.LastIndex(path, ".")+1:]
	return strings.TrimSuffix(strings.TrimSuffix(name, "[0]"), "[*]")
}

func TestAPIConventionsOfTheSchema(t *testing.T) {
	var findings []finding
	for kind := range crdFiles {
		walk(definitionOf(t, kind).crd, func(path string, node *apiextensionsv1.JSONSchemaProps) {
			if path != "spec" && path != "status" && !strings.HasPrefix(path, "spec.") && !strings.HasPrefix(path, "status.") {
				return
			}
			for _, rule := range apiRules {
				isItem := strings.HasSuffix(path, "]")
				if isItem && (rule.name == "documented" || rule.name == "camelcase" || rule.name == "maxlength") {
					continue
				}
				if text := rule.check(path, node); text != "" {
					findings = append(findings, finding{rule.name, path, text})
				}
			}
		})
	}
	report(t, findings)
}

// report fails for findings without an exception, and for exceptions without a finding.
func report(t *testing.T, findings []finding) {
	t.Helper()
	used := map[exception]bool{}
	for _, f := range findings {
		path := strings.TrimPrefix(strings.NewReplacer("[0]", "", "[*]", "").Replace(f.path), "spec.")
		index := slices.IndexFunc(exceptions, func(e exception) bool { return e.rule == f.rule && e.path == path })
		if index < 0 {
			t.Errorf("%s: %s %s", f.rule, f.path, f.text)
			continue
		}
		used[exceptions[index]] = true
	}
	for _, e := range exceptions {
		if e.reason == "" || !used[e] {
			t.Errorf("the exception of %s from %s is not needed or has no reason", e.path, e.rule)
		}
	}
}
