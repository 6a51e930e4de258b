// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// screens are what docs/plugin.md shows, by their golden files: a real cluster, and what is said of it.
func screens(t *testing.T) map[string]string {
	t.Helper()
	soaking := before(t, "soaking", 5)
	reopenAs(t, soaking)
	diff, _ := before(t, "restarting", 5).run("diff", "demo")
	waiting := before(t, "ready", 5)
	waiting.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Status.Rollout = v1alpha1.RolloutStatus{Revision: tuning.Status.Revisions.Current, Step: v1alpha1.StepCanary, BreachedBefore: []string{"dirty-cache"}}
	})
	return map[string]string{
		"status.txt":  soaking.prints("status", "demo"),
		"diff.txt":    diff,
		"history.txt": before(t, "returned", 60).prints("history", "demo"),
		"plan.txt": planned(t, func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Tuning.Eviction.DirtyTriggerPercent = new(int32(20))
			executor := v1alpha1.ServiceExecutorSynchronous
			tuning.Spec.Tuning.ServiceExecutor = &executor
		}),
		"refused.txt": planned(t, func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Shards.Members = 5
			tuning.Spec.Tuning.Eviction.DirtyTargetPercent = new(int32(40))
		}),
		"explain.txt":  newDesk(t).prints("explain", "eviction.dirtyTriggerPercent"),
		"profiles.txt": newDesk(t, profileNamed(t, "million-tps-v3")).prints("profiles"),
		"suspend.txt":  before(t, "soaking", 5).prints("suspend", "demo"),
		"retry.txt":    before(t, "returned", 5).prints("retry", "demo"),
		"proceed.txt":  waiting.prints("proceed", "demo"),
	}
}

// planned is what a plan says of the demo after its first change.
func planned(t *testing.T, change func(*v1alpha1.MongoTuning)) string {
	t.Helper()
	d := before(t, "changed", 60)
	tuning := read[v1alpha1.MongoTuning](t, "testdata/cluster/changed.yaml")
	change(tuning)
	tuning.Status = v1alpha1.MongoTuningStatus{}
	text, err := yaml.Marshal(tuning)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "demo.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := d.run("plan", "-f", file)
	return out
}

// TestScreensOfTheDocs holds every screen of docs/plugin.md to what the commands print.
func TestScreensOfTheDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "plugin.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, screen := range screens(t) {
		golden(t, "docs/"+name, screen)
		var shown strings.Builder
		for line := range strings.Lines(strings.TrimRight(screen, "\n")) {
			if strings.TrimSpace(line) != "" {
				line = "    " + line
			}
			shown.WriteString(line)
		}
		if !strings.Contains(string(text), shown.String()) {
			t.Errorf("docs/plugin.md does not show testdata/docs/%s as it is", name)
		}
	}
}
