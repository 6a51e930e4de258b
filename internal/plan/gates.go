// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// gate is what an act has to pass. It is open while it says nothing; a closed one gives the condition
// reason of the wait, and says in a few words what closes it.
type gate struct {
	reason, says string
}

var openGate = gate{}

func (g gate) isClosed() bool { return g.says != "" }

func closed(reason, format string, args ...any) gate {
	return gate{reason: reason, says: fmt.Sprintf(format, args...)}
}

const (
	// maxLag is how far behind a secondary may be when another member is taken away. Heartbeats make the
	// figure uncertain by two to three seconds.
	maxLag = 10 * time.Second
	// restartTime is how long a member is taken to be away for a restart while none was measured: a large
	// cache is written out at the end, and recovered from at the start.
	restartTime = 300 * time.Second
	// shortestRestart is what a measured restart is taken for at least: the next one may be under load.
	shortestRestart = 60 * time.Second
	// oplogReserve is how many restarts long the oplog has to reach back: whoever returns has to catch up
	// while the oplog moves on.
	oplogReserve = 4
	// stepDownPause is how long a primary that refused to step down is left alone. It takes no writes while
	// it waits for a secondary to catch up, so asking again at once would be an outage of its own.
	stepDownPause = 60 * time.Second
	// settledAfter is how long a primary leads before it is asked to step down. One that was elected just now
	// hands over to members that have not all heard of it, or to the one before it, which stays out of elections
	// for shortAbsence: then there is no primary until the election timeout, 10 s.
	settledAfter = 20 * time.Second
	// shortAbsence is how long a former primary stays out of elections: longer than the election timeout, and
	// over when the next primary is asked.
	shortAbsence = 20 * time.Second
	// longAbsence ends the search for a canary that is to lead: under load a primary hands over to whoever has
	// caught up first, and a canary that is always a little later than its twin would never be the one. With
	// two former primaries out of elections only the canary is left, at the price of an election timeout.
	longAbsence = 60 * time.Second
	// handOverPatience is for how long that price is not paid.
	handOverPatience = 60 * time.Second
)

// mayLeave says whether the member may be taken away now. No answer is never taken for a good one.
func (s ReplicaSet) mayLeave(cluster Cluster, member observed.Member) gate {
	if s.Seen.Primary() == nil {
		return closed(v1alpha1.ReasonWaitingForMembers, "the replica set has no primary")
	}
	for _, other := range s.Seen.Members {
		if other.Name == member.Name {
			continue
		}
		if gate := s.canStandIn(other); gate.isClosed() {
			return gate
		}
	}
	if gate := cluster.migrates(s); gate.isClosed() {
		return gate
	}
	return s.oplogSuffices(member)
}

// canStandIn says whether a member serves and is close enough to its primary to do without another.
func (s ReplicaSet) canStandIn(member observed.Member) gate {
	switch lag, known := s.Seen.Lag(s.Hosts[member.Name]); {
	case !member.Serves():
		return closed(v1alpha1.ReasonWaitingForMembers, "%s does not serve (%s)", member.Name, why(member))
	case !member.Pod.Ready:
		return closed(v1alpha1.ReasonWaitingForMembers, "%s is not ready", member.Name)
	case !known:
		return closed(v1alpha1.ReasonWaitingForMembers, "the primary does not say how far %s is", member.Name)
	case lag > maxLag:
		return closed(v1alpha1.ReasonWaitingForMembers, "%s is %s behind, the limit is %s", member.Name, lag.Round(time.Second), maxLag)
	default:
		return openGate
	}
}

// migrates says whether a chunk moves from or to the shard. Its donor and its recipient are primaries, and
// losing one ends the move.
func (c Cluster) migrates(set ReplicaSet) gate {
	if set.Component != v1alpha1.ComponentShardMember {
		return openGate
	}
	look := observed.Look{MigrationsError: "the config servers have no primary"}
	if primary := c.ReplicaSets[len(c.ReplicaSets)-1].Seen.Primary(); primary != nil {
		look = primary.Look
	}
	if look.MigrationsError != "" {
		return closed(v1alpha1.ReasonWaitingForMigration, "it is not known whether chunks move: %s", look.MigrationsError)
	}
	for _, migration := range look.Migrations {
		if migration.From == set.Name || migration.To == set.Name {
			return closed(v1alpha1.ReasonWaitingForMigration, "a chunk of %s moves from %s to %s", migration.Namespace, migration.From, migration.To)
		}
	}
	return openGate
}

// oplogSuffices says whether the others of the set keep enough of the past for the member to be away for
// a restart.
func (s ReplicaSet) oplogSuffices(member observed.Member) gate {
	expected := restartTime
	if s.RestartTook > 0 {
		expected = max(shortestRestart, s.RestartTook)
	}
	for _, other := range s.Seen.Members {
		switch health := s.Health[other.Name]; {
		case other.Name == member.Name:
		case health.Oplog == 0:
			return closed(v1alpha1.ReasonWaitingForOplog, "it is not known how far the oplog of %s reaches back", other.Name)
		case health.Oplog < oplogReserve*expected:
			return closed(v1alpha1.ReasonWaitingForOplog, "the oplog of %s reaches back %s, a restart needs %s: %d times the %s it is expected to take",
				other.Name, health.Oplog.Round(time.Second), oplogReserve*expected, oplogReserve, expected.Round(time.Second))
		}
	}
	return openGate
}

// hasConsent says whether members may be restarted for a change that began while a limit was broken: it
// may be the cure, and a restart may be the last straw. A return asks nobody.
func (c Cluster) hasConsent() gate {
	rollout := c.Progress.Rollout
	returning := rollout.Step == v1alpha1.StepReturning || rollout.Step == v1alpha1.StepReturned
	if len(rollout.BreachedBefore) == 0 || returning || c.Proceed {
		return openGate
	}
	return closed(v1alpha1.ReasonWaitingForConsent, "limit %s was broken before the change began; set the annotation %s=%s to restart members all the same",
		rollout.BreachedBefore[0], v1alpha1.AnnotationProceed, c.Revision)
}

// stepDown asks a primary to hand over, unless it has just refused or was elected just now.
func (s ReplicaSet) stepDown(cluster Cluster, primary observed.Member, format string, args ...any) Action {
	if refused := cluster.StepDownRefused; !refused.IsZero() && cluster.Now.Sub(refused) < stepDownPause {
		return s.memberAction(Wait, primary, v1alpha1.ReasonStepDownRefused,
			"primary %s refused to step down, since no electable secondary was caught up in time; it is asked again after %s", primary.Name, stepDownPause)
	}
	switch leads := primary.Look.LeadsFor; {
	case leads <= 0:
		return s.memberAction(Wait, primary, v1alpha1.ReasonWaitingForMembers, "it is not known since when %s leads", primary.Name)
	case leads < settledAfter:
		return s.memberAction(Wait, primary, v1alpha1.ReasonWaitingForMembers,
			"%s was elected less than %s ago and is asked to step down after that", primary.Name, settledAfter)
	}
	action := s.memberAction(StepDown, primary, v1alpha1.ReasonRestarting, format, args...)
	action.StayAway = shortAbsence
	return action
}

// inWindow says whether a change may begin now.
func (c Cluster) inWindow() gate {
	if c.ClosedUntil.IsZero() || c.Proceed {
		return openGate
	}
	return closed(v1alpha1.ReasonWaitingForWindow, "the next window opens at %s", c.ClosedUntil.Format("2006-01-02 15:04 MST"))
}

// NeedsSlot tells that an action lets a change travel, of which only so many may be on their way at once.
// Taking a change back needs none, and neither does what keeps a cluster alive.
func NeedsSlot(cluster Cluster, action Action) bool {
	if !cluster.isStaged() {
		return false
	}
	switch action.Kind {
	case Turn:
		rollout := action.Progress.Rollout
		return rollout.Breach == "" && IsTravelling(rollout.Step)
	case StartTrial, WriteConfig, WriteTemplate, SetParameters, StepDown, Restart, TuneHost:
		return IsTravelling(cluster.Progress.Rollout.Step)
	case Nothing, Wait, Stall, Initiate, CreateUsers, CreateApp, AddShard, Recreate, ReplaceKeyFile, RestoreHost:
		return false
	default:
		return false
	}
}

// IsTravelling tells that a change is on its way at a step, other than back.
func IsTravelling(step v1alpha1.RolloutStep) bool {
	return step != "" && step != v1alpha1.StepReturning && step != v1alpha1.StepReturned
}

// withSlot lets an action wait that needs a slot while none is free.
func (c Cluster) withSlot(action Action) Action {
	if c.NoSlot == "" || !NeedsSlot(c, action) {
		return action
	}
	return Action{Kind: Wait, ReplicaSet: action.ReplicaSet, Reason: v1alpha1.ReasonWaitingForSlot, Message: "a change waits: " + c.NoSlot}
}

// patient are the reasons of waits that end by themselves or with somebody else's work, and that no
// deadline is held against.
var patient = map[string]bool{
	v1alpha1.ReasonCanarySoaking: true, v1alpha1.ReasonWaitingForWindow: true, v1alpha1.ReasonWaitingForSlot: true,
	v1alpha1.ReasonBuilding: true, v1alpha1.ReasonBootstrapping: true,
}

// Overdue turns a wait into a stall when it has lasted longer than the deadline. Nothing is forced: every
// look chooses anew, so it goes on by itself once the cause ends.
func Overdue(action Action, waiting *v1alpha1.WaitStatus, now time.Time, deadline time.Duration) Action {
	if action.Kind != Wait || patient[action.Reason] || waiting == nil || waiting.Reason != action.Reason || now.Sub(waiting.Since.Time) < deadline {
		return action
	}
	action.Kind, action.IsOverdue = Stall, true
	action.Message = fmt.Sprintf("%s; it has waited since %s, longer than %s. Nothing is forced, and it goes on by itself once the cause ends",
		action.Message, waiting.Since.UTC().Format("2006-01-02 15:04:05 MST"), deadline)
	return action
}
