// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// loadPeriod is the time between two looks in the stories under load: the least there is.
const loadPeriod = 5

// looksSoon has the cluster looked at often, so that stories are short.
func (c *cluster) looksSoon(t *testing.T) {
	t.Helper()
	c.patch(t, fmt.Sprintf(`{"spec":{"verification":{"periodSeconds":%d}}}`, loadPeriod))
}

// expectWholeRollout holds the diaries of a change that restarts members to what it may cost: each member of the
// shards once, one at a time, and the lead of each shard moved once, or until the canary has it. The result are the members of each shard in the
// order in which they were restarted.
func (c *cluster) expectWholeRollout(t *testing.T, statuses *diary[*v1alpha1.MongoTuning], pods *diary[*corev1.Pod]) map[string][]string {
	t.Helper()
	g := gomega.NewWithT(t)
	restarted, leads := map[string][]string{}, leadsOf(t, statuses)
	for _, shard := range c.shards(t) {
		disturbed := disturbancesOf(t, pods, shard)
		restarted[shard] = disturbed.replaced
		g.Expect(disturbed.replaced).To(gomega.ConsistOf(c.members(t, shard)), "each member exactly once")
		g.Expect(disturbed.atOnce).To(gomega.Equal(1), "members of %s that were away at the same time", shard)
		// A secondary that is a moment ahead of the canary may win the first election and is asked to hand over in turn.
		most := 1
		if shard == c.canaryShard(t) {
			most = len(c.members(t, shard)) - 1
		}
		g.Expect(leads[shard]).To(gomega.And(gomega.BeNumerically(">=", 1), gomega.BeNumerically("<=", most)), "how often the lead of %s moved", shard)
	}
	config := disturbancesOf(t, pods, naming.ConfigServers(c.name))
	g.Expect(config.replaced).To(gomega.BeEmpty(), "config servers have nothing to restart for")
	g.Expect(config.atOnce).To(gomega.BeZero())
	g.Expect(stepsOf(t, statuses)).To(gomega.Equal([]v1alpha1.RolloutStep{
		v1alpha1.StepCanary, v1alpha1.StepCanarySoak, v1alpha1.StepCanaryLeads, v1alpha1.StepLeadSoak, v1alpha1.StepRestOfShard,
		v1alpha1.StepOtherShards, v1alpha1.StepConfigServers, v1alpha1.StepMongos, v1alpha1.StepVerifying,
	}))
	return restarted
}

// canaryShard is the shard whose secondary gets a change first.
func (c *cluster) canaryShard(t *testing.T) string {
	t.Helper()
	return c.shards(t)[0]
}

// leadsOf counts in a diary how often another member became the primary of each replica set.
func leadsOf(t *testing.T, statuses *diary[*v1alpha1.MongoTuning]) map[string]int {
	t.Helper()
	leads, last := map[string]int{}, map[string]string{}
	for _, e := range statuses.read(t) {
		for _, set := range e.object.Status.ReplicaSets {
			if set.Primary == "" {
				continue
			}
			if last[set.Name] != "" && last[set.Name] != set.Primary {
				leads[set.Name]++
			}
			last[set.Name] = set.Primary
		}
	}
	return leads
}

// stepsOf are the steps of a change in a diary.
func stepsOf(t *testing.T, statuses *diary[*v1alpha1.MongoTuning]) []v1alpha1.RolloutStep {
	t.Helper()
	var steps []v1alpha1.RolloutStep
	for _, e := range statuses.read(t) {
		if step := e.object.Status.Rollout.Step; step != "" && (len(steps) == 0 || steps[len(steps)-1] != step) {
			steps = append(steps, step)
		}
	}
	return steps
}

// nextRestartingChange is a change that restarts members, whichever of two values is declared: restartingChange, or the
// one that undoes it.
func (c *cluster) nextRestartingChange(t *testing.T) string {
	t.Helper()
	tuning := c.tuning(t).Spec.Tuning
	if c.isModern() {
		if model := tuning.InitialServiceExecutorThreadingModel; model != nil && *model == "borrowed" {
			return `{"spec":{"tuning":{"initialServiceExecutorThreadingModel":"dedicated"}}}`
		}
		return c.restartingChange()
	}
	if c.keepsHistory(t) {
		return `{"spec":{"tuning":{"enableMajorityReadConcern":false}}}`
	}
	return c.restartingChange()
}

// keepsHistory tells that primaries keep history for secondaries that lag.
func (c *cluster) keepsHistory(t *testing.T) bool {
	t.Helper()
	declared := c.tuning(t).Spec.Tuning.EnableMajorityReadConcern
	return declared == nil || *declared
}

// expectStory holds the events about the object to sentences that have to come in this order.
func (c *cluster) expectStory(t *testing.T, events *diary[*eventsv1.Event], sentences []string) {
	t.Helper()
	await(t, promptly, "the events do not tell the story", func(g gomega.Gomega) {
		told := c.notes(t, events)
		at := 0
		for _, note := range told {
			if at < len(sentences) && strings.Contains(note, sentences[at]) {
				at++
			}
		}
		if at < len(sentences) {
			g.Expect(told).To(gomega.ContainElement(gomega.ContainSubstring(sentences[at])), "sentence %d of %d, in this order", at+1, len(sentences))
			g.Expect(at).To(gomega.Equal(len(sentences)), "%q comes too early:\n%s", sentences[at], strings.Join(told, "\n"))
		}
	})
	t.Logf("the events:\n%s", strings.Join(c.notes(t, events), "\n"))
}

// notes are what events said since a diary was opened, in the order in which they were said.
func (c *cluster) notes(t *testing.T, events *diary[*eventsv1.Event]) []string {
	t.Helper()
	about := map[string]eventsv1.Event{}
	for _, e := range events.read(t) {
		if e.object.Regarding.Name == c.name && e.object.EventTime.After(events.opened) {
			about[e.object.Name] = *e.object
		}
	}
	sorted := slices.SortedFunc(maps.Values(about), func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var notes []string
	for _, event := range sorted {
		notes = append(notes, event.Reason+": "+event.Note)
	}
	return notes
}

// waitsForFrozenMember freezes a secondary in the middle of a change: nobody is restarted until it runs again.
func (c *cluster) waitsForFrozenMember(t *testing.T) {
	g := gomega.NewWithT(t)
	c.looksSoon(t)
	result := c.underLoad(t, lightLoad(t), lightRate, func() {
		shard := c.shards(t)[0]
		statuses, pods := c.statuses(t), open[*corev1.Pod](t, c, &corev1.PodList{}, client.MatchingLabels(naming.Labels(c.name)))
		// The canary is watched until somebody is frozen for certain.
		c.patch(t, `{"spec":{"rollout":{"canary":{"soakSeconds":30}}}}`)
		c.patch(t, c.nextRestartingChange(t))
		awaitNoticed(t, statuses, "the canary is watched", func(tuning *v1alpha1.MongoTuning) bool {
			return tuning.Status.Rollout.Step == v1alpha1.StepCanarySoak
		})
		canary := c.tuning(t).Status.Rollout.Canary
		bystander := ""
		for _, member := range c.members(t, shard) {
			if member != canary && member != c.primary(t, shard) {
				bystander = member
			}
		}
		thaw := c.freeze(t, bystander)
		c.patch(t, fmt.Sprintf(`{"spec":{"rollout":{"canary":{"soakSeconds":%d}}}}`, soakSeconds))
		awaitNoticed(t, statuses, "the change waits for "+bystander, func(tuning *v1alpha1.MongoTuning) bool {
			message := messageOf(tuning, v1alpha1.ConditionReconciling)
			return reasonOf(tuning, v1alpha1.ConditionReconciling) == v1alpha1.ReasonWaitingForMembers && strings.Contains(message, bystander)
		})
		t.Logf("gate: %s", messageOf(c.tuning(t), v1alpha1.ConditionReconciling))
		restarted, leads := len(disturbancesOf(t, pods, shard).replaced), leadsOf(t, statuses)[shard]
		// Long enough for several looks, each of which finds the gate closed.
		<-time.After(4 * loadPeriod * time.Second)
		for _, set := range c.sets(t) {
			now := disturbancesOf(t, pods, set).replaced
			if set == shard {
				g.Expect(now).To(gomega.Equal([]string{canary}), "nobody is restarted while %s is frozen", bystander)
				g.Expect(now).To(gomega.HaveLen(restarted))
				continue
			}
			g.Expect(now).To(gomega.BeEmpty(), "nobody is restarted while %s is frozen", bystander)
		}
		g.Expect(leadsOf(t, statuses)[shard]).To(gomega.Equal(leads), "nobody is asked to step down")
		g.Expect(statusOf(c.tuning(t), v1alpha1.ConditionRolledBack)).To(gomega.BeEmpty(), "a frozen bystander says nothing about the change")
		thaw()
		c.settle(t)
		c.expectWholeRollout(t, statuses, pods)
	})
	t.Logf("%d of %d operations failed", result.Total.Failed, result.Total.Count)
}

// freeze stops the server of a pod from running, as a host does that hangs; the result lets it run again, which
// happens at the end of the test at the latest.
func (c *cluster) freeze(t *testing.T, pod string) (thaw func()) {
	t.Helper()
	pid := serverProcess(t, string(c.podsNow(t)[pod].UID))
	signal := func(signal syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, signal); err != nil {
			t.Errorf("send %s to process %d of %s: %v", signal, pid, pod, err)
		}
	}
	thawed := false
	thaw = func() {
		if !thawed {
			thawed = true
			signal(syscall.SIGCONT)
		}
	}
	t.Cleanup(thaw)
	signal(syscall.SIGSTOP)
	t.Logf("froze %s", pod)
	return thaw
}

// serverProcess is the mongod of a pod among the processes of this node.
func serverProcess(t *testing.T, podUID string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		// Processes end while they are looked at.
		command, _ := os.ReadFile(line)
		group, _ := os.ReadFile(filepath.Join(filepath.Dir(line), "cgroup"))
		name, _, _ := strings.Cut(string(command), "\x00")
		// One of the drivers of control groups writes underscores.
		if filepath.Base(name) == "mongod" && strings.Contains(strings.ReplaceAll(string(group), "_", "-"), podUID) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no mongod of pod %s among the processes of this machine: this story has to run on the node", podUID)
	return 0
}
