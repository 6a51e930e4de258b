// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"
)

// TestTunedCluster is the life of one cluster. Each story starts where the one before has ended.
func TestTunedCluster(t *testing.T) {
	c := newCluster(t, "mongotuning-e2e", "tuned")

	c.story(t, "a cluster comes up and is proved", c.comesUp)
	c.story(t, "kubectl shows how it stands", c.showsHowItStands)
	c.story(t, "nobody gets in without credentials", c.refusesStrangers)
	c.story(t, "an application gets in through mongos and may not administrate", c.letsApplicationsIn)
	c.story(t, "metrics are for those who have the right", c.guardsMetrics)
	c.story(t, "a settled cluster is left alone", c.isQuiet)

	c.story(t, "a password edited in the Secret takes effect", c.rotatesPassword)
	c.story(t, "an online change reaches every shard member without a restart", c.changesOnline)
	c.story(t, "somebody on call looks, forecasts, changes and reports with the plugin", c.isShownByThePlugin)
	c.story(t, "a cache size set by hand is put back", c.correctsCacheSize)
	c.story(t, "an eviction setting made by hand is put back", c.correctsEviction)
	c.story(t, "what is set by hand is put back within two looks", c.correctsWithinTwoLooks)
	c.story(t, "a killed process comes back with the declared values", c.losesProcess)
	c.story(t, "every command of the documents works, or would be taken", c.runsWhatTheDocumentsSay)

	c.story(t, "a secondary is deleted", func(t *testing.T) { c.delete(t, c.secondary(t, c.shards(t)[0])) })
	c.story(t, "a primary is deleted", func(t *testing.T) { c.delete(t, c.primary(t, c.shards(t)[0])) })
	c.story(t, "a config server is deleted", func(t *testing.T) { c.delete(t, c.primary(t, c.sets(t)[len(c.shards(t))])) })
	c.story(t, "a mongos is deleted", c.losesMongos)
	c.story(t, "the operator is deleted while somebody changes a member by hand", c.losesOperator)
	c.story(t, "all members of a shard are deleted", func(t *testing.T) { c.delete(t, c.members(t, c.shards(t)[1])...) })

	c.story(t, "under load a change that takes a restart goes from member to member", c.changesWithRestarts)

	c.story(t, "an unknown profile is refused and the members stay watched", c.refusesUnknownProfile)
	c.story(t, "a knob that this version lacks is refused", c.refusesUnsupportedKnob)
	c.story(t, "a cache over 80 % of the memory limit is refused when it comes from a profile", c.refusesHugeCache)
	c.story(t, "the API server refuses what can be known beforehand", c.refusesAtTheDoor)

	c.story(t, "a third shard is added", c.grows)
	c.story(t, "the operator's Secret is lost", c.losesOperatorSecret)
	c.story(t, "the key file is lost", c.losesKeyFile)
	c.story(t, "all pods are deleted", c.losesAllPods)

	c.story(t, "the object is deleted and made anew over the kept volumes", c.isDeletedAndMadeAnew)
	c.story(t, "the object is deleted with Orphan and takes its cluster up again", c.isOrphanedAndTakenUp)
	c.story(t, "no password and no key was ever shown", c.keepsSecrets)
	c.farewell(t, "deleted with its data, nothing stays")
}
