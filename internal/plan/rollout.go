// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// rollout brings the declared tuning into force on one replica set, one member at a time. Nothing means
// that every member is on it.
func rollout(cluster Cluster, set ReplicaSet) Action {
	templateDiffers := set.Seen.TemplateHash != set.TemplateHash
	if templateDiffers && set.filesFit() {
		return set.action(WriteTemplate, v1alpha1.ReasonApplying, "writing the pod template of %s", set.Name)
	}
	for _, member := range set.inOrder() {
		if action := set.advance(cluster, member); action.Kind != Nothing {
			return action
		}
	}
	if templateDiffers && set.isReachedWhole() {
		return set.action(Stall, v1alpha1.ReasonInvalidTuning, "the pod template of %s cannot be written: a member's file asks for more cache than the new memory limit holds", set.Name)
	}
	return Action{Kind: Nothing}
}

// isReachedWhole tells that a change on its way concerns all members or none. While it concerns some, a
// template that the files of the others do not fit under waits for its turn.
func (s ReplicaSet) isReachedWhole() bool {
	reached := 0
	for _, target := range s.Targets {
		if target.Changed {
			reached++
		}
	}
	return reached == 0 || reached == len(s.Targets)
}

// replaceKeyFile starts the members of a set anew that still have a lost key file. It waits for nothing: members
// with the new one cannot speak to those with the old one, in their own set and in all others.
func (c Cluster) replaceKeyFile() Action {
	for _, set := range c.ReplicaSets {
		stale := set.staleKeyFile(c.KeyFileID)
		if stale != "" && (set.Seen.Initiated() || c.exists(set)) {
			return set.action(ReplaceKeyFile, v1alpha1.ReasonRestarting, "starting all members of %s anew with the new key file: %s has the lost one", set.Name, stale)
		}
	}
	return Action{Kind: Nothing}
}

// staleKeyFile is a pod that has another key file than the one in the Secret.
func (s ReplicaSet) staleKeyFile(keyFileID string) string {
	for _, member := range s.Seen.Members {
		if member.Pod.Exists && !member.Pod.Terminating && member.Pod.KeyFileID != keyFileID {
			return member.Name
		}
	}
	return ""
}

// filesFit tells that every member's file, as it lies in the ConfigMap now, asks for no more cache than
// the new memory limit holds: a pod that dies comes back under the new limit with that file.
func (s ReplicaSet) filesFit() bool {
	for _, member := range s.Seen.Members {
		if file, written := s.Seen.Files[member.Name]; written && !desired.CacheFits(file, s.MemoryLimit) {
			return false
		}
	}
	return true
}

// Fitting are the settings with the cache cut to what a memory limit (bytes, 0 for none) holds. While a
// limit and a cache grow together, a member first gets its new limit with the old cache, and the rest
// of the cache online once it runs under the new limit.
func Fitting(settings catalog.Settings, memoryLimit int64) catalog.Settings {
	wanted, ok := settings[catalog.CacheSizeGB].AsFloat()
	most := catalog.LargestCacheGB(memoryLimit)
	if !ok || memoryLimit == 0 || catalog.CacheBytes(wanted) <= catalog.CacheBytes(most) {
		return settings
	}
	fitting := maps.Clone(settings)
	fitting[catalog.CacheSizeGB] = catalog.Decimal(most)
	return fitting
}

// inOrder are the members in the order of a change: whoever does not serve first (it is disturbed
// already), then the secondaries, the primary last.
func (s ReplicaSet) inOrder() []observed.Member {
	var down, secondaries, primaries []observed.Member
	for _, member := range s.Seen.Members {
		switch {
		case !member.Serves():
			down = append(down, member)
		case member.Look.State == observed.StatePrimary:
			primaries = append(primaries, member)
		default:
			secondaries = append(secondaries, member)
		}
	}
	return append(append(down, secondaries...), primaries...)
}

// advance is the next step of one member towards the declared tuning: its file first, so that whatever
// happens it comes back with it, then what can be set online, then the restart.
func (s ReplicaSet) advance(cluster Cluster, member observed.Member) Action {
	target := s.Targets[member.Name]
	settings := target.Settings
	if member.Pod.Exists {
		settings = Fitting(settings, member.Pod.MemoryLimit)
	}
	if file := desired.MemberConfig(s.ReplicaSet, settings); s.Seen.Files[member.Name] != file {
		if untried := s.tryFirst(cluster, member, settings); untried.Kind != Nothing {
			return untried
		}
		action := s.memberAction(WriteConfig, member, v1alpha1.ReasonApplying, "writing the configuration file of %s", member.Name)
		action.File = file
		action.Recreate = isDown(member) && member.Pod.Exited != nil
		return action
	}
	isOnTarget := slices.Contains(target.Templates, member.Pod.TemplateHash)
	outdated := s.Seen.TemplateHash == s.TemplateHash && !isOnTarget
	switch {
	case isDown(member) && outdated && member.Pod.Exists && !member.Pod.Terminating:
		// Making its pod anew takes nothing from anybody, and is the only way to bring a member back
		// whose template was wrong.
		return s.memberAction(Recreate, member, v1alpha1.ReasonRestarting, "making the pod of %s anew from the newest template: %s", member.Name, why(member))
	case !member.Serves():
		return s.awaitMember(member)
	}
	// A pod of another template may well run the version of before: its turn comes.
	if isOnTarget && runsOther(member, cluster.Version) {
		return s.memberAction(Stall, member, v1alpha1.ReasonVersionMismatch,
			"%s runs MongoDB %s, mongodb.version declares %s: declare the version of the image", member.Name, member.Look.Process.Version, cluster.Version)
	}
	if action := s.tune(cluster, member, settings); action.Kind != Nothing {
		return action
	}
	if outdated {
		return s.restart(cluster, member)
	}
	return Action{Kind: Nothing}
}

// isDown tells that a member serves nobody. That it does not answer the operator is not enough: the network
// between them may be cut, and Kubernetes, which asks on the node, still calls it ready.
func isDown(member observed.Member) bool { return !member.Serves() && !member.Pod.Ready }

// runsOther tells that a member answered with another version than the declared one.
func runsOther(member observed.Member, declared catalog.Version) bool {
	found := member.Look.Process.Version
	return found != declared && found != (catalog.Version{})
}

// tune brings a serving member's running process to the settings: online what can be, the rest by a
// restart.
func (s ReplicaSet) tune(cluster Cluster, member observed.Member, settings catalog.Settings) Action {
	verdict, declared := s.Verdicts[member.Name], s.Targets[member.Name].Settings
	switch {
	case verdict.Unknown != "":
		return s.memberAction(Wait, member, v1alpha1.ReasonWaitingForMembers, "waiting for an answer of %s: %s", member.Name, verdict.Unknown)
	case len(toSet(verdict, declared, settings)) > 0 && !cluster.leavesDrift():
		action := s.memberAction(SetParameters, member, v1alpha1.ReasonApplying, "setting values online on %s", member.Name)
		action.Changes = catalog.ChangesFor(s.Component, s.Line, settings, toSet(verdict, declared, settings))
		if cluster.Settled {
			action.Drift = s.drift(member.Name)
			action.Reason = v1alpha1.ReasonCorrectingDrift
			action.Message = fmt.Sprintf("setting back what was changed by hand on %s: %s", member.Name, action.Drift[0])
		}
		return action
	case verdict.NeedsRestart():
		return s.restart(cluster, member)
	case verdict.Stuck() != nil:
		stuck := verdict.Stuck()
		return s.memberAction(Stall, member, v1alpha1.ReasonKnobMismatch,
			"%s is %q on %s, which was started with %q: something outside of the operator decides the value (%s)",
			stuck.Name, stuck.Found, member.Name, stuck.Wanted, stuck.Evidence)
	}
	return Action{Kind: Nothing}
}

// toSet are the knobs that differ and can be set online now. A cache that was cut to the limit of the
// member's pod is as large as it may be until the pod is made anew.
func toSet(verdict verify.Member, declared, settings catalog.Settings) []string {
	return slices.DeleteFunc(verdict.Settable(), func(name string) bool {
		fitted := settings[name]
		return fitted != declared[name] && verdict.Reports(name, fitted)
	})
}

// awaitMember says what a member that does not serve is waited for.
func (s ReplicaSet) awaitMember(member observed.Member) Action {
	if refuses, action := s.refusesConfiguration(member); refuses {
		return action
	}
	return s.memberAction(Wait, member, v1alpha1.ReasonWaitingForMembers, "waiting for member %s: %s", member.Name, why(member))
}

// restart takes one member away from its clients, if every gate is open.
func (s ReplicaSet) restart(cluster Cluster, member observed.Member) Action {
	for _, gate := range []gate{cluster.hasConsent(), s.mayLeave(cluster, member)} {
		if gate.isClosed() {
			return s.memberAction(Wait, member, gate.reason, "%s has to restart and waits: %s", member.Name, gate.says)
		}
	}
	if member.Look.State == observed.StatePrimary && s.Members > 1 {
		return s.stepDown(cluster, member, "asking primary %s to step down before its restart", member.Name)
	}
	return s.memberAction(Restart, member, v1alpha1.ReasonRestarting, "restarting %s", member.Name)
}
