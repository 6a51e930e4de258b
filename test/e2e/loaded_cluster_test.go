// SPDX-License-Identifier: Apache-2.0

//go:build e2e && long

package e2e

import (
	"testing"
)

// TestLoadedCluster is what takes long: changes that are interrupted at every step, and members in trouble,
// under load all the while. Each story starts where the one before has ended.
func TestLoadedCluster(t *testing.T) {
	c := newCluster(t, "mongotuning-loaded", "loaded")

	c.story(t, "a cluster comes up and is proved", c.comesUp)

	c.story(t, "under load a secondary is frozen in the middle of a change", c.waitsForFrozenMember)
	c.story(t, "under load the operator is killed at every step of a change with restarts", c.survivesOperatorAtEachStep)
	c.story(t, "under load a bad change gets no further than the canary", c.returnsBadChange)
	c.story(t, "under load the operator is killed at every step of a bad change", c.returnsBadChangeWithoutOperator)
	c.story(t, "under load a dirty cache is cured online", c.curesWithoutRestart)
	c.story(t, "under load both secondaries of a shard stop applying", c.seesSlowSecondaries)
	c.story(t, "memory limit and cache change together in both directions while pods are killed", c.resizesMemory)
	c.story(t, "a profile with which members do not start is taken back, and held back elsewhere", c.holdsBackWhatFailedElsewhere)
}
