// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// TestDeclaredVersion declares a patch release that the image does not hold.
func TestDeclaredVersion(t *testing.T) {
	c := newCluster(t, "mongotuning-e2e-version", "mistaken")
	dot := strings.LastIndex(c.version, ".")
	patch, err := strconv.Atoi(c.version[dot+1:])
	if err != nil {
		t.Fatal(err)
	}
	mistaken := fmt.Sprintf("%s.%d", c.version[:dot], patch+1)

	tuning := c.sample(t)
	tuning.Spec.MongoDB.Version = mistaken
	tuning.Spec.Shards.Count, tuning.Spec.Shards.Members, tuning.Spec.ConfigServers.Members = 1, 1, 1
	c.create(t, tuning)
	t.Cleanup(func() {
		if t.Failed() {
			c.explain(t)
		}
	})

	await(t, settling, "the mistake is not found", func(g gomega.Gomega) {
		tuning := c.tuning(t)
		g.Expect(reasonOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(v1alpha1.ReasonVersionMismatch))
		g.Expect(statusOf(tuning, v1alpha1.ConditionReady)).To(gomega.Equal(metav1.ConditionFalse))
		for _, version := range []string{mistaken, c.version} {
			g.Expect(messageOf(tuning, v1alpha1.ConditionStalled)).To(gomega.ContainSubstring(version))
		}
	})
	t.Logf("refused: %s", messageOf(c.tuning(t), v1alpha1.ConditionStalled))
	before := c.podsNow(t)
	c.patch(t, fmt.Sprintf(`{"spec":{"mongodb":{"version":%q}}}`, c.version))
	c.settle(t)
	for name, uid := range uids(c.podsNow(t)) {
		if _, member := before[name]; member {
			gomega.NewWithT(t).Expect(uid).To(gomega.Equal(before[name].UID), "declaring the right version restarts nothing")
		}
	}
}
