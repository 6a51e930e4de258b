// SPDX-License-Identifier: Apache-2.0

//go:build promtool

package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
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
