// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"go.mongodb.org/mongo-driver/v2/bson"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

const (
	// breachFor is how long the gauge of the bad change has to be out of range.
	breachFor = 10
	// builtInFor is how long a built-in limit allows.
	builtInFor = 30 * time.Second
	// lookLimit is how long one look may take.
	lookLimit = 3 * time.Second
	// onlineApply bounds what it takes to set the values of one member back: a file, a command and the looks that
	// find both.
	onlineApply = time.Minute
)

// badChange has client threads write the cache's pages themselves: they are drafted at 2 % dirty, and one
// worker is all the help they have.
const badChange = `{"spec":{"tuning":{"eviction":{"dirtyTargetPercent":1,"dirtyTriggerPercent":2,"threadsMin":1,"threadsMax":1}}}}`

// goodEviction is what the demo declares.
const goodEviction = `{"spec":{"tuning":{"eviction":{"dirtyTargetPercent":3,"dirtyTriggerPercent":30,"threadsMin":14,"threadsMax":18}}}}`

// guardsClients declares how much of that is too much.
func (c *cluster) guardsClients(t *testing.T) {
	t.Helper()
	c.patch(t, fmt.Sprintf(`{"spec":{"rollout":{"canary":{"soakSeconds":%d}},"verification":{"periodSeconds":%d,"limits":[
		{"name":"application-thread-evictions","gauge":"ApplicationThreadEvictionsPerSecond","max":50,"forSeconds":%d}]}}}`, 3*breachFor, loadPeriod, breachFor))
	c.patch(t, goodEviction)
	c.settle(t)
}

// guardsClientsNoMore takes it back.
func (c *cluster) guardsClientsNoMore(t *testing.T) {
	t.Helper()
	c.patch(t, fmt.Sprintf(`{"spec":{"rollout":{"canary":{"soakSeconds":%d}},"verification":{"limits":null}}}`, soakSeconds))
}

// returnsBadChange makes a change that hurts clients. It gets no further than the canary, and is taken back.
func (c *cluster) returnsBadChange(t *testing.T) {
	c.guardsClients(t)
	result := c.underLoad(t, heavyLoad(t), heavyRate, func() {
		c.badChangeIsReturned(t, func(statuses *diary[*v1alpha1.MongoTuning]) { c.expectReturnInTime(t, statuses) })
	})
	gomega.NewWithT(t).Expect(result.Total.Failed).To(gomega.BeZero(), "%v", result.Errors)
	c.guardsClientsNoMore(t)
}

// badChangeIsReturned makes the bad change, while something else happens, and follows it to its end. With the load
// under way, all is in range before.
func (c *cluster) badChangeIsReturned(t *testing.T, meanwhile func(*diary[*v1alpha1.MongoTuning])) {
	t.Helper()
	c.settle(t)
	g := gomega.NewWithT(t)
	statuses := c.statuses(t)
	files := open[*corev1.ConfigMap](t, c, &corev1.ConfigMapList{})
	pods, verified, set := c.podsNow(t), c.tuning(t).Status.Revisions.Verified, c.parametersSet(t)
	c.patch(t, badChange)
	meanwhile(statuses)
	c.awaitReturned(t, statuses)
	// What the step means for a person is told with the look after it.
	awaitNoticed(t, statuses, "a person has to act", func(tuning *v1alpha1.MongoTuning) bool {
		return reasonOf(tuning, v1alpha1.ConditionStalled) == v1alpha1.ReasonRolledBack
	})
	tuning := c.tuning(t)
	canary := tuning.Status.Rollout.Canary
	t.Logf("%s", tuning.Status.Rollout.Breach)
	g.Expect(tuning.Status.Rollout.Breach).To(gomega.ContainSubstring("of " + canary))
	g.Expect(tuning.Status.Revisions.Verified).To(gomega.Equal(verified), "what was verified before still is")
	g.Expect(tuning.Status.Revisions.Failed).To(gomega.Equal(tuning.Status.Revisions.Current))
	g.Expect(statusOf(tuning, v1alpha1.ConditionRolledBack)).To(gomega.Equal(metav1.ConditionTrue))
	g.Expect(reasonOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(v1alpha1.ReasonRolledBack))
	for _, text := range []string{messageOf(tuning, v1alpha1.ConditionStalled), messageOf(tuning, v1alpha1.ConditionRolledBack)} {
		g.Expect(text).To(gomega.ContainSubstring(canary))
	}

	g.Expect(uids(c.podsNow(t))).To(gomega.Equal(uids(pods)), "nobody was restarted")
	g.Expect(restarts(c.podsNow(t))).To(gomega.Equal(restarts(pods)))
	g.Expect(leadsOf(t, statuses)).To(gomega.BeEmpty(), "nobody was asked to step down")
	now := c.parametersSet(t)
	for member, before := range set {
		after := now[member]
		if member == canary {
			g.Expect(after).To(gomega.BeNumerically(">=", before+2), "the canary got the change and was returned")
			continue
		}
		g.Expect(after).To(gomega.Equal(before), "parameters that were set on %s", member)
	}
	g.Expect(touched(t, files)).To(gomega.ConsistOf(canary), "members whose files were written")

	c.patch(t, goodEviction)
	c.settle(t)
}

func (c *cluster) awaitReturned(t *testing.T, statuses *diary[*v1alpha1.MongoTuning]) {
	t.Helper()
	awaitNoticed(t, statuses, "the bad change was taken back", func(tuning *v1alpha1.MongoTuning) bool {
		return tuning.Status.Rollout.Step == v1alpha1.StepReturned
	})
}

// parametersSet is how often setParameter was sent to each member since its process started, as it counts itself.
func (c *cluster) parametersSet(t *testing.T) map[string]int64 {
	t.Helper()
	identity, counts := c.memberIdentity(t), map[string]int64{}
	for _, pod := range c.allMembers(t) {
		status := mustRun(t, c.member(t, pod, &identity), bson.D{{Key: "serverStatus", Value: 1}, {Key: "metrics", Value: 1}})
		counts[pod], _ = status.Lookup("metrics", "commands", "setParameter", "total").AsInt64OK()
	}
	return counts
}

// touched are the members whose configuration files changed in a diary of ConfigMaps.
func touched(t *testing.T, files *diary[*corev1.ConfigMap]) []string {
	t.Helper()
	known, members := map[string]string{}, map[string]bool{}
	for _, e := range files.read(t) {
		if e.object.Labels[naming.LabelReplicaSet] == "" {
			continue
		}
		for key, content := range e.object.Data {
			before, seen := known[e.object.Name+"/"+key]
			known[e.object.Name+"/"+key] = content
			if seen && before != content {
				members[strings.TrimSuffix(key, ".conf")] = true
			}
		}
	}
	var names []string
	for member := range members {
		names = append(names, member)
	}
	slices.Sort(names)
	return names
}

// expectReturnInTime reads from a diary when the gauge left its range, when that became a breach, and when the
// canary was returned: at most the time that the limit allows, one period, the look that finds it, and what it
// takes to set the values back.
func (c *cluster) expectReturnInTime(t *testing.T, statuses *diary[*v1alpha1.MongoTuning]) {
	t.Helper()
	c.awaitReturned(t, statuses)
	canary := c.tuning(t).Status.Rollout.Canary
	var left, began, ended time.Time
	allowed := time.Duration(breachFor) * time.Second
	for _, e := range statuses.read(t) {
		status := e.object.Status
		for _, breach := range status.Breaches {
			if breach.Member == canary && left.IsZero() {
				left = breach.Since.Time
				if breach.Limit != "application-thread-evictions" {
					allowed = builtInFor
				}
			}
		}
		switch {
		case status.Rollout.Since == nil:
		case status.Rollout.Step == v1alpha1.StepReturning && began.IsZero():
			began = status.Rollout.Since.Time
		case status.Rollout.Step == v1alpha1.StepReturned && ended.IsZero():
			ended = status.Rollout.Since.Time
		}
	}
	if left.IsZero() || began.IsZero() || ended.IsZero() {
		t.Fatalf("status tells no times: left its range %s, return began %s, ended %s", left, began, ended)
	}
	// Periods are spread by a tenth, and status keeps whole seconds.
	formula := allowed + loadPeriod*time.Second*11/10 + lookLimit + time.Second + onlineApply
	t.Logf("out of range for %s before the return began (the limit allows %s, a period is %ds); returned %s later, %s after the gauge left its range, of at most %s",
		began.Sub(left), allowed, loadPeriod, ended.Sub(began), ended.Sub(left), formula)
	if ended.Sub(left) > formula {
		t.Errorf("the canary was returned %s after its gauge left its range, which is more than %s", ended.Sub(left), formula)
	}
}

// curesWithoutRestart begins a change while a quarter of the cache is dirty and the limit is broken: what can be set
// online is let through, and cures.
func (c *cluster) curesWithoutRestart(t *testing.T) {
	const soil = `{"spec":{"verification":{"periodSeconds":%d,"limits":null},
		"tuning":{"eviction":{"dirtyTargetPercent":24,"dirtyTriggerPercent":60,"threadsMin":1,"threadsMax":1}}}}`
	// Nobody could declare the limit before: the members would break it by design.
	const cure = `{"spec":{"verification":{"limits":[{"name":"dirty-cache","gauge":"DirtyCachePercent","max":20,"forSeconds":0}]},
		"tuning":{"eviction":{"dirtyTargetPercent":3,"dirtyTriggerPercent":30,"threadsMin":4,"threadsMax":8}}}}`
	g := gomega.NewWithT(t)
	c.patch(t, fmt.Sprintf(soil, loadPeriod))
	c.settle(t)
	result := c.underLoad(t, heavyLoad(t), heavyRate, func() {
		pods, statuses := c.podsNow(t), c.statuses(t)
		shares := map[string]int{}
		await(t, settling, "the caches do not get dirty", func(g gomega.Gomega) {
			for _, shard := range c.shards(t) {
				for _, member := range c.members(t, shard) {
					shares[member] = c.dirtyShare(t, member)
					g.Expect(shares[member]).To(gomega.BeNumerically(">", 22), member)
				}
			}
		})
		t.Logf("dirty share before the cure: %v", shares)
		c.patch(t, cure)
		awaitNoticed(t, statuses, "the limit was broken before the change began", func(tuning *v1alpha1.MongoTuning) bool {
			return slices.Contains(tuning.Status.Rollout.BreachedBefore, "dirty-cache")
		})
		awaitNoticed(t, statuses, "the dirty cache is told", func(tuning *v1alpha1.MongoTuning) bool {
			return reasonOf(tuning, v1alpha1.ConditionVerified) == v1alpha1.ReasonDirtyCacheAboveLimit
		})
		c.settle(t)
		g.Expect(stepsOf(t, statuses)).NotTo(gomega.ContainElement(v1alpha1.StepReturning))
		g.Expect(uids(c.podsNow(t))).To(gomega.Equal(uids(pods)), "nobody was restarted")
		for _, shard := range c.shards(t) {
			for _, member := range c.members(t, shard) {
				shares[member] = c.dirtyShare(t, member)
			}
		}
		t.Logf("dirty share after it: %v", shares)
	})
	g.Expect(result.Total.Failed).To(gomega.BeZero(), "%v", result.Errors)
	c.patch(t, `{"spec":{"verification":{"limits":null}}}`)
}

// dirtyShare of a member's cache in percent, asked by the test and not by the operator.
func (c *cluster) dirtyShare(t *testing.T, member string) int {
	t.Helper()
	status := mustRun(t, c.member(t, member, new(c.memberIdentity(t))), one("serverStatus"))
	dirty, _ := status.Lookup("wiredTiger", "cache", "tracked dirty bytes in the cache").AsInt64OK()
	size, _ := status.Lookup("wiredTiger", "cache", "maximum bytes configured").AsInt64OK()
	return int(100 * dirty / max(size, 1))
}
