// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// Step is one step of the way a change takes.
type Step struct {
	Step v1alpha1.RolloutStep `json:"step"`
	// Text says what happens.
	Text string `json:"text"`
	// Members concerned, in their order.
	Members []string `json:"members,omitempty"`
	// Restarts tells that they restart.
	Restarts bool `json:"restarts,omitempty"`
	// AtLeastSeconds is how long the step takes at least.
	AtLeastSeconds int64 `json:"atLeastSeconds,omitempty"`
}

// journey is the way of a change through the cluster.
type journey struct {
	before, after Side
	policy        plan.Policy
	// shards, config and routers tell what is done to whom.
	shards, config, routers work
	sets                    []desired.ReplicaSet
	roles                   map[string]v1alpha1.MemberRole

	steps     []Step
	restarted []string
}

// work is what is done to one kind of process.
type work struct {
	touched, restarts bool
}

// journeyOf works out the way of a change, from who leads and who follows now. It is empty when nothing has
// to travel.
func journeyOf(before, after Side, changes []Change) journey {
	way := journey{before: before, after: after, policy: plan.PolicyOf(after.Tuning.Spec.Rollout), roles: map[string]v1alpha1.MemberRole{}}
	for _, member := range before.Tuning.Status.Members {
		way.roles[member.Name] = member.Role
	}
	if len(way.roles) == 0 {
		assumeRoles(before.Tuning, way.roles)
	}
	way.sets = existing(before.Tuning, desired.ReplicaSets(after.Tuning))
	way.shards = way.workOn(v1alpha1.ComponentShardMember, changes)
	way.config = way.workOn(v1alpha1.ComponentConfigServer, changes)
	way.routers = work{touched: differs(changes, v1alpha1.ComponentMongos) || before.cluster().MongosTemplateHash() != after.cluster().MongosTemplateHash()}
	if len(way.sets) < 2 || !way.shards.touched && !way.config.touched && !way.routers.touched {
		return way
	}
	way.travel()
	return way
}

// assumeRoles takes the first member of each set for its primary.
func assumeRoles(tuning *v1alpha1.MongoTuning, roles map[string]v1alpha1.MemberRole) {
	for _, set := range desired.ReplicaSets(tuning) {
		for ordinal, pod := range set.Pods() {
			roles[pod] = v1alpha1.MemberSecondary
			if ordinal == 0 {
				roles[pod] = v1alpha1.MemberPrimary
			}
		}
	}
}

// existing are the replica sets that there are already: a new shard is built with the change in it.
func existing(before *v1alpha1.MongoTuning, sets []desired.ReplicaSet) []desired.ReplicaSet {
	return slices.DeleteFunc(sets, func(set desired.ReplicaSet) bool {
		return set.Component == v1alpha1.ComponentShardMember && !slices.ContainsFunc(desired.ReplicaSets(before), func(old desired.ReplicaSet) bool { return old.Name == set.Name })
	})
}

func (j *journey) workOn(component v1alpha1.Component, changes []Change) work {
	i := slices.IndexFunc(j.sets, func(set desired.ReplicaSet) bool { return set.Component == component })
	old := desired.ReplicaSets(j.before.Tuning)
	k := slices.IndexFunc(old, func(set desired.ReplicaSet) bool { return set.Component == component })
	template := j.after.cluster().TemplateHash(j.sets[i]) != j.before.cluster().TemplateHash(old[k])
	return work{
		touched: template || differs(changes, component),
		restarts: template || slices.ContainsFunc(changes, func(change Change) bool {
			return change.Component == component && change.Effect == Restart
		}),
	}
}

func (j *journey) travel() {
	shards, config := j.sets[:len(j.sets)-1], j.sets[len(j.sets)-1]
	if j.shards.touched {
		j.throughCanary(shards)
		j.throughOthers(shards)
	}
	if j.config.touched {
		j.add(v1alpha1.StepConfigServers, "config servers, one after the other", j.config, j.inOrder(config, ""))
	}
	if j.routers.touched {
		j.steps = append(j.steps, Step{Step: v1alpha1.StepMongos, Text: "mongos: its Deployment rolls"})
	}
	j.steps = append(j.steps, Step{Step: v1alpha1.StepVerifying, Text: "waits until every member is proved and in range; then it is the verified revision"})
}

func (j *journey) throughCanary(shards []desired.ReplicaSet) {
	set := shards[min(int(j.policy.CanaryShard), len(shards)-1)]
	canary := j.canary(set)
	j.add(v1alpha1.StepCanary, "canary", j.shards, []string{canary})
	j.soak(v1alpha1.StepCanarySoak, "watches "+canary, j.policy.Soak)
	leader := j.roleIn(set, v1alpha1.MemberPrimary)
	leads := j.policy.CanaryLeads == v1alpha1.CanaryLeadsAlways || j.policy.CanaryLeads != v1alpha1.CanaryLeadsNever && j.shards.restarts
	if leads && set.Members > 1 && leader != canary {
		text := canary + " becomes primary"
		if leader != "" {
			text = leader + " steps down, so that " + canary + " becomes primary"
		}
		j.steps = append(j.steps, Step{Step: v1alpha1.StepCanaryLeads, Text: text, Members: []string{canary}})
		j.soak(v1alpha1.StepLeadSoak, "watches "+canary+" as primary", j.policy.LeadSoak)
		j.roles[leader], j.roles[canary] = v1alpha1.MemberSecondary, v1alpha1.MemberPrimary
	}
	if rest := j.inOrder(set, canary); len(rest) > 0 {
		j.add(v1alpha1.StepRestOfShard, "rest of "+set.Name, j.shards, rest)
	}
}

// throughOthers brings the change to every shard but the canary's.
func (j *journey) throughOthers(shards []desired.ReplicaSet) {
	own := min(int(j.policy.CanaryShard), len(shards)-1)
	var members []string
	for i, set := range shards {
		if i != own {
			members = append(members, j.inOrder(set, "")...)
		}
	}
	if len(members) > 0 {
		j.add(v1alpha1.StepOtherShards, "the other shards, one after the other", j.shards, members)
	}
}

func (j *journey) add(step v1alpha1.RolloutStep, who string, work work, members []string) {
	how := "online"
	if work.restarts {
		how = "each with a restart"
		if len(members) == 1 {
			how = "with a restart"
		}
		j.restarted = append(j.restarted, members...)
	}
	j.steps = append(j.steps, Step{Step: step, Text: fmt.Sprintf("%s, %s: %s", who, how, strings.Join(members, ", ")), Members: members, Restarts: work.restarts})
}

func (j *journey) soak(step v1alpha1.RolloutStep, text string, span time.Duration) {
	j.steps = append(j.steps, Step{Step: step, Text: text + " for " + span.String(), AtLeastSeconds: int64(span / time.Second)})
}

// canary is the secondary with the lowest number, as the operator chooses it when all serve; the member of
// a set of one.
func (j *journey) canary(set desired.ReplicaSet) string {
	for _, pod := range set.Pods() {
		if j.roles[pod] == v1alpha1.MemberSecondary {
			return pod
		}
	}
	return naming.Member(set.Name, 0)
}

func (j *journey) roleIn(set desired.ReplicaSet, role v1alpha1.MemberRole) string {
	for _, pod := range set.Pods() {
		if j.roles[pod] == role {
			return pod
		}
	}
	return ""
}

// inOrder are the members of a set but one: who does not serve first, then secondaries, the primary last.
func (j *journey) inOrder(set desired.ReplicaSet, without string) []string {
	var down, secondaries, primaries []string
	for _, pod := range set.Pods() {
		switch {
		case pod == without:
		case j.roles[pod] == v1alpha1.MemberPrimary:
			primaries = append(primaries, pod)
		case j.roles[pod] == v1alpha1.MemberSecondary:
			secondaries = append(secondaries, pod)
		default:
			down = append(down, pod)
		}
	}
	return slices.Concat(down, secondaries, primaries)
}
