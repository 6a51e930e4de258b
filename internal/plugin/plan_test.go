// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// demoFile is the sample, after some words were replaced, in a file.
func demoFile(t *testing.T, replacements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "demo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(replacements...).Replace(string(text))
	if len(replacements) > 0 && changed == string(text) {
		t.Fatalf("%v is not in the sample", replacements)
	}
	file := filepath.Join(t.TempDir(), "demo.yaml")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPlanIsGolden(t *testing.T) {
	d := newDesk(t)
	old := demoFile(t)
	larger := demoFile(t, "dirtyTriggerPercent: 30", "dirtyTriggerPercent: 25", "serviceExecutor: adaptive", "serviceExecutor: synchronous",
		"cacheSizeGB: 0.25", "cacheSizeGB: 0.5", "memory: 768Mi", "memory: 1Gi")
	golden(t, "plan/new.txt", d.prints("plan", "-f", old))
	golden(t, "plan/nothing.txt", d.prints("plan", "-f", old, "--against", old))
	golden(t, "plan/change.txt", d.prints("plan", "-f", larger, "--against", old))
	golden(t, "plan/change.yaml", d.prints("plan", "-f", larger, "--against", old, "-o", "yaml"))
	golden(t, "plan/limits.txt", d.prints("plan", "-f", demoFile(t, "leadSoakSeconds: 15", "leadSoakSeconds: 60"), "--against", old))
}

// TestPlansThatAreRefused has a row for each that refuses: the schema, its rules, the catalogue, the profile,
// the API server.
func TestPlansThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		name string
		file []string
		says []string
	}{
		{"a field that does not exist", []string{"cacheSizeGB: 0.25\n    eviction", "cacheSize: 1\n    eviction"}, []string{"spec.tuning.cacheSize: there is no such field"}},
		{"a bound", []string{"threadsMax: 18", "threadsMax: 21"}, []string{"spec.tuning.eviction.threadsMax", "20"}},
		{"a rule", []string{"dirtyTargetPercent: 3", "dirtyTargetPercent: 40"}, []string{"spec.tuning.eviction"}},
		{"what cannot be changed", []string{"members: 3", "members: 5"}, []string{"spec.shards.members", "not supported yet"}},
		{"a version without the knobs", []string{"4.4.2", "4.4.3", "serviceExecutor: adaptive", "initialServiceExecutorThreadingModel: borrowed"}, []string{"is not supported by MongoDB 4.4"}},
		{"a profile that does not exist", []string{"  tuning:\n    # The production", "  profileRef: {name: million-tsp-v3}\n  tuning:\n    # The production"}, []string{"profileRef.name", "did you mean million-tps-v3"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, err := newDesk(t).run("plan", "-f", demoFile(t, row.file...), "--against", demoFile(t))
			if ExitCode(err) != refusedCode {
				t.Errorf("ends with code %d (%v)", ExitCode(err), err)
			}
			contains(t, out, append(row.says, "would be refused", "Nothing was applied")...)
		})
	}
}

func TestAPolicyOfTheClusterRefuses(t *testing.T) {
	for _, row := range []struct {
		name    string
		err     error
		refused bool
		says    string
	}{
		{"a policy", apierrors.NewForbidden(tuningsResource.GroupResource(), "demo", errors.New("admission webhook denied the request: caches over 1 GB need a ticket")), true, "need a ticket"},
		{"no right to write", apierrors.NewForbidden(tuningsResource.GroupResource(), "demo", errors.New(`User "x" cannot update resource`)), false, "would change"},
		{"a busy server", apierrors.NewTimeoutError("busy", 1), false, "the API server was not asked"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := before(t, "changed", 5)
			d.dynamic.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, row.err })
			out, errOut, err := d.runFor(t.Context(), "plan", "-f", demoFile(t), "-n", d.namespace)
			if (ExitCode(err) == refusedCode) != row.refused {
				t.Errorf("ends with code %d: %v", ExitCode(err), err)
			}
			contains(t, out+errOut, row.says)
		})
	}
}

func TestPlanNeedsNoCluster(t *testing.T) {
	d := newDesk(t)
	d.offline = unconfigured(nil)
	out, errOut, err := d.runFor(t.Context(), "plan", "-f", demoFile(t))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "would be made anew")
	contains(t, errOut, "warning: compared with nothing")
	out, errOut, err = d.runFor(t.Context(), "plan", "--offline", "-f", demoFile(t))
	if err != nil || errOut != "" {
		t.Errorf("%v, warned of %q", err, errOut)
	}
	contains(t, out, "would be made anew")
}

// TestPlanUsesTheProfileOfTheFile has a profile that is only in the file, in a document of its own.
func TestPlanUsesTheProfileOfTheFile(t *testing.T) {
	file := demoFile(t, "  tuning:\n    # The production", "  profileRef: {name: ours}\n  tuning:\n    # The production")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	profile := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n# nothing\n---\napiVersion: mongotuning.io/v1alpha1\nkind: TuningProfile\nmetadata: {name: ours}\nspec: {tuning: {slowOperations: {thresholdMilliseconds: 50}}}\n"
	if err := os.WriteFile(file, append([]byte(profile+"---\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, newDesk(t).prints("plan", "-f", file), "slowOperations.thresholdMilliseconds 50 online Profile")
}

func TestFilesThatCannotBePlanned(t *testing.T) {
	d := newDesk(t)
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "file.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	contains(t, d.fails("plan"), `required flag(s) "filename" not set`)
	contains(t, d.fails("plan", "-f", "no-such-file.yaml"), "read file", "no such file")
	contains(t, d.fails("plan", "-f", write("apiVersion: v1\nkind: Pod\n")), "there is no MongoTuning in")
	contains(t, d.fails("plan", "-f", write("a: [")), "document 1: read YAML")
	contains(t, d.fails("plan", "-f", write("apiVersion: mongotuning.io/v9\nkind: MongoTuning\n")), "apiVersion is mongotuning.io/v9", "knows mongotuning.io/v1alpha1")
}

// TestWhatAChangeWaitsFor has a row for each reason not to begin, or not to go on.
func TestWhatAChangeWaitsFor(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*v1alpha1.MongoTuning)
		says   string
	}{
		{"suspended", func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Suspend = new(true) }, "changes are suspended"},
		{"another change on its way", func(tuning *v1alpha1.MongoTuning) {
			tuning.Status.Rollout = v1alpha1.RolloutStatus{Revision: "demo-other", Step: v1alpha1.StepCanarySoak}
		}, "take the place of revision demo-other, which has come to step CanarySoak"},
		{"a limit is broken", func(tuning *v1alpha1.MongoTuning) {
			tuning.Status.Breaches = []v1alpha1.Breach{{Limit: "dirty-cache", Member: "demo-shard-0-0", Enforcement: v1alpha1.EnforcementEnforce}}
		}, "dirty-cache is out of range now, so members would restart only after kubectl mongotuning proceed demo"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := before(t, "changed", 5)
			d.change(row.change)
			contains(t, d.prints("plan", "-f", demoFile(t)), "Before it begins", row.says)
		})
	}
}

func TestAProfileThatWasTakenBackElsewhere(t *testing.T) {
	other := tuningNamed("shop", "orders")
	other.UID, other.Status.Revisions.FailedProfile = "other", "million-tps-v3"
	d := before(t, "changed", 5, other)
	file := demoFile(t, "  tuning:\n    # The production", "  profileRef: {name: million-tps-v3}\n  tuning:\n    # The production")
	contains(t, d.prints("plan", "-f", file), "profile million-tps-v3 was taken back on shop/orders and is held back here")
}
