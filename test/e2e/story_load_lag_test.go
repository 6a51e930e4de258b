// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// seesSlowSecondaries locks both secondaries of a shard, as a backup does that takes too long: they send heartbeats
// and apply nothing. The condition names what follows from it, and it is over when they go on.
func (c *cluster) seesSlowSecondaries(t *testing.T) {
	g := gomega.NewWithT(t)
	if !c.isModern() {
		// What secondaries that lag cost is the history that majority reads need.
		c.patch(t, `{"spec":{"tuning":{"enableMajorityReadConcern":true}}}`)
		c.settle(t)
	}
	limits := `{"name":"replication-lag","gauge":"ReplicationLagSeconds","max":5,"forSeconds":5}`
	nouns := map[string]string{"replication-lag": "Replication lag"}
	if !c.isModern() {
		// Later servers keep 300 s of history at any time.
		limits += `,{"name":"pinned-history","gauge":"PinnedHistorySeconds","max":9,"forSeconds":5}`
		nouns["pinned-history"] = "Pinned history"
	}
	c.patch(t, `{"spec":{"verification":{"periodSeconds":5,"limits":[`+limits+`]}}}`)
	c.settle(t)
	opts := lightLoad(t)
	opts.Mix, opts.WriteConcern = mix(t, "update"), "1"
	result := c.underLoad(t, opts, 5*lightRate, func() {
		shard, pods, statuses := c.shards(t)[0], c.podsNow(t), c.statuses(t)
		unlock := c.lockSecondaries(t, shard)
		awaitNoticed(t, statuses, "every limit is told as broken", func(tuning *v1alpha1.MongoTuning) bool {
			for limit, noun := range nouns {
				isBroken := slices.ContainsFunc(tuning.Status.Breaches, func(breach v1alpha1.Breach) bool { return breach.Limit == limit })
				if !isBroken || !strings.Contains(messageOf(tuning, v1alpha1.ConditionVerified), noun+" of "+shard+"-") {
					return false
				}
			}
			return statusOf(tuning, v1alpha1.ConditionVerified) == metav1.ConditionFalse
		})
		tuning := c.tuning(t)
		t.Logf("%s: %s", reasonOf(tuning, v1alpha1.ConditionVerified), messageOf(tuning, v1alpha1.ConditionVerified))
		for _, breach := range tuning.Status.Breaches {
			t.Logf("%s of %s: %s, bound %s", breach.Limit, breach.Member, breach.Found, breach.Bound)
		}
		g.Expect(string(statusOf(tuning, v1alpha1.ConditionReady))).To(gomega.Equal("True"), "the revision is as good as it was")
		unlock()
		c.settle(t)
		g.Expect(uids(c.podsNow(t))).To(gomega.Equal(uids(pods)), "nobody was restarted")
		g.Expect(leadsOf(t, statuses)).To(gomega.BeEmpty(), "nobody was asked to step down")
	})
	g.Expect(result.Total.Failed).To(gomega.BeZero(), "%v", result.Errors)
	c.patch(t, `{"spec":{"verification":{"limits":null}}}`)
}

// lockSecondaries has the secondaries of a shard apply nothing until the result is called, at the end of the test at
// the latest.
func (c *cluster) lockSecondaries(t *testing.T, shard string) (unlock func()) {
	t.Helper()
	identity, primary := c.memberIdentity(t), c.primary(t, shard)
	var once sync.Once
	var ends []func()
	unlock = func() {
		once.Do(func() {
			for _, end := range ends {
				end()
			}
		})
	}
	t.Cleanup(unlock)
	for _, member := range c.members(t, shard) {
		if member == primary {
			continue
		}
		server := c.member(t, member, &identity)
		mustRun(t, server, fsyncLock())
		ends = append(ends, func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*asking)
			defer cancel()
			if _, err := run(ctx, server, one("fsyncUnlock")); err != nil {
				t.Errorf("unlock %s: %v", member, err)
			}
		})
	}
	return unlock
}
