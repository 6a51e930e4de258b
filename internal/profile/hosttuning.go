// SPDX-License-Identifier: Apache-2.0

package profile

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// hostTuning is the part of a spec that is brought to the nodes and so is part of a revision; nil while
// host tuning is off. How nodes are compared and how long a deletion waits changes nothing on them.
func hostTuning(spec *v1alpha1.HostTuningSpec) *v1alpha1.HostTuningSpec {
	if spec == nil || spec.Mode != v1alpha1.HostTuningInitContainer {
		return nil
	}
	tuned := spec.DeepCopy()
	tuned.Homogeneity, tuned.RestoreDeadlineSeconds = nil, nil
	if tuned.OnFailure == "" {
		tuned.OnFailure = v1alpha1.HostFailureReport
	}
	return tuned
}
