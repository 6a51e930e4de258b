// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"time"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// Hosts is what was seen of the nodes of the members.
type Hosts struct {
	// Files are the settings of each node as they lie in the ConfigMap.
	Files map[string]string
	// Pods are the pods with a mongod, those of templates before included.
	Pods []HostPod
	// Jobs that are or were bound to a node and are remembered.
	Jobs []HostJob
	// Gone are nodes that do not exist any more; only nodes that members have left are asked for.
	Gone map[string]bool
}

// HostPod is a member on its node.
type HostPod struct {
	// Name and UID of the pod, and the node it is bound to, empty while it is not.
	Name, UID, Node string
	// Tunes tells that the pod has the containers of host tuning.
	Tunes bool
	// Waits tells that its init container has not ended yet.
	Waits bool
	// Revision of the settings that the pod was last told of.
	Revision string
	// Report is what its init container said at its end; nil when it has not.
	Report *HostReport
	// Reading is what its reader sees; nil when it was not asked or did not answer, and ReadingError
	// says why not.
	Reading      *hosttune.Reading
	ReadingError string
}

// HostReport is a report and when it was given.
type HostReport struct {
	hosttune.Report
	At time.Time
}

// HostJob is a Job bound to a node.
type HostJob struct {
	// Name of the Job, the node it is bound to, what it does, and the settings it brings.
	Name, Node, Does, Revision string
	// State of the Job.
	State TrialState
	// Report is what it said at its end; nil when it said nothing.
	Report *HostReport
	// Message says why it failed.
	Message string
}
