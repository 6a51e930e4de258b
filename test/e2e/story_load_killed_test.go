// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// survivesOperatorAtEachStep makes a change that restarts every member, and kills the operator whenever the
// change has come to another step. It costs what it costs with an operator that lives.
func (c *cluster) survivesOperatorAtEachStep(t *testing.T) {
	c.looksSoon(t)
	c.underLoad(t, lightLoad(t), lightRate, func() {
		statuses, pods := c.statuses(t), open[*corev1.Pod](t, c, &corev1.PodList{}, client.MatchingLabels(naming.Labels(c.name)))
		c.patch(t, c.nextRestartingChange(t))
		killed := c.killOperatorAtEachStep(t, statuses, v1alpha1.StepVerifying)
		c.settle(t)
		t.Logf("the operator was killed at %v; restarted %v", killed, c.expectWholeRollout(t, statuses, pods))
	})
}

// returnsBadChangeWithoutOperator kills the operator whenever a bad change has come to another step, also while it is
// taken back.
func (c *cluster) returnsBadChangeWithoutOperator(t *testing.T) {
	c.guardsClients(t)
	result := c.underLoad(t, heavyLoad(t), heavyRate, func() {
		c.badChangeIsReturned(t, func(statuses *diary[*v1alpha1.MongoTuning]) {
			t.Logf("the operator was killed at %v", c.killOperatorAtEachStep(t, statuses, v1alpha1.StepReturned))
		})
	})
	gomega.NewWithT(t).Expect(result.Total.Failed).To(gomega.BeZero(), "%v", result.Errors)
	c.guardsClientsNoMore(t)
}

// killOperatorAtEachStep kills the operator's process as soon as status tells of a step that it has not been killed
// at, up to the last one.
func (c *cluster) killOperatorAtEachStep(t *testing.T, statuses *diary[*v1alpha1.MongoTuning], last v1alpha1.RolloutStep) []v1alpha1.RolloutStep {
	t.Helper()
	var killed []v1alpha1.RolloutStep
	await(t, 2*settling, "the change does not come to "+string(last), func(g gomega.Gomega) {
		for _, step := range stepsOf(t, statuses) {
			if !slices.Contains(killed, step) {
				c.killOperator(t)
				killed = append(killed, step)
			}
		}
		g.Expect(killed).To(gomega.ContainElement(last))
	})
	return killed
}

// killOperator ends the operator's pod with hardly any time to end in order, and keeps its log.
func (c *cluster) killOperator(t *testing.T) {
	t.Helper()
	pods, err := c.operatorPods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.operatorLogs += c.operatorLog(t.Context())
	for _, pod := range pods {
		if err := c.kube.Delete(t.Context(), &pod, client.GracePeriodSeconds(1)); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}
