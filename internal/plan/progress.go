// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
)

// Progress is what status remembers of changes.
type Progress struct {
	// Rollout on its way; its Step is empty while there is none.
	Rollout v1alpha1.RolloutStatus
	// Verified is the revision to return to, empty before the first one; Previous the one that was verified
	// before it, Failed the one taken back last.
	Verified, Previous, Failed string
	// Retried is the value of the retry annotation that was handled last.
	Retried string
}

// Reaches tells whether a change that has come to a step concerns a member; others are held to the
// revision verified last.
func Reaches(progress Progress, set desired.ReplicaSet, member string) bool {
	canarySet := strings.HasPrefix(progress.Rollout.Canary, set.Name+"-") && slices.Contains(set.Pods(), progress.Rollout.Canary)
	switch progress.Rollout.Step {
	case v1alpha1.StepReturning, v1alpha1.StepReturned:
		return false
	case v1alpha1.StepCanary, v1alpha1.StepCanarySoak, v1alpha1.StepCanaryLeads, v1alpha1.StepLeadSoak:
		return member == progress.Rollout.Canary
	case v1alpha1.StepRestOfShard:
		return canarySet
	case v1alpha1.StepOtherShards:
		return set.Component == v1alpha1.ComponentShardMember
	case v1alpha1.StepConfigServers, v1alpha1.StepMongos, v1alpha1.StepVerifying:
		return true
	default:
		return false
	}
}

// ReachesMongos tells whether the routers get the change.
func ReachesMongos(progress Progress) bool {
	return progress.Rollout.Step == v1alpha1.StepMongos || progress.Rollout.Step == v1alpha1.StepVerifying
}

// isStaged tells that the wanted revision differs from the verified one, so that it has to travel step
// by step. The first revision does not: there is nothing yet to return to.
func (c Cluster) isStaged() bool {
	return c.Progress.Verified != "" && c.Progress.Verified != c.Revision
}

// turn is a move of the rollout to another step, to be recorded before anything follows from it.
func (c Cluster) turn(progress Progress, reason, format string, args ...any) Action {
	if progress.Rollout.Step != "" {
		since := metav1.NewTime(c.Now.Truncate(time.Second))
		progress.Rollout.Since = &since
	}
	return Action{Kind: Turn, Progress: &progress, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (c Cluster) step(step v1alpha1.RolloutStep, reason, format string, args ...any) Action {
	progress := c.Progress
	progress.Rollout.Step = step
	return c.turn(progress, reason, format, args...)
}
