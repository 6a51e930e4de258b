// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// losesProcess ends a server's process in its pod after values were set online. The process that follows
// has to come up with the declared values by itself: from its file, not from a correction.
func (c *cluster) losesProcess(t *testing.T) {
	g := gomega.NewWithT(t)
	victim := c.secondary(t, c.shards(t)[0])
	declared := *c.tuning(t).Spec.Tuning.Eviction.DirtyTriggerPercent
	changed := declared + 1
	c.patch(t, fmt.Sprintf(`{"spec":{"tuning":{"eviction":{"dirtyTriggerPercent":%d}}}}`, changed))
	c.settle(t)
	before := c.podsNow(t)[victim]
	statuses := c.statuses(t)
	c.kill(t, before)
	awaitNoticed(t, statuses, victim+" is away", func(tuning *v1alpha1.MongoTuning) bool {
		return statusOf(tuning, v1alpha1.ConditionReady) != metav1.ConditionTrue
	})
	c.settle(t)
	after := c.podsNow(t)[victim]
	g.Expect(after.UID).To(gomega.Equal(before.UID), "the pod stays, only its process is another one")
	g.Expect(after.Status.ContainerStatuses[0].RestartCount).To(gomega.Equal(before.Status.ContainerStatuses[0].RestartCount + 1))
	started := mustRun(t, c.member(t, victim, new(c.memberIdentity(t))), one("getCmdLineOpts"))
	text, _ := started.Lookup("parsed", "storage", "wiredTiger", "engineConfig", "configString").StringValueOK()
	g.Expect(strings.Split(text, ",")).To(gomega.ContainElement(fmt.Sprintf("eviction_dirty_trigger=%d", changed)), "what the new process was started with")
	sent := mustRun(t, c.member(t, victim, new(c.memberIdentity(t))), runtimeConfig())
	found, _ := sent.Lookup("wiredTigerEngineRuntimeConfig").StringValueOK()
	g.Expect(found).To(gomega.BeEmpty(), "nothing had to be sent to it")
	t.Logf("%s ended with exit code %d and came back with %s", victim,
		after.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode, text)
	c.patch(t, fmt.Sprintf(`{"spec":{"tuning":{"eviction":{"dirtyTriggerPercent":%d}}}}`, declared))
}

// kill ends the database's process in a pod at once, as the kernel does that is short of memory. That can
// only be done from the node, by the id that the runtime gave the container: inside, the process is the
// first one, which no signal of its own kind kills. On a cluster whose nodes are elsewhere it is asked
// to end instead.
func (c *cluster) kill(t *testing.T, pod corev1.Pod) {
	t.Helper()
	if os.Getenv("CLUSTER") == "existing" {
		c.kubectl(t, "exec", pod.Name, "--", "sh", "-c", "kill -TERM 1")
		return
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil || id == "" {
		t.Fatalf("find the processes of container %q: %v", id, err)
	}
	for _, group := range groups {
		content, err := os.ReadFile(filepath.Clean(group))
		command, errCommand := os.ReadFile(filepath.Join(filepath.Dir(group), "cmdline"))
		if err != nil || errCommand != nil || !strings.Contains(string(content), id) || !strings.HasPrefix(string(command), "mongod\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(group)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill the mongod of %s: %v", pod.Name, err)
		}
		return
	}
	t.Fatalf("no mongod runs in container %s of %s on this machine", id, pod.Name)
}

// correctsWithinTwoLooks counts the operator's looks from the moment at which somebody sets a value by
// hand to the one at which it is back.
func (c *cluster) correctsWithinTwoLooks(t *testing.T) {
	g := gomega.NewWithT(t)
	pod := c.secondary(t, c.shards(t)[0])
	server := c.member(t, pod, new(c.memberIdentity(t)))
	token := c.readerToken(t)
	c.grantMetrics(t)
	before := 0
	await(t, promptly, "the looks cannot be counted", func(g gomega.Gomega) { before = c.looks(t, g, token) })
	setByHand(t, c, pod, "eviction_dirty_trigger=77")
	atMost := 0
	await(t, promptly, "what was set by hand stays in force on "+pod, func(g gomega.Gomega) {
		// Counted before asking, so that a look which follows the correction is not taken for the one that made it.
		atMost = c.looks(t, g, token) - before
		found, _ := mustRun(t, server, runtimeConfig()).Lookup("wiredTigerEngineRuntimeConfig").StringValueOK()
		g.Expect(found).NotTo(gomega.Equal("eviction_dirty_trigger=77"))
	})
	t.Logf("set back after at most %d looks", atMost)
	// One look may have been under way when the value was set, and have asked before; then two follow.
	g.Expect(atMost).To(gomega.BeNumerically("<=", 1+2), "looks from the change by hand to its correction")
}

// looks is how often the operator has looked at a cluster.
func (c *cluster) looks(t *testing.T, g gomega.Gomega, token string) int {
	t.Helper()
	_, page, err := c.metrics(t, token)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for line := range strings.Lines(page) {
		if value, found := strings.CutPrefix(line, "mongotuning_look_duration_seconds_count "); found {
			count, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			return int(count)
		}
	}
	g.Expect(page).To(gomega.ContainSubstring("mongotuning_look_duration_seconds_count"))
	return 0
}
