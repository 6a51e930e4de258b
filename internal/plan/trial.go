// SPDX-License-Identifier: Apache-2.0

package plan

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// tryFirst makes sure that a server has started with a file before any member gets it. Nothing means
// that one has. A member whose file is lost gets it back without a trial: nothing can get worse.
func (s ReplicaSet) tryFirst(cluster Cluster, member observed.Member, settings catalog.Settings) Action {
	if _, written := s.Seen.Files[member.Name]; !written {
		return Action{Kind: Nothing}
	}
	file := desired.TrialConfig(s.ReplicaSet, settings)
	trial := cluster.Trials[desired.FileID(file)]
	switch trial.State {
	case observed.TrialNone:
		action := s.action(StartTrial, v1alpha1.ReasonApplying, "starting a server with the new file of %s on an empty directory before any member gets it", s.Name)
		action.File = file
		return action
	case observed.TrialRunning:
		return s.action(Wait, v1alpha1.ReasonApplying, "waiting for the trial start of the new file of %s", s.Name)
	case observed.TrialFailed:
		return s.action(Stall, v1alpha1.ReasonTrialStartFailed,
			"mongod does not start with the new file of %s: %s; no member was touched", s.Name, trial.Message)
	case observed.TrialPassed:
	}
	return Action{Kind: Nothing}
}
