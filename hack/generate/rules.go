// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// rulesPath is the source of the alerts, rulePath the object that is made of it.
	rulesPath = "config/prometheus/rules/mongotuning.yaml"
	rulePath  = "config/prometheus/prometheus_rule.yaml"
)

const ruleHead = `# Generated from rules/mongotuning.yaml by "make generate"; do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: mongotuning
  namespace: mongotuning-system
  labels:
    app.kubernetes.io/name: mongotuning-operator
spec:
`

// prometheusRule wraps the groups of the source for the Prometheus Operator, which takes the same text one
// level deeper.
func prometheusRule(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, rulesPath)) //nolint:gosec // a file of this repository
	if err != nil {
		return "", fmt.Errorf("read the alerts: %w", err)
	}
	_, groups, found := strings.Cut(string(source), "\ngroups:\n")
	if !found {
		return "", fmt.Errorf("%s has no groups", rulesPath)
	}
	var rule strings.Builder
	rule.WriteString(ruleHead)
	for line := range strings.Lines("groups:\n" + groups) {
		if strings.TrimSpace(line) != "" {
			line = "  " + line
		}
		rule.WriteString(line)
	}
	return rule.String(), nil
}
