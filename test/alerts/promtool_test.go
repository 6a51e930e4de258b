// SPDX-License-Identifier: Apache-2.0

//go:build promtool

package alerts

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// promtool runs promtool, which PROMTOOL names; make alerts-test sets it.
func promtool(t *testing.T, arguments ...string) {
	t.Helper()
	program := os.Getenv("PROMTOOL")
	if program == "" {
		t.Fatal("PROMTOOL does not say where promtool is; run make alerts-test")
	}
	if output, err := exec.CommandContext(t.Context(), program, arguments...).CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", arguments, err, output)
	}
}

func TestRulesAreValid(t *testing.T) {
	for _, file := range []string{ownRules, othersRules} {
		promtool(t, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(rulesFolder, file))
	}
}

func TestAlertsFireAndAreSilent(t *testing.T) {
	for _, file := range testFiles(t) {
		t.Run(file, func(t *testing.T) { promtool(t, "test", "rules", file) })
	}
}

// TestQueriesOfTheDashboardParse gives the queries to promtool as recording rules, which it parses.
func TestQueriesOfTheDashboardParse(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	queries := dashboardQueries(t)
	for i, where := range slices.Sorted(maps.Keys(queries)) {
		fmt.Fprintf(&rules, "  - record: dashboard:query%d # %s\n    expr: %q\n", i, where, queries[where])
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint=none", file)
}

// TestScrapeConfigOfTheDocsIsValid takes the configuration from the page as a reader would, but for how
// the operator is found: Debian builds Prometheus without Kubernetes.
func TestScrapeConfigOfTheDocsIsValid(t *testing.T) {
	_, rest, found := strings.Cut(read(t, filepath.Join(root, "docs", "monitoring.md")), "\n## With a Prometheus of your own\n\n")
	if !found {
		t.Fatal("docs/monitoring.md has no such section")
	}
	var config strings.Builder
	for line := range strings.Lines(rest) {
		code, isCode := strings.CutPrefix(line, "    ")
		if !isCode {
			break
		}
		config.WriteString(code)
	}
	before, discovery, _ := strings.Cut(config.String(), "  kubernetes_sd_configs:\n")
	_, after, isFound := strings.Cut(discovery, "  relabel_configs:\n")
	if !isFound {
		t.Fatalf("the configuration does not say how the operator is found:\n%s", config.String())
	}
	checked := before + "  static_configs:\n  - targets: [operator:8443]\n  relabel_configs:\n" + after
	directory := t.TempDir()
	for name, content := range map[string]string{
		"prometheus.yaml": checked, "mongotuning.yaml": read(t, filepath.Join(rulesFolder, ownRules)), "token": "secret",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, "check", "config", filepath.Join(directory, "prometheus.yaml"))
	for _, want := range []string{"honor_labels: true", "mongotuning.yaml", "https"} {
		if !strings.Contains(config.String(), want) {
			t.Errorf("the configuration lacks %s", want)
		}
	}
}
