// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// HostTuningSpec says what the nodes of the mongod pods are set to. A field that is absent leaves the
// node as it is. Settings of a node hold for every pod on it, also for pods of other people.
//
// +kubebuilder:validation:XValidation:rule="!has(self.transparentHugePagesDefrag) || (has(self.transparentHugePages) && self.transparentHugePages != 'Unmanaged')",fieldPath=".transparentHugePagesDefrag",message="must be left out while transparentHugePages is unmanaged"
// +kubebuilder:validation:XValidation:rule="!has(self.sysctls) || !(self.sysctls.exists(s, s.name == 'vm.dirty_ratio') && self.sysctls.exists(s, s.name == 'vm.dirty_bytes'))",fieldPath=".sysctls",message="must name vm.dirty_ratio or vm.dirty_bytes, not both: the kernel zeroes one when the other is written"
// +kubebuilder:validation:XValidation:rule="!has(self.sysctls) || !(self.sysctls.exists(s, s.name == 'vm.dirty_background_ratio') && self.sysctls.exists(s, s.name == 'vm.dirty_background_bytes'))",fieldPath=".sysctls",message="must name vm.dirty_background_ratio or vm.dirty_background_bytes, not both: the kernel zeroes one when the other is written"
type HostTuningSpec struct {
	// mode says how settings reach the nodes: InitContainer gives every mongod pod a privileged init
	// container that sets them before mongod starts, and a reader without privileges; Disabled touches
	// no node, and puts back what was set before. Turning it on or off restarts members one by one; a
	// change of any other field restarts nobody. The namespace has to allow privileged pods. Default
	// Disabled.
	// +optional
	// +kubebuilder:default=Disabled
	Mode HostTuningMode `json:"mode,omitempty"`

	// sysctls are kernel parameters by name. Those below net. hold for the network of the mongod pods,
	// all others for the whole node; the report says which.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Sysctls []Sysctl `json:"sysctls,omitempty"`

	// receivePacketSteering spreads the work for received packets over CPUs, for network devices with
	// fewer queues than the node has CPUs.
	// +optional
	ReceivePacketSteering *ReceivePacketSteering `json:"receivePacketSteering,omitempty"`

	// transparentHugePages is the mode of transparent huge pages on the node: Auto takes what MongoDB
	// advises for the declared version (never up to 7.0, always from 8.0), Unmanaged leaves the node as
	// it is. Default Unmanaged.
	// +optional
	TransparentHugePages TransparentHugePages `json:"transparentHugePages,omitempty"`

	// transparentHugePagesDefrag says how hard the kernel looks for huge pages. Only together with
	// transparentHugePages. Unset: with Auto what MongoDB advises for the declared version, otherwise as
	// the node has it.
	// +optional
	TransparentHugePagesDefrag TransparentHugePagesDefrag `json:"transparentHugePagesDefrag,omitempty"`

	// scheduler is how long a thread runs before another may take its CPU.
	// +optional
	Scheduler *SchedulerTuning `json:"scheduler,omitempty"`

	// blockDevices is how the disks under the data volumes are read.
	// +optional
	BlockDevices *BlockDeviceTuning `json:"blockDevices,omitempty"`

	// checks are what is looked at without being changed. Unset: all of them but the write probe.
	// +optional
	Checks *HostChecks `json:"checks,omitempty"`

	// homogeneity is how far the nodes of one shard may differ before a warning is raised.
	// +optional
	Homogeneity *HomogeneitySpec `json:"homogeneity,omitempty"`

	// onFailure says what follows when a setting cannot be set: Report starts mongod all the same and
	// reports the setting, Block keeps a new mongod from starting and a change from spreading until it
	// can be set. Default Report.
	// +optional
	// +kubebuilder:default=Report
	OnFailure HostFailurePolicy `json:"onFailure,omitempty"`

	// restoreDeadlineSeconds is how long the deletion of this object waits for the nodes to be put back.
	// When it is over, or the namespace goes as a whole, the deletion goes on, and an event and a metric
	// say which nodes were left. Seconds, 1 to 3600. Default 120.
	// +optional
	// +kubebuilder:default=120
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	RestoreDeadlineSeconds *int32 `json:"restoreDeadlineSeconds,omitempty"`
}

// Sysctl is one kernel parameter.
//
// +kubebuilder:validation:XValidation:rule="(has(self.unlisted) && self.unlisted == 'Accept') || self.name.matches('^(fs[.](aio-max-nr|file-max|nr_open)|kernel[.](numa_balancing|pid_max|sched_autogroup_enabled|sched_migration_cost_ns|threads-max)|net[.]core[.](default_qdisc|netdev_budget|netdev_max_backlog|rmem_default|rmem_max|somaxconn|wmem_default|wmem_max)|net[.]ipv4[.](ip_local_port_range|tcp_congestion_control|tcp_fin_timeout|tcp_keepalive_intvl|tcp_keepalive_probes|tcp_keepalive_time|tcp_max_syn_backlog|tcp_max_tw_buckets|tcp_mem|tcp_retries2|tcp_rmem|tcp_slow_start_after_idle|tcp_tw_reuse|tcp_wmem)|vm[.](dirty_background_bytes|dirty_background_ratio|dirty_bytes|dirty_expire_centisecs|dirty_ratio|dirty_writeback_centisecs|max_map_count|min_free_kbytes|overcommit_memory|overcommit_ratio|swappiness|vfs_cache_pressure|zone_reclaim_mode))$')",fieldPath=".name",message="must be one of the parameters listed in docs/host-tuning.md; set unlisted to Accept for another one at your own risk"
// +kubebuilder:validation:XValidation:rule="(has(self.unlisted) && self.unlisted == 'Accept') || self.name in ['net.core.default_qdisc', 'net.ipv4.tcp_congestion_control'] || self.value.matches('^-?[0-9]+([ \\t]+-?[0-9]+)*$')",fieldPath=".value",message="must be a whole number, or several with blanks between them"
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || self.operator == 'Exact' || self.value.matches('^-?[0-9]+$')",fieldPath=".operator",message="must be Exact unless the value is one whole number"
type Sysctl struct {
	// name of the parameter, with dots, for example vm.swappiness.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9_-]+([.][A-Za-z0-9_-]+)+$')",message="must be parts of letters, digits, hyphens and underscores with dots between them"
	Name string `json:"name"`

	// value to set, as text: a whole number, several with blanks between them, or a word.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.,:+-]+([ \\t]+[A-Za-z0-9_.,:+-]+)*$')",message="must be one line of words of letters, digits and the signs _ . , : + - with blanks between them"
	Value string `json:"value"`

	// operator says when the value is set: Exact always, OnlyRaise when the node has a lower one,
	// OnlyLower when it has a higher one. Default Exact.
	// +optional
	Operator SysctlOperator `json:"operator,omitempty"`

	// unlisted set to Accept lets a parameter be set that is not on the list. Nobody has tried what it
	// does to MongoDB or to the node. Default Refuse.
	// +optional
	Unlisted UnlistedSysctl `json:"unlisted,omitempty"`
}

// ReceivePacketSteering spreads the work for received packets over CPUs (RPS) and, with flowEntries,
// keeps each connection on the CPU of its reader (RFS).
type ReceivePacketSteering struct {
	// nodeInterfaces are network devices of the node, by name or by pattern with * and ?. Unset: the
	// device of the default route. The traffic of pods passes it before it reaches them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z0-9_.:@*?-]+$') && !name.matches('^[.]+$'))",message="must hold names of devices: letters, digits, the signs _ . : @ - and * and ? for patterns"
	NodeInterfaces []string `json:"nodeInterfaces,omitempty"`

	// cpus that share the work.
	// +required
	CPUs CPUSelection `json:"cpus"`

	// flowEntries is the size of the table of flows (net.core.rps_sock_flow_entries), shared out among
	// the queues; the kernel rounds it up to a power of two. 1 to 1048576. Unset: left as it is.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	FlowEntries *int32 `json:"flowEntries,omitempty"`
}

// CPUSelection chooses CPUs of a node.
//
// +kubebuilder:validation:XValidation:rule="has(self.list) == (self.mode == 'List')",fieldPath=".list",message="must be set with mode List, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.mask) == (self.mode == 'Mask')",fieldPath=".mask",message="must be set with mode Mask, and only then"
type CPUSelection struct {
	// mode says how the CPUs are chosen: AllButFirst leaves CPU 0 to the interrupts, All takes every
	// one, List and Mask name them.
	// +required
	Mode CPUSelectionMode `json:"mode"`

	// list of CPUs and ranges, for example 1-7 or 0,2,4-6.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$')",message="must be numbers and ranges with commas between them, for example 0,2,4-6"
	List string `json:"list,omitempty"`

	// mask of CPUs in hexadecimal as the kernel writes it, 32 CPUs to a group, for example fe or
	// ff,fffffffe.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=290
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})*$') && self.matches('[1-9a-fA-F]')",message="must be hexadecimal in groups of eight with commas between them, and choose a CPU at least"
	Mask string `json:"mask,omitempty"`

	// beyondNode says what happens to CPUs that a node does not have: Cut leaves them out and reports
	// what was set instead, Refuse sets nothing there. Default Cut.
	// +optional
	BeyondNode CPUsBeyondNode `json:"beyondNode,omitempty"`
}

// SchedulerTuning is how long a thread runs before another may take its CPU. Where these live depends on
// the kernel; a kernel without them is reported as Unsupported.
type SchedulerTuning struct {
	// minGranularityNanoseconds is the least time a thread runs: sched_min_granularity_ns up to kernel
	// 6.5, base_slice_ns from 6.6. Nanoseconds, 100000 to 1000000000. A stress test gained from 10000000.
	// +optional
	// +kubebuilder:validation:Minimum=100000
	// +kubebuilder:validation:Maximum=1000000000
	MinGranularityNanoseconds *int32 `json:"minGranularityNanoseconds,omitempty"`

	// wakeupGranularityNanoseconds is how far a thread that wakes up must be behind before it takes the
	// CPU: sched_wakeup_granularity_ns, gone in kernel 6.6. Nanoseconds, 0 to 1000000000. A stress test
	// gained from 15000000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000
	WakeupGranularityNanoseconds *int32 `json:"wakeupGranularityNanoseconds,omitempty"`
}

// BlockDeviceTuning is how the disks under the data volumes are read.
type BlockDeviceTuning struct {
	// devices of the node by name or by pattern with * and ?, for example nvme*n1. Unset: the device
	// under the data volume, and the devices that it is made of.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z0-9_.!*?-]+$') && !name.matches('^[.]+$'))",message="must hold names of devices: letters, digits, the signs _ . ! - and * and ? for patterns"
	Devices []string `json:"devices,omitempty"`

	// readAheadKiB is how much is read ahead. KiB, 0 to 65536. MongoDB advises 4 to 16 for WiredTiger.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	ReadAheadKiB *int32 `json:"readAheadKiB,omitempty"`

	// schedulers of the device in the order of preference; the first that the kernel offers is set.
	// Kernels before 5.0 call none noop and mq-deadline deadline, and those are taken for them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Schedulers []IOScheduler `json:"schedulers,omitempty"`
}

// HostChecks are looked at and never changed. What is not as MongoDB wants it is a warning in the report.
type HostChecks struct {
	// kinds of checks: DataVolume (noatime, XFS, minFreePercent), Limits (open files and processes of
	// mongod), Kernel (releases known to be slow, clock source, NUMA). Unset: all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Kinds []HostCheck `json:"kinds,omitempty"`

	// minFreePercent is how much of the data volume has to be free. Percent, 0 to 90; 0 does not look.
	// Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=90
	MinFreePercent *int32 `json:"minFreePercent,omitempty"`

	// writeProbe measures how fast the data volume takes writes, once for each start of a pod, before
	// mongod starts: never beside a running mongod. Unset: nothing is measured.
	// +optional
	WriteProbe *WriteProbe `json:"writeProbe,omitempty"`
}

// HostCheck is a kind of check.
//
// +kubebuilder:validation:Enum=DataVolume;Limits;Kernel
type HostCheck string

// WriteProbe bounds a measurement of how fast a volume takes writes. It goes past the file system cache,
// and its file is removed.
type WriteProbe struct {
	// sizeMiB is how much is written at most. MiB, 8 to 4096.
	// +required
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=4096
	SizeMiB int32 `json:"sizeMiB"`

	// seconds it takes at most; the start of mongod waits for it. Seconds, 1 to 60.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	Seconds int32 `json:"seconds"`
}

// HomogeneitySpec is how far the nodes of one shard may differ. Kernel release and number of CPUs have to
// be the same.
type HomogeneitySpec struct {
	// memoryPercent is by how much the memory of two nodes may differ, as a share of the larger.
	// Percent, 0 to 100. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MemoryPercent *int32 `json:"memoryPercent,omitempty"`

	// writeThroughputPercent is by how much the measured write throughput of two nodes may differ, as a
	// share of the larger. Percent, 0 to 100. Default 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	WriteThroughputPercent *int32 `json:"writeThroughputPercent,omitempty"`
}

// HostTuningMode says how settings reach the nodes.
//
// +kubebuilder:validation:Enum=Disabled;InitContainer
type HostTuningMode string

// SysctlOperator says when a value is set.
//
// +kubebuilder:validation:Enum=Exact;OnlyRaise;OnlyLower
type SysctlOperator string

// UnlistedSysctl says whether a parameter may be set that is not on the list.
//
// +kubebuilder:validation:Enum=Refuse;Accept
type UnlistedSysctl string

// TransparentHugePages is the mode of transparent huge pages.
//
// +kubebuilder:validation:Enum=Unmanaged;Auto;Always;Madvise;Never
type TransparentHugePages string

// TransparentHugePagesDefrag says how hard the kernel looks for huge pages.
//
// +kubebuilder:validation:Enum=Always;Defer;DeferMadvise;Madvise;Never
type TransparentHugePagesDefrag string

// CPUSelectionMode says how CPUs are chosen.
//
// +kubebuilder:validation:Enum=AllButFirst;All;List;Mask
type CPUSelectionMode string

// CPUsBeyondNode says what happens to CPUs that a node does not have.
//
// +kubebuilder:validation:Enum=Cut;Refuse
type CPUsBeyondNode string

// IOScheduler orders the requests to a block device.
//
// +kubebuilder:validation:Enum=none;mq-deadline;kyber;bfq
type IOScheduler string

// HostFailurePolicy says what follows when a setting cannot be set.
//
// +kubebuilder:validation:Enum=Report;Block
type HostFailurePolicy string

// Values of the fields of spec.hostTuning; the fields say what they do.
const (
	HostTuningDisabled      HostTuningMode = "Disabled"
	HostTuningInitContainer HostTuningMode = "InitContainer"

	SysctlExact     SysctlOperator = "Exact"
	SysctlOnlyRaise SysctlOperator = "OnlyRaise"
	SysctlOnlyLower SysctlOperator = "OnlyLower"

	UnlistedRefuse UnlistedSysctl = "Refuse"
	UnlistedAccept UnlistedSysctl = "Accept"

	TransparentHugePagesUnmanaged TransparentHugePages = "Unmanaged"
	TransparentHugePagesAuto      TransparentHugePages = "Auto"
	TransparentHugePagesAlways    TransparentHugePages = "Always"
	TransparentHugePagesMadvise   TransparentHugePages = "Madvise"
	TransparentHugePagesNever     TransparentHugePages = "Never"

	DefragAlways       TransparentHugePagesDefrag = "Always"
	DefragDefer        TransparentHugePagesDefrag = "Defer"
	DefragDeferMadvise TransparentHugePagesDefrag = "DeferMadvise"
	DefragMadvise      TransparentHugePagesDefrag = "Madvise"
	DefragNever        TransparentHugePagesDefrag = "Never"

	CPUsAllButFirst CPUSelectionMode = "AllButFirst"
	CPUsAll         CPUSelectionMode = "All"
	CPUsList        CPUSelectionMode = "List"
	CPUsMask        CPUSelectionMode = "Mask"

	BeyondNodeCut    CPUsBeyondNode = "Cut"
	BeyondNodeRefuse CPUsBeyondNode = "Refuse"

	IOSchedulerNone       IOScheduler = "none"
	IOSchedulerMqDeadline IOScheduler = "mq-deadline"
	IOSchedulerKyber      IOScheduler = "kyber"
	IOSchedulerBfq        IOScheduler = "bfq"

	HostCheckDataVolume HostCheck = "DataVolume"
	HostCheckLimits     HostCheck = "Limits"
	HostCheckKernel     HostCheck = "Kernel"

	HostFailureReport HostFailurePolicy = "Report"
	HostFailureBlock  HostFailurePolicy = "Block"
)
