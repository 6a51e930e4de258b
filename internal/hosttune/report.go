// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"cmp"
	"slices"
)

// Scope is how far a setting reaches.
type Scope string

const (
	// ScopeNode is one value for all pods of the node.
	ScopeNode Scope = "Node"
	// ScopePod is a value of the pod's own network namespace; it ends with the pod.
	ScopePod Scope = "Pod"
	// ScopeInterface is a value of one network interface of the node.
	ScopeInterface Scope = "Interface"
	// ScopeDevice is a value of one block device of the node.
	ScopeDevice Scope = "Device"
	// ScopeProcess is a value of the server's process, or of its data volume.
	ScopeProcess Scope = "Process"
)

// Result is what became of a setting, in the order in which reports are read: worst first.
type Result string

const (
	// Refused says that the value was not taken, or not tried; Line.Errno or Line.Reason says why.
	Refused Result = "Refused"
	// Conflict says that an older owner holds the setting at another value; Line.Other names it.
	Conflict Result = "Conflict"
	// Differs is for readings only: the value in force is not the one that is wanted.
	Differs Result = "Differs"
	// Warning is a check that is not true. Nothing was to be set.
	Warning Result = "Warning"
	// Unreadable is for readings only: the reader is not allowed to see the value.
	Unreadable Result = "Unreadable"
	// Unsupported says that the kernel, the driver or the filesystem has no such setting. It is no failure.
	Unsupported Result = "Unsupported"
	// NotNeeded says that the setting would do nothing here; Line.Reason says why. It is no failure.
	NotNeeded Result = "NotNeeded"
	// Restored says that the owner does not want the setting any more: the value found first is in force
	// again, or what another owner still wants.
	Restored Result = "Restored"
	// Applied says that it was set, and read back.
	Applied Result = "Applied"
	// AlreadySet says that the value in force is what is wanted; nothing was written.
	AlreadySet Result = "AlreadySet"
	// Checked is a check that is true.
	Checked Result = "Checked"
)

// IsFailure says whether the result keeps a node from being tuned as declared.
func (r Result) IsFailure() bool { return r == Refused || r == Conflict || r == Differs }

// IsWorseThan says whether a person should hear of this result first.
func (r Result) IsWorseThan(other Result) bool { return rank(r) < rank(other) }

// Sort puts the worst lines first and keeps the order of the others.
func Sort(lines []Line) {
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(rank(a.Result), rank(b.Result)) })
}

// Line says of one setting what was found and what was done. It stands by itself.
type Line struct {
	// Setting is the name a person knows it by: vm.swappiness, rps_cpus, transparent_hugepage/enabled.
	Setting string `json:"setting"`
	Scope   Scope  `json:"scope"`
	// On is the interface, the device or, for settings of scope Pod, the pod ("" for the pod that reports).
	On string `json:"on,omitempty"`
	// Found is the value before this run did anything, Wanted what is declared, Set what was written (other
	// than Wanted where a mask was cut), ReadBack what the kernel then said. Values of several queues
	// that agree are told once; otherwise the first that differs is told.
	Found string `json:"found,omitempty"`
	// Original is the value the node had before anybody here set it, when that is another one than Found.
	Original string `json:"original,omitempty"`
	Wanted   string `json:"wanted,omitempty"`
	Set      string `json:"set,omitempty"`
	ReadBack string `json:"readBack,omitempty"`
	Result   Result `json:"result"`
	// Errno is the kernel's refusal by name: EPERM, EINVAL, EROFS.
	Errno string `json:"errno,omitempty"`
	// Reason is a sentence for a person.
	Reason string `json:"reason,omitempty"`
	// Other is the owner that holds a setting in Conflict.
	Other *Owner `json:"other,omitempty"`
}

// Facts are what members of a shard should have in common.
type Facts struct {
	// Boot is the id of the node's boot.
	Boot string `json:"boot,omitempty"`
	// Kernel is the kernel release: 6.1.0-18-amd64.
	Kernel string `json:"kernel,omitempty"`
	// CPUs is the number of CPUs online.
	CPUs int32 `json:"cpus,omitempty"`
	// MemoryMiB is the memory of the node, in MiB.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// DataFilesystem is the type of the filesystem under the data directory.
	DataFilesystem string `json:"dataFilesystem,omitempty"`
	// WriteMiBPerSecond is what the write probe measured last on this data volume; 0 when it never ran.
	WriteMiBPerSecond int64 `json:"writeMiBPerSecond,omitempty"`
}

// Report is what a run of host-tune did.
type Report struct {
	// Revision of the settings that the report is about.
	Revision string `json:"revision,omitempty"`
	Facts    Facts  `json:"facts"`
	// Lines come worst result first.
	Lines []Line `json:"lines"`
	// Dropped is how many lines did not fit into the message; they were the least bad ones.
	Dropped int32 `json:"dropped,omitempty"`
	// Cut says that the message ended in the middle of a line: what follows is lost.
	Cut bool `json:"cut,omitempty"`
}

// Worst is the worst result of the report, Checked for one without lines.
func (r Report) Worst() Result {
	worst := Checked
	for _, line := range r.Lines {
		if rank(line.Result) < rank(worst) {
			worst = line.Result
		}
	}
	return worst
}

// Reading is what the reader in a pod sees now. It is served as JSON.
type Reading struct {
	// Revision of the settings that the reader compares with.
	Revision string `json:"revision,omitempty"`
	Facts    Facts  `json:"facts"`
	// Lines have Found, Wanted and one of the results AlreadySet, Differs, Unreadable, Unsupported,
	// NotNeeded, Warning and Checked.
	Lines []Line `json:"lines"`
	// Writers are daemons on the node that write host settings by themselves: "tuned".
	Writers []string `json:"writers,omitempty"`
}

// order is how bad results are, worst first.
var order = [...]Result{Refused, Conflict, Differs, Warning, Unreadable, Unsupported, NotNeeded, Restored, Applied, AlreadySet, Checked}

// scopes are all there are.
var scopes = [...]Scope{ScopeNode, ScopePod, ScopeInterface, ScopeDevice, ScopeProcess}

// rank orders results from the worst on; an unknown word is the worst there is.
func rank(result Result) int {
	for i, known := range order {
		if known == result {
			return i
		}
	}
	return -1
}
