// SPDX-License-Identifier: Apache-2.0

package hosttune

// SettingsKey is the key of the ConfigMap that holds the Settings of one node as JSON, and the name of
// the file where it is mounted. Each node has a key of its own, since a change reaches one node after
// the other; and the key is written only once the operator has recorded the node as touched, so nothing
// may be written on a node whose key is not there yet.
func SettingsKey(node string) string { return node + ".json" }

// Settings are everything one owner wants of the nodes its pods run on. What is absent is unmanaged: it
// is neither read nor written, and given back if this owner had set it before.
type Settings struct {
	// Revision names these settings; reports and readings repeat it, so that what is said about older
	// settings is not taken for an answer about these.
	Revision string `json:"revision,omitempty"`
	// Owner is the resource these settings belong to.
	Owner Owner `json:"owner"`
	// ServerVersion is the MongoDB version of the owner's servers, "7.0" or "7.0.14". It decides what
	// Auto means for transparent huge pages.
	ServerVersion string `json:"serverVersion,omitempty"`
	// OnFailure says whether a server may start on a node that could not be tuned. Report when empty.
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// Sysctls are kernel parameters under /proc/sys.
	Sysctls []Sysctl `json:"sysctls,omitempty"`
	// ReceivePacketSteering spreads the handling of received packets over CPUs.
	ReceivePacketSteering *ReceivePacketSteering `json:"receivePacketSteering,omitempty"`
	// TransparentHugePages are the kernel's huge pages for anonymous memory.
	TransparentHugePages *TransparentHugePages `json:"transparentHugePages,omitempty"`
	// Scheduler is how long the kernel's scheduler lets a thread run.
	Scheduler *Scheduler `json:"scheduler,omitempty"`
	// BlockDevices are the disks of the data volume, or those named.
	BlockDevices *BlockDevices `json:"blockDevices,omitempty"`
	// Checks are what is looked at without being changed.
	Checks *Checks `json:"checks,omitempty"`
}

// Owner is a resource that wants host settings. The older of two owners wins where they want different
// values of one setting; Created and then UID decide who is older.
type Owner struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Created is the resource's creation time, in RFC 3339 and UTC.
	Created string `json:"created"`
}

// OnFailure says what becomes of a server whose node could not be tuned.
type OnFailure string

const (
	// OnFailureReport starts the server all the same; the failure is reported.
	OnFailureReport OnFailure = "Report"
	// OnFailureBlock keeps the server from starting until the node is tuned.
	OnFailureBlock OnFailure = "Block"
)

// Operator says how a sysctl's value is compared with the one in force.
type Operator string

const (
	// OperatorExact sets the value. It is what an empty operator means.
	OperatorExact Operator = "Exact"
	// OperatorOnlyRaise sets the value if the one in force is lower.
	OperatorOnlyRaise Operator = "OnlyRaise"
	// OperatorOnlyLower sets the value if the one in force is higher.
	OperatorOnlyLower Operator = "OnlyLower"
)

// Sysctl is one kernel parameter.
type Sysctl struct {
	// Name is the parameter's name with dots: vm.swappiness. Names outside of the allow-list need Unlisted.
	Name string `json:"name"`
	// Value is one line, as the kernel prints it.
	Value string `json:"value"`
	// Operator is Exact when empty. The other two are for whole numbers.
	Operator Operator `json:"operator,omitempty"`
	// Unlisted says that a name outside of the allow-list is meant.
	Unlisted bool `json:"unlisted,omitempty"`
}

// ReceivePacketSteering spreads received packets of the node's interfaces over CPUs, per receive queue
// (rps_cpus), and optionally follows the thread that reads them (rps_flow_cnt, rps_sock_flow_entries).
type ReceivePacketSteering struct {
	// Interfaces select the node's network interfaces; each entry has exactly one field set.
	Interfaces []Interface `json:"interfaces"`
	// CPUs are the CPUs that handle packets.
	CPUs CPUs `json:"cpus"`
	// WhenMaskTooWide says what to do with a CPU list or a mask that names CPUs the node does not have.
	// Cut when empty.
	WhenMaskTooWide WhenMaskTooWide `json:"whenMaskTooWide,omitempty"`
	// FlowEntries is the size of the table of flows, shared out over an interface's queues; 0 leaves
	// flow steering unmanaged. The kernel rounds it up to a power of two.
	FlowEntries int32 `json:"flowEntries,omitempty"`
}

// Interface selects network interfaces of the node.
type Interface struct {
	// Name is one interface; that it is missing is a failure.
	Name string `json:"name,omitempty"`
	// Pattern selects by shell pattern (*, ?, [a-z]); it has to select something.
	Pattern string `json:"pattern,omitempty"`
	// DefaultRoute selects the interfaces that the node's default routes go through.
	DefaultRoute bool `json:"defaultRoute,omitempty"`
}

// CPUMode says how CPUs are chosen.
type CPUMode string

const (
	// CPUsAll are all CPUs of the node.
	CPUsAll CPUMode = "All"
	// CPUsAllButFirst leaves the first CPU to the interrupts themselves.
	CPUsAllButFirst CPUMode = "AllButFirst"
	// CPUsList are those of CPUs.List.
	CPUsList CPUMode = "List"
	// CPUsMask are those of CPUs.Mask.
	CPUsMask CPUMode = "Mask"
)

// CPUs is a set of CPUs.
type CPUs struct {
	Mode CPUMode `json:"mode"`
	// List is a list as in cpuset(7): "1-3,6".
	List string `json:"list,omitempty"`
	// Mask is hexadecimal, in groups of 32 bits with commas between them: "fe", "1,00000000".
	Mask string `json:"mask,omitempty"`
}

// WhenMaskTooWide says what to do with CPUs that the node does not have. The kernel refuses such masks.
type WhenMaskTooWide string

const (
	// MaskCut leaves out the CPUs that the node does not have, and says so.
	MaskCut WhenMaskTooWide = "Cut"
	// MaskRefuse leaves the interface as it is, and fails.
	MaskRefuse WhenMaskTooWide = "Refuse"
)

// HugePagesMode says when the kernel backs memory with huge pages.
type HugePagesMode string

const (
	// HugePagesAuto is what the server's version wants: never before 8.0, always from 8.0 on.
	HugePagesAuto HugePagesMode = "Auto"
	// HugePagesAlways is the kernel's always.
	HugePagesAlways HugePagesMode = "Always"
	// HugePagesMadvise is the kernel's madvise.
	HugePagesMadvise HugePagesMode = "Madvise"
	// HugePagesNever is the kernel's never.
	HugePagesNever HugePagesMode = "Never"
)

// TransparentHugePages set transparent_hugepage/enabled, and with it what belongs to it.
type TransparentHugePages struct {
	Mode HugePagesMode `json:"mode"`
	// Defrag is the kernel's word for transparent_hugepage/defrag: always, defer, defer+madvise,
	// madvise or never. Empty: with Auto what the version wants, else unmanaged.
	Defrag string `json:"defrag,omitempty"`
}

// Scheduler is the granularity of the kernel's scheduler. Where it is set depends on the kernel's
// generation; kernels that have no such setting are said to have none.
type Scheduler struct {
	// MinGranularityNanoseconds is how long a thread runs before another may take its place,
	// 100000..1000000000. Kernels from 6.6 on have base_slice_ns in its place.
	MinGranularityNanoseconds int64 `json:"minGranularityNanoseconds,omitempty"`
	// WakeupGranularityNanoseconds is how far a thread that wakes up has to be behind before it may
	// take another's place, 0..1000000000. Kernels from 6.6 on have nothing in its place.
	WakeupGranularityNanoseconds *int64 `json:"wakeupGranularityNanoseconds,omitempty"`
}

// BlockDevices are settings of disks, set on a device and on every layer under it.
type BlockDevices struct {
	// Names are device names or shell patterns below /sys/block. Empty: the disks under the data volume.
	Names []string `json:"names,omitempty"`
	// ReadAheadKiB is read_ahead_kb; nil is unmanaged.
	ReadAheadKiB *int32 `json:"readAheadKiB,omitempty"`
	// Schedulers are I/O schedulers in order of preference; the first that the kernel offers is set.
	// A kernel's older name stands for the newer one: noop for none, deadline for mq-deadline.
	Schedulers []string `json:"schedulers,omitempty"`
}

// Checks are looked at and never changed. A check that is not true is a Warning.
type Checks struct {
	// Data wants noatime on the data volume, xfs, and at least MinFreePercent free.
	Data bool `json:"data,omitempty"`
	// MinFreePercent is how much of the data volume has to be free; 0 does not look.
	MinFreePercent int32 `json:"minFreePercent,omitempty"`
	// Limits wants 64000 open files and processes for the server.
	Limits bool `json:"limits,omitempty"`
	// Kernel looks for kernel releases that are known to be slow, and at the clock source and NUMA.
	Kernel bool `json:"kernel,omitempty"`
	// WriteProbe measures how fast the data volume writes. It runs before the server starts, never
	// beside one.
	WriteProbe *WriteProbe `json:"writeProbe,omitempty"`
}

// WriteProbe bounds the measurement of the data volume by bytes and by time, whichever ends first.
type WriteProbe struct {
	// MiB is how much is written at most, 1..4096.
	MiB int32 `json:"mib"`
	// Seconds is how long it may take at most, 1..60.
	Seconds int32 `json:"seconds"`
}
