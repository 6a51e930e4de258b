// SPDX-License-Identifier: Apache-2.0

//go:build e2e && bench

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/verify"
)

const (
	// benchRounds is how often each kind of change is made; the table shows medians.
	benchRounds = 3
	// benchIdle is how long the settled cluster is measured.
	benchIdle = time.Minute
)

// cost is what one change took, from the change of the spec until every value was proved on every member
// and the revision verified.
type cost struct {
	seconds float64
	// counts of the operator: looks, commands to servers, calls to the API server by what they do.
	counts map[string]float64
	// longestGap without an acknowledged write on any shard, in seconds.
	longestGap float64
}

// TestBench makes the same kind of change online and by restarts, on the demo with nine members, while
// applications write to every shard, and shows what each costs and the ratio between them.
func TestBench(t *testing.T) {
	c := newCluster(t, "mongotuning-bench", "bench")
	tuning := c.sample(t)
	// What is measured is the work and not the patience.
	tuning.Spec.Rollout.Canary.SoakSeconds, tuning.Spec.Rollout.LeadSoakSeconds = new(int32(0)), new(int32(0))
	// A machine that is busy with something else must not take the changes back: that would be measured.
	tuning.Spec.Verification = &v1alpha1.VerificationSpec{Limits: []v1alpha1.Limit{
		{Name: verify.LimitReplicationLag, Gauge: v1alpha1.GaugeReplicationLag, Max: new(int64(10)), Scope: v1alpha1.ScopeAllMembers, Enforcement: v1alpha1.EnforcementReport},
		{Name: verify.LimitMajorityLag, Gauge: v1alpha1.GaugeMajorityLag, Max: new(int64(10)), Scope: v1alpha1.ScopeAllMembers, Enforcement: v1alpha1.EnforcementReport},
	}}
	c.create(t, tuning)
	c.settle(t)
	c.awaitVerified(t, "")
	token := c.readerToken(t)
	c.grantMetrics(t)
	await(t, promptly, "the metrics cannot be read", func(g gomega.Gomega) { c.counts(t, g, token) })
	for _, shard := range c.shards(t) {
		c.openLedger(t, shard)
	}

	idle := c.measure(t, token, func() { <-time.After(benchIdle) })
	var online, restarting []cost
	for round := range benchRounds {
		for _, change := range []struct {
			patch string
			costs *[]cost
		}{
			{fmt.Sprintf(`{"spec":{"tuning":{"eviction":{"dirtyTriggerPercent":%d}}}}`, 25+round), &online},
			{c.benchRestart(round), &restarting},
		} {
			before := c.tuning(t).Status.Revisions.Verified
			found := c.measure(t, token, func() {
				c.patch(t, change.patch)
				c.awaitVerified(t, before)
			})
			t.Logf("%s: %.1f s, longest gap %.2f s, %v", change.patch, found.seconds, found.longestGap, found.counts)
			*change.costs = append(*change.costs, found)
		}
	}
	for _, ledger := range c.ledgers {
		ledger.expectComplete(t)
	}
	fmt.Print(benchTable(c.version, idle, median(online), median(restarting)))
}

// benchRestart is a change that restarts every shard member, back and forth.
func (c *cluster) benchRestart(round int) string {
	on := round%2 == 0
	if c.isModern() {
		model := map[bool]string{true: "borrowed", false: "dedicated"}[on]
		return fmt.Sprintf(`{"spec":{"tuning":{"initialServiceExecutorThreadingModel":%q}}}`, model)
	}
	return fmt.Sprintf(`{"spec":{"tuning":{"enableMajorityReadConcern":%t}}}`, on)
}

// awaitVerified waits until another revision than the one before is verified and nothing is on its way.
func (c *cluster) awaitVerified(t *testing.T, before string) {
	t.Helper()
	await(t, settling, "the change is not verified", func(g gomega.Gomega) {
		tuning := c.tuning(t)
		g.Expect(tuning.Status.ObservedGeneration).To(gomega.Equal(tuning.Generation))
		g.Expect(tuning.Status.Revisions.Verified).NotTo(gomega.BeElementOf("", before))
		g.Expect(tuning.Status.Revisions.Verified).To(gomega.Equal(tuning.Status.Revisions.Current))
		g.Expect(tuning.Status.Rollout.Step).To(gomega.BeEmpty())
		g.Expect(statusOf(tuning, v1alpha1.ConditionReady)).To(gomega.BeEquivalentTo("True"))
	})
}

// measure counts what the operator does and what writers feel while something happens.
func (c *cluster) measure(t *testing.T, token string, happens func()) cost {
	t.Helper()
	g := gomega.NewWithT(t)
	writers := c.startWriters(t)
	before := c.counts(t, g, token)
	started := time.Now()
	happens()
	took := time.Since(started)
	after := c.counts(t, g, token)
	writers.stop(t)
	found := cost{seconds: took.Seconds(), counts: map[string]float64{}}
	for name := range after {
		found.counts[name] = after[name] - before[name]
	}
	for _, writer := range writers.writers {
		found.longestGap = max(found.longestGap, writer.longest.Seconds())
	}
	return found
}

// What is counted.
const (
	countLooks     = "looks at the cluster"
	countCommands  = "commands to servers"
	countChanges   = "of them changes (setParameter, replSetStepDown)"
	countReads     = "reads from the API server"
	countWrites    = "writes to the API server"
	countEvictions = "members restarted"
)

// counts adds up the operator's own metrics. Renewals of its lease, which are the only updates, are left
// out; reads of objects come from a cache and are no calls.
func (c *cluster) counts(t *testing.T, g gomega.Gomega, token string) map[string]float64 {
	t.Helper()
	_, page, err := c.metrics(t, token)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	counts := map[string]float64{}
	for line := range strings.Lines(page) {
		series, value, found := strings.Cut(strings.TrimSpace(line), " ")
		number, err := strconv.ParseFloat(value, 64)
		if !found || err != nil {
			continue
		}
		name, labels, _ := strings.Cut(series, "{")
		is := func(label, value string) bool { return strings.Contains(labels, label+`="`+value+`"`) }
		switch {
		case name == "mongotuning_look_duration_seconds_count":
			counts[countLooks] += number
		case name == "mongotuning_database_commands_total":
			counts[countCommands] += number
			if is("command", "setParameter") || is("command", "replSetStepDown") {
				counts[countChanges] += number
			}
		case name == "rest_client_requests_total" && is("method", "GET"):
			counts[countReads] += number
		case name == "rest_client_requests_total" && !is("method", "PUT"):
			counts[countWrites] += number
		case name == "mongotuning_actions_total" && is("name", c.name) && is("kind", "Restart"):
			counts[countEvictions] += number
		}
	}
	g.Expect(counts).To(gomega.HaveKey(countLooks))
	return counts
}

// median of each figure on its own.
func median(costs []cost) cost {
	middle := func(of func(cost) float64) float64 {
		var all []float64
		for _, one := range costs {
			all = append(all, of(one))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	result := cost{counts: map[string]float64{}}
	result.seconds = middle(func(one cost) float64 { return one.seconds })
	result.longestGap = middle(func(one cost) float64 { return one.longestGap })
	for name := range costs[0].counts {
		result.counts[name] = middle(func(one cost) float64 { return one.counts[name] })
	}
	return result
}

func benchTable(version string, idle, online, restarting cost) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nMongoDB %s, 9 members, medians of %d changes each\n\n", version, benchRounds)
	fmt.Fprintln(&text, "| from the change of the spec to all proved | online | by restarts | ratio | settled, for a minute |")
	fmt.Fprintln(&text, "|---|---|---|---|---|")
	row := func(name, format string, of func(cost) float64) {
		a, b := of(online), of(restarting)
		ratio := "-"
		if a > 0 {
			ratio = fmt.Sprintf("1 : %.1f", b/a)
		}
		fmt.Fprintf(&text, "| %s | "+format+" | "+format+" | %s | "+format+" |\n", name, a, b, ratio, of(idle))
	}
	row("seconds", "%.1f", func(one cost) float64 { return one.seconds })
	for _, name := range slices.Sorted(maps.Keys(restarting.counts)) {
		row(name, "%.0f", func(one cost) float64 { return one.counts[name] })
	}
	row("longest time without an acknowledged write, seconds", "%.2f", func(one cost) float64 { return one.longestGap })
	return text.String()
}
