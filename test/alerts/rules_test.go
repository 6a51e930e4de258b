// SPDX-License-Identifier: Apache-2.0

// Package alerts holds the alerts to what there is: metrics, gauges, conditions, runbooks, tests. Beside it
// lie the tests of the alerts themselves, which promtool runs (make alerts-test).
package alerts

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/metrics"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/promql"
	"github.com/mongotuning/mongotuning/test/source"
)

const (
	root         = "../.."
	rulesFolder  = root + "/config/prometheus/rules"
	ownRules     = "mongotuning.yaml"
	othersRules  = "mongodb-exporter.yaml"
	runbooksPath = "docs/runbooks"
)

// rule is one alert.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rules are the alerts of one file, by name.
func rules(t *testing.T, file string) map[string]rule {
	t.Helper()
	var parsed ruleFile
	if err := yaml.UnmarshalStrict([]byte(read(t, filepath.Join(rulesFolder, file))), &parsed); err != nil {
		t.Fatal(err)
	}
	found := map[string]rule{}
	for _, group := range parsed.Groups {
		for _, one := range group.Rules {
			if _, twice := found[one.Alert]; twice {
				t.Errorf("%s is there twice", one.Alert)
			}
			found[one.Alert] = one
		}
	}
	if len(found) < 5 {
		t.Fatalf("%s has %d alerts only", file, len(found))
	}
	return found
}

func all(t *testing.T) map[string]rule {
	t.Helper()
	both := rules(t, ownRules)
	maps.Copy(both, rules(t, othersRules))
	return both
}

var severities = []string{"critical", "warning", "info"}

func TestEveryAlertSaysWhatAPersonNeeds(t *testing.T) {
	for name, alert := range all(t) {
		if !strings.HasPrefix(name, "MongoTuning") {
			t.Errorf("%s does not say which component it is of", name)
		}
		if !slices.Contains(severities, alert.Labels["severity"]) || len(alert.Labels) != 1 {
			t.Errorf("%s: labels are %v, want a severity of %v and nothing else", name, alert.Labels, severities)
		}
		if len(alert.Annotations) != 3 || alert.Annotations["description"] == "" {
			t.Errorf("%s: annotations are %v, want summary, description and runbook_url", name, slices.Sorted(maps.Keys(alert.Annotations)))
		}
		if !strings.Contains(alert.Annotations["summary"], "{{") && name != "MongoTuningOperatorDown" {
			t.Errorf("%s: the summary names neither an object nor a number", name)
		}
	}
}

const runbookBase = "https://github.com/mongotuning/mongotuning/blob/main/" + runbooksPath + "/"

func TestEveryAlertHasARunbook(t *testing.T) {
	wanted := map[string]bool{"README.md": true}
	own := rules(t, ownRules)
	for name, alert := range all(t) {
		page, ok := strings.CutPrefix(alert.Annotations["runbook_url"], runbookBase)
		if !ok {
			t.Errorf("%s: runbook_url %q does not begin with %s", name, alert.Annotations["runbook_url"], runbookBase)
			continue
		}
		if _, isOwn := own[name]; isOwn && page != name+".md" {
			t.Errorf("%s leads to the runbook %s", name, page)
		}
		wanted[page] = true
		text := read(t, filepath.Join(root, runbooksPath, page))
		title, at := strings.TrimSuffix(page, ".md"), 0
		for _, heading := range []string{"# " + title + "\n", "\n## Meaning\n", "\n## Impact\n", "\n## Diagnosis\n", "\n## Mitigation\n"} {
			next := strings.Index(text[at:], heading)
			if next < 0 {
				t.Errorf("%s has no heading %q at its place", page, strings.TrimSpace(heading))
				break
			}
			at += next
		}
		if !strings.Contains(text, "kubectl ") {
			t.Errorf("%s names no command", page)
		}
	}
	files, err := filepath.Glob(filepath.Join(root, runbooksPath, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	index := read(t, filepath.Join(root, runbooksPath, "README.md"))
	for _, file := range files {
		name := filepath.Base(file)
		if !wanted[name] {
			t.Errorf("runbook %s is of no alert", name)
		}
		if name != "README.md" && !strings.Contains(index, "("+name+")") {
			t.Errorf("the list of runbooks does not have %s", name)
		}
	}
}

// tests of promtool, as far as they are looked at here.
type unitTests struct {
	Files []string `json:"rule_files"`
	Tests []struct {
		Alerts []struct {
			Name     string `json:"alertname"`
			Expected []any  `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

func TestEveryAlertIsTestedBothWays(t *testing.T) {
	known := all(t)
	for name := range known {
		var parsed unitTests
		if err := yaml.Unmarshal([]byte(read(t, name+".yaml")), &parsed); err != nil {
			t.Fatal(err)
		}
		fires, isSilent := 0, 0
		for _, story := range parsed.Tests {
			for _, alert := range story.Alerts {
				switch {
				case alert.Name != name:
					t.Errorf("%s.yaml tests %s", name, alert.Name)
				case len(alert.Expected) > 0:
					fires++
				default:
					isSilent++
				}
			}
		}
		if fires == 0 || isSilent == 0 {
			t.Errorf("%s.yaml looks at %d moments at which it fires and %d at which it does not; want both", name, fires, isSilent)
		}
	}
	for _, file := range testFiles(t) {
		if _, isAlert := known[strings.TrimSuffix(file, ".yaml")]; !isAlert {
			t.Errorf("%s tests no alert there is", file)
		}
	}
}

func testFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no tests of alerts (%v)", err)
	}
	return files
}

// fromRuntime are the metrics of controller-runtime that alerts and dashboards use; the end-to-end test of
// alerts scrapes them.
var fromRuntime = []string{
	"controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_total",
}

// fromExporter are metrics of percona/mongodb_exporter: "ss" is serverStatus, "rs" replSetGetStatus, and
// what follows is the path in the answer with underscores; the last two come with --compatible-mode.
var fromExporter = []string{
	"mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", "mongodb_ss_wt_cache_maximum_bytes_configured",
	"mongodb_ss_wt_cache_bytes_currently_in_the_cache", "mongodb_ss_wt_cache_pages_evicted_by_application_threads",
	"mongodb_rs_members_optimeDate", "mongodb_rs_myState",
	"mongodb_mongod_replset_oplog_head_timestamp", "mongodb_mongod_replset_oplog_tail_timestamp",
}

var inTemplate = regexp.MustCompile(`printf "((?:[^"\\]|\\.)*)"`)

// queries are the expression of an alert and the queries in its annotations.
func queries(alert rule) []string {
	found := []string{alert.Expr}
	for _, text := range alert.Annotations {
		for _, match := range inTemplate.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "{") {
				found = append(found, match[1])
			}
		}
	}
	return found
}

func TestExpressionsUseMetricsThatExist(t *testing.T) {
	count := 0
	for name, alert := range rules(t, ownRules) {
		for _, query := range queries(alert) {
			for _, selector := range promql.Selectors(query) {
				count++
				labels, known := metrics.Labels(selector.Metric)
				if !known {
					if !slices.Contains(fromRuntime, selector.Metric) {
						t.Errorf("%s uses %s, which nobody serves", name, selector.Metric)
					}
					continue
				}
				for label := range selector.Matchers {
					if !slices.Contains(labels, label) {
						t.Errorf("%s: %s has no label %s", name, selector.Metric, label)
					}
				}
			}
		}
	}
	if count < 30 {
		t.Errorf("found %d metrics only", count)
	}
	for name, alert := range rules(t, othersRules) {
		for _, selector := range promql.Selectors(alert.Expr) {
			if !slices.Contains(fromExporter, selector.Metric) {
				t.Errorf("%s uses %s, which the exporter does not serve", name, selector.Metric)
			}
		}
	}
}

// labelValues are all values of the labels whose values are words of ours.
func labelValues(t *testing.T) map[string][]string {
	t.Helper()
	values := map[string][]string{
		"status": {string(metav1.ConditionTrue), string(metav1.ConditionFalse), string(metav1.ConditionUnknown)},
		"step":   {metrics.Done},
	}
	for _, gauge := range verify.Gauges() {
		values["gauge"] = append(values["gauge"], string(gauge.Name))
	}
	for _, verdict := range verify.Verdicts() {
		values["verdict"] = append(values["verdict"], string(verdict))
	}
	for name, value := range source.Constants(t, root+"/api/v1alpha1/*_types.go") {
		switch {
		case strings.HasPrefix(name, "Condition"):
			values["type"] = append(values["type"], value)
		case strings.HasPrefix(name, "Step"):
			values["step"] = append(values["step"], value)
		}
	}
	return values
}

func TestExpressionsUseWordsThatExist(t *testing.T) {
	known := labelValues(t)
	for name, alert := range rules(t, ownRules) {
		for _, query := range queries(alert) {
			for _, selector := range promql.Selectors(query) {
				for label, matcher := range selector.Matchers {
					allowed, isOurs := known[label]
					for _, value := range promql.Values(matcher) {
						if isOurs && !slices.Contains(allowed, value) {
							t.Errorf("%s: %s is no %s of %s; there are %v", name, value, label, selector.Metric, allowed)
						}
					}
				}
			}
		}
	}
}

// TestEveryGaugeHasOneAlert proves that a breach of any limit is told, and by one alert only.
func TestEveryGaugeHasOneAlert(t *testing.T) {
	var byName, leftOut []string
	for name, alert := range rules(t, ownRules) {
		for _, selector := range promql.Selectors(alert.Expr) {
			if selector.Matchers["verdict"] != `="Breached"` || strings.Contains(alert.Expr, "unless") {
				continue
			}
			if matcher := selector.Matchers["gauge"]; strings.HasPrefix(matcher, "!~") {
				leftOut = append(leftOut, promql.Values(matcher)...)
			} else {
				byName = append(byName, promql.Values(matcher)...)
			}
			if alert.For != "" {
				t.Errorf("%s waits for %s besides the time that is part of the limit", name, alert.For)
			}
		}
	}
	slices.Sort(byName)
	slices.Sort(leftOut)
	if len(byName) == 0 {
		t.Error("no alert is of one gauge")
	}
	if diff := cmp.Diff(byName, leftOut); diff != "" {
		t.Errorf("gauges with an alert of their own, and those that MongoTuningLimitBreached leaves out (-own +left out):\n%s", diff)
	}
}
