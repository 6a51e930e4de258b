// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// buildPlugin builds kubectl-mongotuning once for a test.
func buildPlugin(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl-mongotuning")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/kubectl-mongotuning")
	command.Dir = filepath.Join("..", "..")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, output)
	}
	return path
}

// runPlugin runs it in the namespace of the test, and returns what it prints and its code.
func (c *cluster) runPlugin(t *testing.T, program string, args ...string) (string, int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, append(args, "--namespace", c.namespace)...)
	output, err := command.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%v: %v", args, err)
	}
	return string(output), command.ProcessState.ExitCode()
}

// isShownByThePlugin walks the way of somebody on call: look, forecast, change, see what became of it, and
// hand in the report.
func (c *cluster) isShownByThePlugin(t *testing.T) {
	g := gomega.NewWithT(t)
	program := buildPlugin(t)
	expect := func(code int, words []string, args ...string) string {
		out, got := c.runPlugin(t, program, args...)
		g.Expect(got).To(gomega.Equal(code), "%v:\n%s", args, out)
		for _, word := range words {
			g.Expect(out).To(gomega.ContainSubstring(word), "%v", args)
		}
		return out
	}
	expect(0, append(c.allMembers(t), "True", "9/9"), "status", c.name)
	expect(0, []string{"Every declared value was read back from every member."}, "diff", c.name)

	// The way through the operator's metrics, as administrators have it.
	var live struct {
		Figures struct{ Source string }
		Members []struct{ DirtyCachePercent, ReplicationLagSeconds *float64 }
	}
	g.Expect(json.Unmarshal([]byte(expect(0, nil, "status", c.name, "-o", "json")), &live)).To(gomega.Succeed())
	g.Expect(live.Figures.Source).To(gomega.Equal("Metrics"))
	for _, member := range live.Members {
		g.Expect(member.DirtyCachePercent).NotTo(gomega.BeNil())
	}

	next := c.tuning(t)
	file := &v1alpha1.MongoTuning{TypeMeta: next.TypeMeta, ObjectMeta: next.ObjectMeta, Spec: next.Spec}
	file.ManagedFields, file.ResourceVersion = nil, ""
	file.APIVersion, file.Kind = v1alpha1.GroupVersion.String(), "MongoTuning"
	trigger := int32(24)
	if eviction := next.Spec.Tuning.Eviction; eviction.DirtyTriggerPercent != nil && *eviction.DirtyTriggerPercent == trigger {
		trigger = 23
	}
	file.Spec.Tuning.Eviction.DirtyTriggerPercent = &trigger
	text, err := yaml.Marshal(file)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	path := filepath.Join(t.TempDir(), "next.yaml")
	g.Expect(os.WriteFile(path, text, 0o600)).To(gomega.Succeed())
	before := c.tuning(t).Generation
	forecast := expect(0, []string{"eviction.dirtyTriggerPercent", "online", "nobody restarts", "CanarySoak"}, "plan", "-f", path)
	g.Expect(c.tuning(t).Generation).To(gomega.Equal(before), "a forecast changed the object")

	c.patch(t, fmt.Sprintf(`{"spec":{"tuning":{"eviction":{"dirtyTriggerPercent":%d}}}}`, trigger))
	c.settle(t)
	revision := c.tuning(t).Status.Revisions.Verified
	g.Expect(forecast).To(gomega.ContainSubstring(revision), "another revision travelled than was forecast")
	expect(0, []string{revision, "Verified", "eviction.dirtyTriggerPercent"}, "history", c.name)

	page := filepath.Join(t.TempDir(), "report.html")
	expect(0, []string{"verified"}, "report", c.name, "--file", page)
	html, err := os.ReadFile(page)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, word := range []string{revision, "eviction.dirtyTriggerPercent", "Dirty cache percent", "<polyline", "CanarySoak", "Replication lag"} {
		g.Expect(string(html)).To(gomega.ContainSubstring(word))
	}
	t.Logf("%s is forecast, applied and reported on %d bytes of page", revision, len(html))

	expect(0, []string{"is suspended"}, "suspend", c.name)
	await(t, promptly, "the operator does not see the suspension", func(g gomega.Gomega) {
		g.Expect(statusOf(c.tuning(t), v1alpha1.ConditionSuspended)).To(gomega.BeEquivalentTo("True"))
	})
	expect(0, []string{"goes on"}, "resume", c.name)
	expect(1, []string{"nothing to try again"}, "retry", c.name)
	expect(1, []string{"there is no MongoTuning nobody"}, "status", "nobody")
}
