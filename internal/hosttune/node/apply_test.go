// SPDX-License-Identifier: Apache-2.0

package node

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// Every setting, on a node that has it and on one that does not.
func TestEachSetting(t *testing.T) {
	sysctl := func(name, value string, operator hosttune.Operator) hosttune.Settings {
		return hosttune.Settings{Sysctls: []hosttune.Sysctl{{Name: name, Value: value, Operator: operator}}}
	}
	steering := func(cpus hosttune.CPUs, tooWide hosttune.WhenMaskTooWide, flows int32) hosttune.Settings {
		return hosttune.Settings{ReceivePacketSteering: &hosttune.ReceivePacketSteering{
			Interfaces: []hosttune.Interface{{Name: "eth0"}}, CPUs: cpus, WhenMaskTooWide: tooWide, FlowEntries: flows,
		}}
	}
	selecting := func(one hosttune.Interface) hosttune.Settings {
		settings := steering(hosttune.CPUs{Mode: hosttune.CPUsAll}, "", 0)
		settings.ReceivePacketSteering.Interfaces = []hosttune.Interface{one}
		return settings
	}
	pages := func(mode hosttune.HugePagesMode, version string) hosttune.Settings {
		return hosttune.Settings{ServerVersion: version, TransparentHugePages: &hosttune.TransparentHugePages{Mode: mode}}
	}
	granularity := hosttune.Settings{Scheduler: &hosttune.Scheduler{MinGranularityNanoseconds: 10_000_000, WakeupGranularityNanoseconds: new(int64(15_000_000))}}
	mask := func(mask string) hosttune.CPUs { return hosttune.CPUs{Mode: hosttune.CPUsMask, Mask: mask} }

	for _, row := range []struct {
		name     string
		cpus     int
		prepare  func(t *testing.T, kernel *fakeKernel)
		settings hosttune.Settings
		place    Place
		want     []hosttune.Line
		// changed are the files that are other than before.
		changed map[string]string
	}{
		{
			name: "a sysctl is set and read back", settings: sysctl("vm.swappiness", "1", ""),
			want:    []hosttune.Line{{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "60", Wanted: "1", Set: "1", ReadBack: "1", Result: hosttune.Applied}},
			changed: map[string]string{"proc/sys/vm/swappiness": "1"},
		},
		{
			name: "an equal value is not written", settings: sysctl("vm.zone_reclaim_mode", "0", ""),
			want: []hosttune.Line{{Setting: "vm.zone_reclaim_mode", Scope: hosttune.ScopeNode, Found: "0", Wanted: "0", Result: hosttune.AlreadySet}},
		},
		{
			name: "raising raises", settings: sysctl("vm.max_map_count", "262144", hosttune.OperatorOnlyRaise),
			want:    []hosttune.Line{{Setting: "vm.max_map_count", Scope: hosttune.ScopeNode, Found: "65530", Wanted: "262144", Set: "262144", ReadBack: "262144", Result: hosttune.Applied}},
			changed: map[string]string{"proc/sys/vm/max_map_count": "262144"},
		},
		{
			name: "raising does not lower", settings: sysctl("vm.swappiness", "10", hosttune.OperatorOnlyRaise),
			want: []hosttune.Line{{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "60", Wanted: "10", Result: hosttune.AlreadySet}},
		},
		{
			name: "lowering does not raise", settings: sysctl("vm.swappiness", "61", hosttune.OperatorOnlyLower),
			want: []hosttune.Line{{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "60", Wanted: "61", Result: hosttune.AlreadySet}},
		},
		{
			name: "a sysctl that the kernel has not is no failure", settings: sysctl("kernel.sched_migration_cost_ns", "5000000", ""),
			want: []hosttune.Line{{Setting: "kernel.sched_migration_cost_ns", Scope: hosttune.ScopeNode, Wanted: "5000000", Result: hosttune.Unsupported, Reason: "this kernel has no such sysctl"}},
		},
		{
			name: "the kernel's refusal is told by name", settings: sysctl("vm.swappiness", "1", ""),
			prepare: func(_ *testing.T, kernel *fakeKernel) { kernel.refuse["proc/sys/vm/swappiness"] = unix.EROFS },
			want: []hosttune.Line{{
				Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "60", Wanted: "1", Set: "1", Result: hosttune.Refused, Errno: "EROFS",
				Reason: "write proc/sys/vm/swappiness: read-only file system",
			}},
		},
		{
			name: "a ratio takes the place of bytes", settings: sysctl("vm.dirty_background_ratio", "5", ""),
			want: []hosttune.Line{{
				Setting: "vm.dirty_background_ratio", Scope: hosttune.ScopeNode, Found: "vm.dirty_background_bytes=67108864", Wanted: "5", Set: "5", ReadBack: "5", Result: hosttune.Applied,
			}},
			changed: map[string]string{"proc/sys/vm/dirty_background_ratio": "5", "proc/sys/vm/dirty_background_bytes": "0"},
		},
		{
			name: "a ratio is only lowered", settings: sysctl("vm.dirty_ratio", "15", hosttune.OperatorOnlyLower),
			want:    []hosttune.Line{{Setting: "vm.dirty_ratio", Scope: hosttune.ScopeNode, Found: "20", Wanted: "15", Set: "15", ReadBack: "15", Result: hosttune.Applied}},
			changed: map[string]string{"proc/sys/vm/dirty_ratio": "15"},
		},
		{
			name: "a sysctl of the pod is set in the pod and not on the node", settings: sysctl("net.core.somaxconn", "16384", ""), place: ownPod,
			want:    []hosttune.Line{{Setting: "net.core.somaxconn", Scope: hosttune.ScopePod, Found: "4096", Wanted: "16384", Set: "16384", ReadBack: "16384", Result: hosttune.Applied}},
			changed: map[string]string{"networks/self/proc/sys/net/core/somaxconn": "16384"},
		},
		{
			name: "a running pod is reached through its process", settings: sysctl("net.ipv4.tcp_keepalive_time", "120", ""), place: otherPod,
			want: []hosttune.Line{{
				Setting: "net.ipv4.tcp_keepalive_time", Scope: hosttune.ScopePod, On: "demo-shard-0-1", Found: "7200", Wanted: "120", Set: "120", ReadBack: "120", Result: hosttune.Applied,
			}},
			changed: map[string]string{"networks/4711/proc/sys/net/ipv4/tcp_keepalive_time": "120"},
		},
		{
			name: "several numbers are compared as numbers", settings: sysctl("net.ipv4.tcp_rmem", "4096 131072 6291456", ""), place: ownPod,
			want: []hosttune.Line{{Setting: "net.ipv4.tcp_rmem", Scope: hosttune.ScopePod, Found: "4096 131072 6291456", Wanted: "4096 131072 6291456", Result: hosttune.AlreadySet}},
		},
		{
			name: "what a namespace shows read-only is the node's", settings: sysctl("net.core.rmem_max", "16777216", ""), place: ownPod,
			prepare: func(_ *testing.T, kernel *fakeKernel) { kernel.readOnly["proc/sys/net/core/rmem_max"] = true },
			want: []hosttune.Line{{
				Setting: "net.core.rmem_max", Scope: hosttune.ScopeNode, Found: "212992", Wanted: "16777216", Set: "16777216", ReadBack: "16777216", Result: hosttune.Applied,
			}},
			changed: map[string]string{"proc/sys/net/core/rmem_max": "16777216"},
		},
		{
			name: "in a pod on the node's network a sysctl of pods is not set", settings: sysctl("net.core.somaxconn", "16384", ""), place: ownPod,
			prepare: func(_ *testing.T, kernel *fakeKernel) { kernel.networks[ownNetwork] = kernel.networks[nodeProcess] },
			want: []hosttune.Line{{
				Setting: "net.core.somaxconn", Scope: hosttune.ScopeNode, Wanted: "16384", Result: hosttune.Refused,
				Reason: "the pod is on the node's own network: this would be set for the whole node",
			}},
		},
		{
			name: "the node's sysctl is set without any pod", settings: sysctl("net.core.rmem_max", "16777216", ""),
			want: []hosttune.Line{{
				Setting: "net.core.rmem_max", Scope: hosttune.ScopeNode, Found: "212992", Wanted: "16777216", Set: "16777216", ReadBack: "16777216", Result: hosttune.Applied,
			}},
			changed: map[string]string{"proc/sys/net/core/rmem_max": "16777216"},
		},
		{
			name: "a literal mask is cut to the node's CPUs", cpus: 2, settings: steering(mask("fe"), hosttune.MaskCut, 0),
			want: []hosttune.Line{{
				Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth0", Found: "0", Wanted: "fe", Set: "2", ReadBack: "2", Result: hosttune.Applied, Reason: "cut to the node's 2 CPUs",
			}},
			changed: map[string]string{"sys/class/net/eth0/queues/rx-0/rps_cpus": "00000002"},
		},
		{
			name: "a literal mask is refused when cutting is not wanted", cpus: 2, settings: steering(mask("fe"), hosttune.MaskRefuse, 4096),
			want: []hosttune.Line{{
				Setting: "rps_cpus", Scope: hosttune.ScopeInterface, Wanted: "fe", Result: hosttune.Refused, Reason: "fe names CPUs beyond the node's 2 (3): the kernel takes no such mask",
			}},
		},
		{
			name: "a mask that fits is set", cpus: 8, settings: steering(mask("fe"), hosttune.MaskRefuse, 0),
			want:    []hosttune.Line{{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth0", Found: "0", Wanted: "fe", Set: "fe", ReadBack: "fe", Result: hosttune.Applied}},
			changed: map[string]string{"sys/class/net/eth0/queues/rx-0/rps_cpus": "000000fe"},
		},
		{
			name: "a mask beyond the node selects nothing", cpus: 2, settings: steering(mask("f0"), hosttune.MaskCut, 0),
			want: []hosttune.Line{{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, Wanted: "f0", Result: hosttune.Refused, Reason: "f0 selects none of the node's 2 CPUs (3)"}},
		},
		{
			name: "all CPUs but the first, with more than 32", cpus: 40, settings: steering(hosttune.CPUs{Mode: hosttune.CPUsAllButFirst}, "", 0),
			want:    []hosttune.Line{{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth0", Found: "0", Wanted: "ff,fffffffe", Set: "ff,fffffffe", ReadBack: "ff,fffffffe", Result: hosttune.Applied}},
			changed: map[string]string{"sys/class/net/eth0/queues/rx-0/rps_cpus": "ff,fffffffe"},
		},
		{
			name: "one CPU has nothing to spread", cpus: 1, settings: steering(hosttune.CPUs{Mode: hosttune.CPUsAllButFirst}, "", 0),
			want: []hosttune.Line{{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, Wanted: "AllButFirst", Result: hosttune.NotNeeded, Reason: "the node has one CPU"}},
		},
		{
			name: "as many queues as CPUs need no steering", cpus: 2, settings: steering(hosttune.CPUs{Mode: hosttune.CPUsAll}, "", 4096),
			prepare: func(t *testing.T, kernel *fakeKernel) { kernel.set(t, "sys/class/net/eth0/queues/rx-1/rps_cpus", "0") },
			want: []hosttune.Line{{
				Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth0", Wanted: "3", Result: hosttune.NotNeeded, Reason: "2 receive queues for 2 CPUs: the hardware spreads packets itself",
			}},
		},
		{
			name: "flows are shared out over the queues and rounded as the kernel does", cpus: 4, settings: steering(hosttune.CPUs{Mode: hosttune.CPUsList, List: "1-3"}, "", 6000),
			prepare: func(t *testing.T, kernel *fakeKernel) {
				kernel.set(t, "sys/class/net/eth0/queues/rx-1/rps_cpus", "0")
				kernel.set(t, "sys/class/net/eth0/queues/rx-1/rps_flow_cnt", "0")
			},
			want: []hosttune.Line{
				{Setting: "net.core.rps_sock_flow_entries", Scope: hosttune.ScopeNode, Found: "0", Wanted: "8192", Set: "8192", ReadBack: "8192", Result: hosttune.Applied},
				{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth0", Found: "0", Wanted: "e", Set: "e", ReadBack: "e", Result: hosttune.Applied},
				{Setting: "rps_flow_cnt", Scope: hosttune.ScopeInterface, On: "eth0", Found: "0", Wanted: "4096", Set: "4096", ReadBack: "4096", Result: hosttune.Applied},
			},
			changed: map[string]string{
				"proc/sys/net/core/rps_sock_flow_entries": "8192", "sys/class/net/eth0/queues/rx-0/rps_cpus": "0000000e", "sys/class/net/eth0/queues/rx-1/rps_cpus": "0000000e",
				"sys/class/net/eth0/queues/rx-0/rps_flow_cnt": "4096", "sys/class/net/eth0/queues/rx-1/rps_flow_cnt": "4096",
			},
		},
		{
			name: "the interface of the default route", cpus: 2, settings: selecting(hosttune.Interface{DefaultRoute: true}),
			want:    []hosttune.Line{{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth0", Found: "0", Wanted: "3", Set: "3", ReadBack: "3", Result: hosttune.Applied}},
			changed: map[string]string{"sys/class/net/eth0/queues/rx-0/rps_cpus": "00000003"},
		},
		{
			name: "interfaces by pattern, never the loopback", cpus: 2, settings: selecting(hosttune.Interface{Pattern: "*"}),
			want:    []hosttune.Line{{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth0", Found: "0", Wanted: "3", Set: "3", ReadBack: "3", Result: hosttune.Applied}},
			changed: map[string]string{"sys/class/net/eth0/queues/rx-0/rps_cpus": "00000003"},
		},
		{
			name: "an interface the node has not", cpus: 2, settings: selecting(hosttune.Interface{Name: "eth9"}),
			want: []hosttune.Line{{
				Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: "eth9", Wanted: "All", Result: hosttune.Refused, Reason: `the node has no interface "eth9"; it has eth0, lo`,
			}},
		},
		{
			name: "no huge pages before 8.0", settings: pages(hosttune.HugePagesAuto, "7.0.14"),
			want: []hosttune.Line{
				{Setting: "transparent_hugepage/defrag", Scope: hosttune.ScopeNode, Found: "madvise", Wanted: "never", Set: "never", ReadBack: "never", Result: hosttune.Applied},
				{Setting: "transparent_hugepage/enabled", Scope: hosttune.ScopeNode, Found: "madvise", Wanted: "never", Set: "never", ReadBack: "never", Result: hosttune.Applied},
			},
			changed: map[string]string{
				"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]", "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise madvise [never]",
			},
		},
		{
			name: "huge pages from 8.0 on", settings: pages(hosttune.HugePagesAuto, "8.0"),
			want: []hosttune.Line{
				{Setting: "vm.overcommit_memory", Scope: hosttune.ScopeNode, Found: "0", Wanted: "1", Set: "1", ReadBack: "1", Result: hosttune.Applied},
				{Setting: "transparent_hugepage/defrag", Scope: hosttune.ScopeNode, Found: "madvise", Wanted: "defer+madvise", Set: "defer+madvise", ReadBack: "defer+madvise", Result: hosttune.Applied},
				{Setting: "transparent_hugepage/enabled", Scope: hosttune.ScopeNode, Found: "madvise", Wanted: "always", Set: "always", ReadBack: "always", Result: hosttune.Applied},
				{Setting: "transparent_hugepage/khugepaged/max_ptes_none", Scope: hosttune.ScopeNode, Found: "511", Wanted: "0", Set: "0", ReadBack: "0", Result: hosttune.Applied},
			},
			changed: map[string]string{
				"proc/sys/vm/overcommit_memory": "1", "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none": "0",
				"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never", "sys/kernel/mm/transparent_hugepage/defrag": "always defer [defer+madvise] madvise never",
			},
		},
		{
			name: "a kernel without huge pages", settings: pages(hosttune.HugePagesNever, ""),
			prepare: func(t *testing.T, kernel *fakeKernel) { kernel.remove(t, "sys/kernel/mm/transparent_hugepage") },
			want: []hosttune.Line{{
				Setting: "transparent_hugepage/enabled", Scope: hosttune.ScopeNode, Wanted: "never", Result: hosttune.Unsupported, Reason: "this kernel is built without transparent huge pages",
			}},
		},
		{
			name: "scheduler of kernels up to 5.12", settings: granularity,
			want: []hosttune.Line{
				{Setting: "sched_min_granularity_ns", Scope: hosttune.ScopeNode, Found: "3000000", Wanted: "10000000", Set: "10000000", ReadBack: "10000000", Result: hosttune.Applied},
				{Setting: "sched_wakeup_granularity_ns", Scope: hosttune.ScopeNode, Found: "4000000", Wanted: "15000000", Set: "15000000", ReadBack: "15000000", Result: hosttune.Applied},
			},
			changed: map[string]string{"proc/sys/kernel/sched_min_granularity_ns": "10000000", "proc/sys/kernel/sched_wakeup_granularity_ns": "15000000"},
		},
		{
			name: "scheduler of kernels from 5.13 to 6.5", settings: granularity,
			prepare: func(t *testing.T, kernel *fakeKernel) {
				kernel.withoutSchedulerSysctls(t)
				kernel.set(t, "sys/kernel/debug/sched/min_granularity_ns", "3000000")
				kernel.set(t, "sys/kernel/debug/sched/wakeup_granularity_ns", "4000000")
			},
			want: []hosttune.Line{
				{Setting: "sched_min_granularity_ns", Scope: hosttune.ScopeNode, Found: "3000000", Wanted: "10000000", Set: "10000000", ReadBack: "10000000", Result: hosttune.Applied},
				{Setting: "sched_wakeup_granularity_ns", Scope: hosttune.ScopeNode, Found: "4000000", Wanted: "15000000", Set: "15000000", ReadBack: "15000000", Result: hosttune.Applied},
			},
			changed: map[string]string{"sys/kernel/debug/sched/min_granularity_ns": "10000000", "sys/kernel/debug/sched/wakeup_granularity_ns": "15000000"},
		},
		{
			name: "scheduler of kernels from 6.6 on", settings: granularity,
			prepare: func(t *testing.T, kernel *fakeKernel) {
				kernel.withoutSchedulerSysctls(t)
				kernel.set(t, "sys/kernel/debug/sched/base_slice_ns", "3000000")
			},
			want: []hosttune.Line{
				{Setting: "sched_wakeup_granularity_ns", Scope: hosttune.ScopeNode, Wanted: "15000000", Result: hosttune.Unsupported, Reason: "this kernel has no such setting; its scheduler needs none"},
				{
					Setting: "base_slice_ns", Scope: hosttune.ScopeNode, Found: "3000000", Wanted: "10000000", Set: "10000000", ReadBack: "10000000", Result: hosttune.Applied,
					Reason: "this kernel's scheduler has a slice where older ones have the least granularity",
				},
			},
			changed: map[string]string{"sys/kernel/debug/sched/base_slice_ns": "10000000"},
		},
		{
			name: "the disk under the data volume, found from its partition", place: ownPod,
			settings: hosttune.Settings{BlockDevices: &hosttune.BlockDevices{ReadAheadKiB: new(int32(8)), Schedulers: []string{"bfq", "mq-deadline"}}},
			want: []hosttune.Line{
				{Setting: "read_ahead_kb", Scope: hosttune.ScopeDevice, On: "nvme0n1", Found: "128", Wanted: "8", Set: "8", ReadBack: "8", Result: hosttune.Applied},
				{Setting: "scheduler", Scope: hosttune.ScopeDevice, On: "nvme0n1", Found: "none", Wanted: "mq-deadline", Set: "mq-deadline", ReadBack: "mq-deadline", Result: hosttune.Applied},
			},
			changed: map[string]string{"sys/devices/pci0/nvme0n1/queue/read_ahead_kb": "8", "sys/devices/pci0/nvme0n1/queue/scheduler": "none [mq-deadline] kyber"},
		},
		{
			name: "every layer of a mapped device", place: ownPod, settings: hosttune.Settings{BlockDevices: &hosttune.BlockDevices{ReadAheadKiB: new(int32(8))}},
			prepare: func(t *testing.T, kernel *fakeKernel) {
				kernel.set(t, "proc/self/mountinfo", "40 30 253:0 / /data/db rw - xfs /dev/mapper/vg-data rw")
				kernel.set(t, "sys/devices/virtual/dm-0/queue/read_ahead_kb", "128")
				kernel.link(t, "sys/devices/virtual/dm-0/slaves/nvme0n1p2", "../../../pci0/nvme0n1/nvme0n1p2")
				kernel.link(t, "sys/dev/block/253:0", "../../devices/virtual/dm-0")
				kernel.link(t, "sys/block/dm-0", "../devices/virtual/dm-0")
				kernel.link(t, "sys/class/block/nvme0n1p2", "../../devices/pci0/nvme0n1/nvme0n1p2")
			},
			want: []hosttune.Line{
				{Setting: "read_ahead_kb", Scope: hosttune.ScopeDevice, On: "dm-0", Found: "128", Wanted: "8", Set: "8", ReadBack: "8", Result: hosttune.Applied},
				{Setting: "read_ahead_kb", Scope: hosttune.ScopeDevice, On: "nvme0n1", Found: "128", Wanted: "8", Set: "8", ReadBack: "8", Result: hosttune.Applied},
			},
			changed: map[string]string{"sys/devices/virtual/dm-0/queue/read_ahead_kb": "8", "sys/devices/pci0/nvme0n1/queue/read_ahead_kb": "8"},
		},
		{
			name: "an older kernel's name of a scheduler", settings: hosttune.Settings{BlockDevices: &hosttune.BlockDevices{Names: []string{"nvme*"}, Schedulers: []string{"mq-deadline"}}},
			prepare: func(t *testing.T, kernel *fakeKernel) {
				kernel.set(t, "sys/devices/pci0/nvme0n1/queue/scheduler", "[noop] deadline cfq")
			},
			want:    []hosttune.Line{{Setting: "scheduler", Scope: hosttune.ScopeDevice, On: "nvme0n1", Found: "noop", Wanted: "deadline", Set: "deadline", ReadBack: "deadline", Result: hosttune.Applied}},
			changed: map[string]string{"sys/devices/pci0/nvme0n1/queue/scheduler": "noop [deadline] cfq"},
		},
		{
			name: "a scheduler that the kernel does not offer", settings: hosttune.Settings{BlockDevices: &hosttune.BlockDevices{Names: []string{"nvme0n1"}, Schedulers: []string{"bfq"}}},
			want: []hosttune.Line{{Setting: "scheduler", Scope: hosttune.ScopeDevice, On: "nvme0n1", Wanted: "bfq", Result: hosttune.Unsupported, Reason: "the kernel offers none, mq-deadline, kyber"}},
		},
		{
			name: "a disk the node has not", settings: hosttune.Settings{BlockDevices: &hosttune.BlockDevices{Names: []string{"sda"}, ReadAheadKiB: new(int32(8))}},
			want: []hosttune.Line{{Setting: "read_ahead_kb", Scope: hosttune.ScopeDevice, Wanted: "sda", Result: hosttune.Refused, Reason: `the node has no disk "sda"; it has nvme0n1`}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			host := newFakeHost(t, max(row.cpus, 1))
			if row.prepare != nil {
				row.prepare(t, host.kernel)
			}
			before := host.kernel.tree(t)
			row.settings.Owner = elder
			report := host.Apply(background(), row.settings, row.place)
			if difference := cmp.Diff(row.want, report.Lines); difference != "" {
				t.Errorf("another report (-want +got):\n%s", difference)
			}
			wanted := maps.Clone(before)
			maps.Copy(wanted, row.changed)
			if difference := cmp.Diff(wanted, host.kernel.tree(t)); difference != "" {
				t.Errorf("another node (-want +got):\n%s", difference)
			}

			// A second run finds everything done, the reader agrees, and giving back leaves nothing.
			host.kernel.writes = nil
			again := host.Apply(background(), row.settings, row.place)
			for _, line := range again.Lines {
				if line.Result == hosttune.Applied {
					t.Errorf("applied again: %+v", line)
				}
			}
			if report.Worst() != hosttune.Refused && len(host.kernel.writes) > 0 {
				t.Errorf("written again: %v", host.kernel.writes)
			}
			for _, line := range Read(host.kernel, row.settings, row.place).Lines {
				if line.Result == hosttune.Differs && report.Worst() != hosttune.Refused {
					t.Errorf("the reader sees another value: %+v", line)
				}
			}
			host.Restore(background(), Release{Owner: elder.UID})
			if difference := cmp.Diff(before, canonical(before, host.kernel.tree(t))); difference != "" {
				t.Errorf("not as it was found (-want +got):\n%s", difference)
			}
			if left := host.state(t).Settings; len(left) > 0 {
				t.Errorf("still recorded: %v", left)
			}
		})
	}
}

func (f *fakeKernel) withoutSchedulerSysctls(t *testing.T) {
	t.Helper()
	f.remove(t, "proc/sys/kernel/sched_min_granularity_ns")
	f.remove(t, "proc/sys/kernel/sched_wakeup_granularity_ns")
}

// canonical takes values that mean the same for the same: masks with another padding.
func canonical(before, after map[string]string) map[string]string {
	after = maps.Clone(after)
	for path, value := range after {
		if strings.HasSuffix(path, "rps_cpus") && strings.Trim(value, "0,") == strings.Trim(before[path], "0,") {
			after[path] = before[path]
		}
	}
	return after
}

// Settings that are wrong in themselves change nothing, whatever else is right.
func TestWrongSettingsChangeNothing(t *testing.T) {
	host := newFakeHost(t, 2)
	before := host.kernel.tree(t)
	settings := swappiness(elder, "1")
	settings.Sysctls = append(settings.Sysctls, hosttune.Sysctl{Name: "kernel.core_pattern", Value: "|/bin/sh", Unlisted: true})
	report := host.Apply(background(), settings, Place{})
	if line := lineOf(t, report.Lines, "kernel.core_pattern"); line.Result != hosttune.Refused || !strings.Contains(line.Reason, "never set") {
		t.Errorf("%+v", line)
	}
	if difference := cmp.Diff(before, host.kernel.tree(t)); difference != "" {
		t.Errorf("changed all the same:\n%s", difference)
	}
	if _, err := os.Stat(host.store.Path); !os.IsNotExist(err) {
		t.Error("there is a state directory")
	}
}
