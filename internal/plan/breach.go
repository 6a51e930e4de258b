// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// breach is what stops a change: a reason that programs may compare, and a sentence.
type breach struct {
	reason, says string
}

// broken says what broke on a member that has the change; it says nothing while nothing did.
func (c Cluster) broken() breach {
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			if !set.Targets[member.Name].Changed {
				continue
			}
			if health := set.Health[member.Name]; health.Breach != "" {
				return breach{health.BreachReason, health.Breach}
			}
			if refuses, action := set.refusesConfiguration(member); refuses {
				return breach{action.Reason, action.Message}
			}
			if member.Silent > maxSilence && set.othersServe(member) {
				return breach{v1alpha1.ReasonMemberSilent, fmt.Sprintf(
					"%s does not answer for more than %s while the others of its replica set do (%s)", member.Name, maxSilence, why(member))}
			}
		}
	}
	if c.Worse != "" && c.Progress.Rollout.Step == v1alpha1.StepCanarySoak {
		return breach{v1alpha1.ReasonWorseThanTwins, c.Worse}
	}
	return breach{}
}

// maxSilence is how long a changed member may be silent while the others of its set answer.
const maxSilence = 60 * time.Second

func (s ReplicaSet) othersServe(member observed.Member) bool {
	for _, other := range s.Seen.Members {
		if other.Name != member.Name && !other.Serves() {
			return false
		}
	}
	return true
}

// halt takes a broken change back, or pauses it.
func (c Cluster) halt(breach breach) Action {
	progress := c.Progress
	progress.Rollout.Breach, progress.Rollout.BreachReason = breach.says, breach.reason
	if !c.Policy.Return {
		return c.turn(progress, v1alpha1.ReasonPaused, "pausing revision %s: %s", c.Revision, breach.says)
	}
	progress.Rollout.Step = v1alpha1.StepReturning
	progress.Failed = c.Revision
	return c.turn(progress, v1alpha1.ReasonReturning, "taking revision %s back: %s", c.Revision, breach.says)
}

// returnSteady takes the verified revision back to the one verified before it when a limit breaks while
// no change is on its way, where somebody asked for that.
func (c Cluster) returnSteady() Action {
	progress := c.Progress
	if !c.Policy.SteadyReturn || progress.Rollout.Step != "" || progress.Verified != c.Revision || progress.Previous == "" {
		return Action{Kind: Nothing}
	}
	for _, set := range c.ReplicaSets {
		for _, member := range set.Seen.Members {
			health := set.Health[member.Name]
			if health.Breach == "" {
				continue
			}
			progress.Rollout = v1alpha1.RolloutStatus{
				Revision: c.Revision, Step: v1alpha1.StepReturning, Breach: health.Breach, BreachReason: health.BreachReason,
			}
			progress.Verified, progress.Previous, progress.Failed = progress.Previous, "", c.Revision
			return c.turn(progress, v1alpha1.ReasonReturning,
				"taking revision %s back to %s, as rollout.onSteadyBreach asks: %s", c.Revision, progress.Verified, health.Breach)
		}
	}
	return Action{Kind: Nothing}
}
