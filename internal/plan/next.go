// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Cluster is all that a decision is made from.
type Cluster struct {
	// ReplicaSets in the order in which a change travels.
	ReplicaSets []ReplicaSet
	// Mongos as it was seen; DeclaresMongos tells that values are declared for it, which nobody reads back.
	Mongos         observed.Mongos
	DeclaresMongos bool
	// Version that is declared.
	Version catalog.Version
	// KeyFileID names the key file that pods should have.
	KeyFileID string
	// Revision is the name of what is wanted, Progress what is remembered of changes, Policy how they
	// travel.
	Revision string
	Progress Progress
	Policy   Policy
	// Now is the time of the look, WatchedSince when this operator first looked at the cluster.
	Now, WatchedSince time.Time
	// First is the step a staged change begins with; those before it would change nothing.
	First v1alpha1.RolloutStep
	// Restarts tells that the staged change restarts shard members.
	Restarts bool
	// Retry is the value of the retry annotation when it names the wanted revision.
	Retry string
	// Proceed tells that the proceed annotation names the wanted revision.
	Proceed bool
	// ClosedUntil is when the next window for a change opens, zero while one is open.
	ClosedUntil time.Time
	// NoSlot says why no other change may travel now; empty when one may.
	NoSlot string
	// StepDownRefused is when a primary last refused to step down, as far as this operator knows.
	StepDownRefused time.Time
	// BaselineTime is how long the operator has to look before a change may begin.
	BaselineTime time.Duration
	// Baselines are the means of the last looks at each member, by pod.
	Baselines map[string]v1alpha1.MemberBaseline
	// Worse says in what the canary was worse over its soak than before and than its twins; empty while it
	// was not, or is not known to be.
	Worse string
	// HeldBack says why the wanted revision is not begun; empty when it may be.
	HeldBack string
	// Trials are the trial starts that were made, by the name of the file that was tried.
	Trials map[string]observed.Trial
	// Settled tells that the declared tuning was in force and proved on every member before, so that a
	// value which differs on a running member was changed by hand.
	Settled bool
	// ReportDrift tells that such a value is to be left alone.
	ReportDrift bool
	// Hosts are the nodes of the members, in the order in which a change reaches them.
	Hosts []Host
	// HostWarnings say how the nodes of one replica set differ from each other.
	HostWarnings []string
	// Gauges are what was measured and how it stands to the limits.
	Gauges verify.ClusterGauges
	// AppUnknown tells that the config servers refused the application's user or its password;
	// AppError says why they could not be asked.
	AppUnknown bool
	AppError   string
}

// ReplicaSet is one replica set: wanted, seen and judged.
type ReplicaSet struct {
	desired.ReplicaSet
	// Seen is the set as it was observed.
	Seen observed.ReplicaSet
	// TemplateHash names the pod template that is wanted for the StatefulSet now.
	TemplateHash string
	// MemoryLimit of that template in bytes, 0 for none.
	MemoryLimit int64
	// Targets are what the members are held to now, by pod.
	Targets map[string]Target
	// Health of the members, by pod.
	Health map[string]Health
	// RestartTook is how long a member of the set was away for its last restart, 0 while none was seen.
	RestartTook time.Duration
	// Hosts are the addresses of the members, by pod.
	Hosts map[string]string
	// Verdicts over the members, by pod.
	Verdicts map[string]verify.Member
}

// Target is what one member is held to: the wanted revision once a change has reached it, the verified
// one before.
type Target struct {
	// Settings of the revision.
	Settings catalog.Settings
	// Changed tells that a change on its way has reached the member.
	Changed bool
	// Templates are the names of the pod templates that the member may run on.
	Templates []string
}

// Next chooses the next action. Bringing replica sets into being comes first, since nothing else can
// be done to them; then the declared tuning travels from set to set; then the routers are looked at.
func Next(cluster Cluster) Action {
	return cluster.withSlot(cluster.next())
}

func (c Cluster) next() Action {
	forming := c.form()
	if forming.IsAct() {
		return forming
	}
	if forming.Kind == Nothing || c.Progress.Rollout.Step != "" {
		if action := c.supervise(); action.Kind != Nothing {
			return action
		}
	}
	hosts := c.tuneHosts()
	if hosts.IsAct() {
		return hosts
	}
	if action := c.travel(); action.Kind != Nothing {
		return action
	}
	if forming.Kind != Nothing {
		return forming
	}
	if hosts.Kind != Nothing {
		return hosts
	}
	for _, next := range []func() Action{c.keepApp, c.goOn, func() Action { return awaitMongos(c) }, c.confirm} {
		if action := next(); action.Kind != Nothing {
			return action
		}
	}
	return c.settled()
}

// travel brings the sets to what they are held to, in their order: a set has to be done before the next
// one begins, and during the step for other shards as many may be under way as the policy lets. A lost key
// file alone waits for nobody.
func (c Cluster) travel() Action {
	if action := c.replaceKeyFile(); action.Kind != Nothing {
		return action
	}
	waiting, underWay := Action{Kind: Nothing}, 0
	for _, set := range c.ReplicaSets {
		if !set.Seen.Initiated() && !c.exists(set) {
			continue
		}
		action := rollout(c, set)
		// A set of which nobody answers holds up the next one, but for a return: that may be what helps there.
		isSkipped := !set.Seen.Initiated() && c.Progress.Rollout.Step == v1alpha1.StepReturning && !action.IsAct()
		if action.Kind == Nothing || isSkipped {
			continue
		}
		if action.Kind != Wait {
			return action
		}
		if waiting.Kind == Nothing {
			waiting = action
		}
		if underWay++; underWay >= c.parallel() || set.Component != v1alpha1.ComponentShardMember {
			break
		}
	}
	return waiting
}

// exists tells of a set of which nobody answers that it was brought into being before: mongos lists it, or it
// holds the canary. Config servers are what the verified revision was verified on.
func (c Cluster) exists(set ReplicaSet) bool {
	if set.Component == v1alpha1.ComponentConfigServer {
		return c.Progress.Verified != ""
	}
	return set.Seen.Listed || slices.Contains(set.Pods(), c.Progress.Rollout.Canary)
}

// parallel is how many sets may be under way at once.
func (c Cluster) parallel() int {
	if c.Progress.Rollout.Step == v1alpha1.StepOtherShards {
		return max(1, c.Policy.Shards)
	}
	return 1
}

// form brings the replica sets into being. An act for any of them comes before a wait for another.
func (c Cluster) form() Action {
	waiting := Action{Kind: Nothing}
	for _, set := range c.ReplicaSets {
		action := bootstrap(c, set)
		if action.IsAct() {
			return action
		}
		if action.Kind != Nothing && waiting.Kind == Nothing {
			waiting = action
		}
	}
	return waiting
}

// keepApp keeps the application's user as its Secret says.
func (c Cluster) keepApp() Action {
	switch {
	case c.AppUnknown:
		config := c.ReplicaSets[len(c.ReplicaSets)-1]
		return config.memberAction(CreateApp, *config.Seen.Primary(), v1alpha1.ReasonBootstrapping, "giving the application's user the password of its Secret")
	case c.AppError != "":
		return Action{Kind: Wait, Reason: v1alpha1.ReasonVerifying, Message: "the application's user could not be checked: " + c.AppError}
	default:
		return Action{Kind: Nothing}
	}
}

// bootstrap brings one replica set into being: initiate, users, shard.
func bootstrap(cluster Cluster, set ReplicaSet) Action {
	seen := set.Seen
	if seen.UninitiatedWhole() {
		return set.memberAction(Initiate, seen.Members[0], v1alpha1.ReasonBootstrapping, "initiating replica set %s with %d members", set.Name, set.Members)
	}
	if !seen.Initiated() {
		return set.awaitPods()
	}
	primary := seen.Primary()
	if primary == nil {
		return set.action(Wait, v1alpha1.ReasonWaitingForMembers, "replica set %s has no primary%s", set.Name, set.silent())
	}
	if primary.Look.LockedOut {
		return set.memberAction(CreateUsers, *primary, v1alpha1.ReasonBootstrapping, "making the operator's user known to replica set %s", set.Name)
	}
	if missing := primary.Look.MissingRights; len(missing) > 0 {
		return set.memberAction(CreateUsers, *primary, v1alpha1.ReasonBootstrapping, "giving the operator's role on replica set %s what it lacks: %s", set.Name, strings.Join(missing, ", "))
	}
	if seen.Listed || set.Component != v1alpha1.ComponentShardMember {
		return Action{Kind: Nothing}
	}
	if !cluster.Mongos.Answered {
		return set.action(Wait, v1alpha1.ReasonBootstrapping, "shard %s waits to be added until mongos answers: %s", set.Name, cluster.Mongos.Error)
	}
	return set.action(AddShard, v1alpha1.ReasonBootstrapping, "adding shard %s to the cluster", set.Name)
}

// awaitPods says what keeps a replica set from being initiated.
func (s ReplicaSet) awaitPods() Action {
	for _, member := range s.Seen.Members {
		if member.Look.State == observed.StateUnknown {
			if broken, action := s.refusesConfiguration(member); broken {
				return action
			}
			return s.action(Wait, v1alpha1.ReasonBuilding, "waiting for member %s: %s", member.Name, why(member))
		}
	}
	return s.action(Wait, v1alpha1.ReasonBuilding, "waiting for the members of replica set %s", s.Name)
}

// why says in a few words why a member does not serve.
func why(member observed.Member) string {
	switch {
	case !member.Pod.Exists:
		return "its pod does not exist yet"
	case member.Pod.Terminating:
		return "its pod is being deleted"
	case member.Pod.Trouble != "":
		return member.Pod.Trouble
	case member.Look.Error != "":
		return member.Look.Error
	case member.Look.InInitialSync:
		return "it is in initial sync"
	case member.Look.State == observed.StateOther:
		return "it is starting or recovering"
	case member.Look.State == observed.StateUninitiated:
		return "it belongs to no replica set"
	default:
		return "it does not answer"
	}
}

// silent lists the members that do not serve, for a message about a set as a whole.
func (s ReplicaSet) silent() string {
	var names []string
	for _, member := range s.Seen.Members {
		if !member.Serves() {
			names = append(names, member.Name+" ("+why(member)+")")
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; not serving: " + strings.Join(names, ", ")
}

// refusals are exit codes with which mongod refuses its configuration: 0 majority read concern off on
// 5.0 and newer, 1 an unknown parameter or a bad key file, 2 an unknown option, 14 WiredTiger refused
// its string.
var refusals = map[int32]bool{0: true, 1: true, 2: true, 14: true}

// refusedStarts is how often a member must have ended so before it is called a refusal; once may be a
// race with its volume or its key.
const refusedStarts = 2

func (s ReplicaSet) refusesConfiguration(member observed.Member) (bool, Action) {
	exit := member.Pod.Exited
	if exit == nil || !refusals[exit.Code] || exit.Restarts < refusedStarts || member.Look.State != observed.StateUnknown {
		return false, Action{}
	}
	action := s.memberAction(Stall, member, v1alpha1.ReasonMemberRefusesConfiguration,
		"mongod of %s ended %d times at its start with exit code %d: it refuses its configuration%s", member.Name, exit.Restarts, exit.Code, said(exit.Line))
	return true, action
}

// said is what a server said of itself, for the end of a sentence.
func said(line string) string {
	if line == "" {
		return "; its log says no more"
	}
	return "; its log says: " + line
}

func awaitMongos(cluster Cluster) Action {
	mongos := cluster.Mongos
	switch {
	case mongos.Ready < mongos.Wanted:
		return Action{Kind: Wait, Reason: v1alpha1.ReasonBuilding, Message: fmt.Sprintf("%d of %d mongos are ready", mongos.Ready, mongos.Wanted)}
	case mongos.Updated < mongos.Wanted:
		return Action{Kind: Wait, Reason: v1alpha1.ReasonRestarting, Message: fmt.Sprintf("%d of %d mongos run on the newest template", mongos.Updated, mongos.Wanted)}
	case !mongos.Answered:
		return Action{Kind: Wait, Reason: v1alpha1.ReasonVerifying, Message: "mongos does not answer: " + mongos.Error}
	}
	return Action{Kind: Nothing}
}

// settled says how a cluster stands in which nothing is left to do.
func (c Cluster) settled() Action {
	if drifted := c.drifted(); c.leavesDrift() && len(drifted) > 0 {
		reason, why := c.driftReason()
		return Action{Kind: Nothing, Reason: reason, Drift: drifted,
			Message: fmt.Sprintf("%d values were changed by hand and are left alone %s, the first is %s", len(drifted), why, drifted[0])}
	}
	message := "every declared value is in force and proved on every member"
	if c.DeclaresMongos {
		message += "; the values of mongos are in its file, and are not read back"
	}
	return Action{Kind: Nothing, Reason: v1alpha1.ReasonVerified, Message: message}
}

func (s ReplicaSet) action(kind Kind, reason, format string, args ...any) Action {
	return Action{Kind: kind, ReplicaSet: s.Name, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (s ReplicaSet) memberAction(kind Kind, member observed.Member, reason, format string, args ...any) Action {
	action := s.action(kind, reason, format, args...)
	action.Member, action.PodUID = member.Name, member.Pod.UID
	return action
}
