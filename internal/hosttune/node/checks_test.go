// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// Every check, true and not true. Nothing is changed by any of them.
func TestChecks(t *testing.T) {
	all := hosttune.Checks{Data: true, Limits: true, Kernel: true, MinFreePercent: 20}
	set := func(path, content string) func(*testing.T, *fakeKernel) {
		return func(t *testing.T, kernel *fakeKernel) { t.Helper(); kernel.set(t, path, content) }
	}
	for _, row := range []struct {
		name    string
		place   Place
		prepare func(t *testing.T, kernel *fakeKernel)
		setting string
		want    hosttune.Line
	}{
		{"relatime writes", ownPod, nil, "noatime", hosttune.Line{
			Scope: hosttune.ScopeProcess, Found: "relatime", Wanted: "noatime", Result: hosttune.Warning,
			Reason: "reads write to the data volume; set noatime in the mountOptions of its StorageClass",
		}},
		{"noatime of a running member", otherPod, nil, "noatime", hosttune.Line{Scope: hosttune.ScopeProcess, On: "demo-shard-0-1", Found: "noatime", Wanted: "noatime", Result: hosttune.Checked}},
		{"another filesystem", ownPod, nil, "filesystem", hosttune.Line{
			Scope: hosttune.ScopeProcess, Found: "ext4", Wanted: "xfs", Result: hosttune.Warning, Reason: "XFS is advised for WiredTiger; others stall at checkpoints",
		}},
		{"XFS", otherPod, nil, "filesystem", hosttune.Line{Scope: hosttune.ScopeProcess, On: "demo-shard-0-1", Found: "xfs", Wanted: "xfs", Result: hosttune.Checked}},
		{"enough space", ownPod, nil, "free space", hosttune.Line{Scope: hosttune.ScopeProcess, Found: "40%", Wanted: "40%", Result: hosttune.Checked}},
		{"exactly enough space", ownPod, func(_ *testing.T, kernel *fakeKernel) { kernel.space = [2]uint64{100 << 30, 20 << 30} }, "free space", hosttune.Line{
			Scope: hosttune.ScopeProcess, Found: "20%", Wanted: "20%", Result: hosttune.Checked,
		}},
		{"too little space", ownPod, func(_ *testing.T, kernel *fakeKernel) { kernel.space = [2]uint64{100 << 30, 19 << 30} }, "free space", hosttune.Line{
			Scope: hosttune.ScopeProcess, Found: "19%", Wanted: "20%", Result: hosttune.Warning, Reason: "19456 MiB of 102400 MiB are free",
		}},
		{"hard limits before the server runs", ownPod, nil, "open files", hosttune.Line{Scope: hosttune.ScopeProcess, Found: "1048576", Wanted: "1048576", Result: hosttune.Checked}},
		{"no limit at all", ownPod, nil, "processes", hosttune.Line{Scope: hosttune.ScopeProcess, Found: "unlimited", Wanted: "unlimited", Result: hosttune.Checked}},
		{"soft limits of a running server", otherPod, nil, "open files", hosttune.Line{Scope: hosttune.ScopeProcess, On: "demo-shard-0-1", Found: "64000", Wanted: "64000", Result: hosttune.Checked}},
		{"one process too few", otherPod, nil, "processes", hosttune.Line{
			Scope: hosttune.ScopeProcess, On: "demo-shard-0-1", Found: "63999", Wanted: "64000", Result: hosttune.Warning,
			Reason: "too few for 64000 connections; raise it in the container runtime's unit or configuration",
		}},
		{"the own server once it runs", ownPod, func(t *testing.T, kernel *fakeKernel) {
			kernel.set(t, "proc/4712/comm", "mongod")
			kernel.set(t, "proc/4712/cgroup", "1:name=systemd:/kubepods/pod99999999-2222-3333-4444-555555555555/def")
			kernel.set(t, "proc/4712/limits", "Max processes  5 5 processes\nMax open files 70000 80000 files")
		}, "open files", hosttune.Line{Scope: hosttune.ScopeProcess, Found: "70000", Wanted: "70000", Result: hosttune.Checked}},
		{"a kernel without fault", Place{}, nil, "kernel release", hosttune.Line{Scope: hosttune.ScopeNode, Found: "6.1.0-18-amd64", Wanted: "6.1.0-18-amd64", Result: hosttune.Checked}},
		{"a kernel that writes slowly", Place{}, set("proc/sys/kernel/osrelease", "3.10.0-957.5.1.el7.x86_64"), "kernel release", hosttune.Line{
			Scope: hosttune.ScopeNode, Found: "3.10.0-957.5.1.el7.x86_64", Result: hosttune.Warning,
			Reason: "before 3.10.0-957.27.2.el7 NVMe drives write at a fraction of their speed; update the kernel",
		}},
		{"a fast clock", Place{}, nil, "clock source", hosttune.Line{Scope: hosttune.ScopeNode, Found: "tsc", Wanted: "tsc", Result: hosttune.Checked}},
		{"a slow clock", Place{}, set("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"), "clock source", hosttune.Line{
			Scope: hosttune.ScopeNode, Found: "hpet", Wanted: "tsc", Result: hosttune.Warning,
			Reason: "reading this clock is slow, and a server reads it for each operation; the node has tsc hpet",
		}},
		{"one NUMA node", Place{}, nil, "NUMA nodes", hosttune.Line{Scope: hosttune.ScopeNode, Found: "1", Wanted: "1", Result: hosttune.Checked}},
		{"two NUMA nodes", Place{}, set("sys/devices/system/node/node1/cpulist", "2-3"), "NUMA nodes", hosttune.Line{
			Scope: hosttune.ScopeNode, Found: "2", Wanted: "1", Result: hosttune.Warning,
			Reason: "a cache that lies on one NUMA node is slow from the others: set vm.zone_reclaim_mode 0, and keep servers on one node or interleave",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			host := newFakeHost(t, 2)
			if row.prepare != nil {
				row.prepare(t, host.kernel)
			}
			before := host.kernel.tree(t)
			row.want.Setting = row.setting
			settings := hosttune.Settings{Owner: elder, Checks: &all}
			for who, lines := range map[string][]hosttune.Line{
				"apply": host.Apply(background(), settings, row.place).Lines, "reader": Read(host.kernel, settings, row.place).Lines,
			} {
				if difference := cmp.Diff(row.want, lineOf(t, lines, row.setting)); difference != "" {
					t.Errorf("%s (-want +got):\n%s", who, difference)
				}
			}
			if difference := cmp.Diff(before, host.kernel.tree(t)); difference != "" {
				t.Errorf("a check has changed the node:\n%s", difference)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	host := newFakeHost(t, 2)
	settings := hosttune.Settings{Owner: elder, Checks: &hosttune.Checks{WriteProbe: &hosttune.WriteProbe{MiB: 256, Seconds: 5}}}
	want := hosttune.Facts{Boot: "first-boot", Kernel: "6.1.0-18-amd64", CPUs: 2, MemoryMiB: 16000, DataFilesystem: "ext4", WriteMiBPerSecond: 256}
	if difference := cmp.Diff(want, host.Apply(background(), settings, ownPod).Facts); difference != "" {
		t.Error(difference)
	}
	// A later run beside the server does not measure again, and remembers.
	host.prober.asked = nil
	want.DataFilesystem = "xfs"
	if difference := cmp.Diff(want, host.Apply(background(), settings, otherPod).Facts); difference != "" {
		t.Error(difference)
	}
	if len(host.prober.asked) > 0 {
		t.Error("measured beside a running server")
	}
}

func TestWriteProbe(t *testing.T) {
	settings := hosttune.Settings{Owner: elder, Checks: &hosttune.Checks{WriteProbe: &hosttune.WriteProbe{MiB: 256, Seconds: 5}}}
	for _, row := range []struct {
		name    string
		prepare func(host *fakeHost)
		want    hosttune.Line
		asked   int
	}{
		{"measured", func(*fakeHost) {}, hosttune.Line{Found: "256 MiB/s", Wanted: "256 MiB/s", Result: hosttune.Checked, Reason: "256 MiB in 1000 ms"}, 1},
		{"too full to measure", func(host *fakeHost) { host.kernel.space[1] = 1<<30 - 1 }, hosttune.Line{Result: hosttune.Warning, Reason: "not run: 1023 MiB are free, 1024 MiB are needed"}, 0},
		{"no direct I/O", func(host *fakeHost) {
			host.prober.err = &os.PathError{Op: "open", Path: "x", Err: unix.EINVAL}
		}, hosttune.Line{Result: hosttune.Unsupported, Errno: "EINVAL", Reason: "the filesystem has no direct I/O"}, 1},
		{"a disk that fails", func(host *fakeHost) {
			host.prober.err = &os.PathError{Op: "write", Path: "x", Err: unix.EIO}
		}, hosttune.Line{Result: hosttune.Warning, Errno: "EIO", Reason: "write x: input/output error"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			host := newFakeHost(t, 2)
			row.prepare(host)
			row.want.Setting, row.want.Scope = "write probe", hosttune.ScopeProcess
			line := lineOf(t, host.Apply(background(), settings, ownPod).Lines, "write probe")
			if difference := cmp.Diff(row.want, line); difference != "" {
				t.Error(difference)
			}
			if len(host.prober.asked) != row.asked {
				t.Errorf("measured %d times", len(host.prober.asked))
			}
		})
	}
}

// The real prober stays within its bounds and leaves nothing behind.
func TestProbeOfARealDirectory(t *testing.T) {
	directory := t.TempDir()
	ticks := 0
	disk := Disk{Now: func() time.Time { ticks++; return time.Unix(int64(ticks), 0) }}
	written, took, err := disk.Probe(directory, hosttune.WriteProbe{MiB: 3, Seconds: 60})
	if errors.Is(err, unix.EINVAL) {
		// A filesystem without direct I/O (an old tmpfs) can only say so.
		written, took = 3<<20, time.Second
	} else if err != nil {
		t.Fatal(err)
	}
	if written != 3<<20 || took <= 0 {
		t.Errorf("%d bytes in %s", written, took)
	}
	// The clock goes on a second with each reading: after two blocks the time is over.
	if written, _, err := disk.Probe(directory, hosttune.WriteProbe{MiB: 100, Seconds: 2}); err == nil && written != 2<<20 {
		t.Errorf("%d bytes in two seconds of one block each", written)
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, _, err := disk.Probe(filepath.Join(directory, "absent"), hosttune.WriteProbe{MiB: 1, Seconds: 1}); err == nil {
		t.Error("a directory that is not there was measured")
	}
}

// A daemon that writes settings back is named, whether it runs as itself or in an interpreter.
func TestWriters(t *testing.T) {
	for name, process := range map[string][2]string{
		"by its name":            {"tuned", ""},
		"by the script it runs":  {"python3", "/usr/bin/python3\x00-Es\x00/usr/sbin/tuned\x00-l\x00-P\x00"},
		"in another interpreter": {"platform-python", "/usr/libexec/platform-python\x00/usr/sbin/tuned\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			host := newFakeHost(t, 2)
			if lines := host.Apply(background(), swappiness(elder, "1"), Place{}).Lines; len(lines) != 1 {
				t.Fatalf("%+v", lines)
			}
			host.kernel.set(t, "proc/900/comm", process[0])
			host.kernel.set(t, "proc/900/cmdline", process[1])
			if line := lineOf(t, host.Apply(background(), swappiness(elder, "1"), Place{}).Lines, "tuned"); line.Result != hosttune.Warning {
				t.Errorf("%+v", line)
			}
			if writers := Read(host.kernel, swappiness(elder, "1"), Place{}).Writers; !cmp.Equal(writers, []string{"tuned"}) {
				t.Errorf("%v", writers)
			}
		})
	}
	host := newFakeHost(t, 2)
	host.kernel.set(t, "proc/900/comm", "python3")
	host.kernel.set(t, "proc/900/cmdline", "python3\x00my-tuned\x00")
	if writers := Read(host.kernel, swappiness(elder, "1"), Place{}).Writers; len(writers) > 0 {
		t.Errorf("%v", writers)
	}
}

// The reader may not see everything; it says so instead of calling it right or wrong.
func TestTheReaderSaysWhatItMayNotSee(t *testing.T) {
	host := newFakeHost(t, 2)
	settings := swappiness(elder, "60")
	settings.Scheduler = &hosttune.Scheduler{MinGranularityNanoseconds: 3_000_000}
	host.kernel.withoutSchedulerSysctls(t)
	for _, path := range []string{"sys/kernel/debug/sched/min_granularity_ns", "sys/kernel/debug/sched/base_slice_ns"} {
		host.kernel.hide[path] = unix.EACCES
	}
	settings.ReceivePacketSteering = &hosttune.ReceivePacketSteering{Interfaces: []hosttune.Interface{{Name: "eth0"}}, CPUs: hosttune.CPUs{Mode: hosttune.CPUsAll}, FlowEntries: 1024}
	host.kernel.hide[flowEntriesPath] = unix.EPERM
	lines := Read(host.kernel, settings, ownPod).Lines
	for setting, result := range map[string]hosttune.Result{
		"sched_min_granularity_ns": hosttune.Unreadable, "net.core.rps_sock_flow_entries": hosttune.Unreadable, "vm.swappiness": hosttune.AlreadySet, "rps_cpus": hosttune.Differs,
	} {
		if line := lineOf(t, lines, setting); line.Result != result {
			t.Errorf("%+v, wanted %s", line, result)
		}
	}
	// Who acts has to be told by the kernel, and sets nothing it could not put back.
	if line := lineOf(t, host.Apply(background(), settings, ownPod).Lines, "sched_min_granularity_ns"); line.Result != hosttune.Refused || line.Errno != "EACCES" {
		t.Errorf("%+v", line)
	}
}

// Without the node's /proc and /sys every setting would look like one the kernel does not have.
func TestAbsentHostPaths(t *testing.T) {
	kernel := &Tree{Root: t.TempDir()}
	host := Host{Kernel: kernel, Store: &Directory{Path: t.TempDir()}}
	for who, lines := range map[string][]hosttune.Line{
		"apply": host.Apply(background(), swappiness(elder, "1"), Place{}).Lines, "restore": host.Restore(background(), Release{Owner: "a"}).Lines,
	} {
		if line := lineOf(t, lines, "host paths"); line.Result != hosttune.Refused || !strings.Contains(line.Reason, "not mounted") {
			t.Errorf("%s: %+v", who, line)
		}
	}
	if line := lineOf(t, Read(kernel, swappiness(elder, "1"), Place{}).Lines, "host paths"); line.Result != hosttune.Unreadable {
		t.Errorf("%+v", line)
	}
}

func TestPodsAreFound(t *testing.T) {
	const uid = "12345678-aaaa-bbbb-cccc-1234567890ab"
	for _, row := range []struct {
		name, cgroup, mountinfo string
		found                   bool
	}{
		{"version 1", "9:pids:/kubepods/burstable/pod" + uid + "/abc\n", "", true},
		{"version 2 with the systemd driver", "0::/kubepods.slice/kubepods-pod12345678_aaaa_bbbb_cccc_1234567890ab.slice/cri-containerd-abc.scope\n", "", true},
		{"version 2 from inside of another pod", "0::/../../pod" + uid + "/abc\n", "", true},
		{"a hidden group, found by its /etc/hosts", "0::/\n", "50 40 8:1 /var/lib/kubelet/pods/" + uid + "/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n", true},
		{"the kubelet, which mounts the volumes of every pod", "0::/system.slice/kubelet.service\n", "50 40 8:1 /var/lib/kubelet/pods/" + uid + "/volumes/a /var/lib/kubelet/pods/" + uid + "/volume-subpaths/a rw - ext4 /dev/sda1 rw\n", false},
		{"another pod", "0::/kubepods/pod99999999-aaaa-bbbb-cccc-1234567890ab/abc\n", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			kernel := newFakeKernel(t, 2)
			kernel.set(t, "proc/77/cgroup", row.cgroup)
			kernel.set(t, "proc/77/mountinfo", row.mountinfo)
			if found := podProcesses(kernel, []string{uid}); (len(found[uid]) == 1) != row.found {
				t.Errorf("%v", found)
			}
		})
	}
}

// Where nobody may look at the first process, the node's network is found by what it alone has.
func TestTheNodesNetworkIsFound(t *testing.T) {
	for name, find := range map[string]func(kernel *fakeKernel) (want string){
		"the first process": func(*fakeKernel) string { return nodeProcess },
		"another process of the node": func(kernel *fakeKernel) string {
			delete(kernel.networks, nodeProcess)
			kernel.networks["800"] = "net:[1]"
			return "800"
		},
		"itself": func(kernel *fakeKernel) string {
			delete(kernel.networks, nodeProcess)
			kernel.networks[ownNetwork] = "net:[1]"
			return ownProcess
		},
		"nobody": func(kernel *fakeKernel) string {
			delete(kernel.networks, nodeProcess)
			return nodeProcess
		},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := newFakeKernel(t, 2)
			kernel.set(t, "proc/800/comm", "kubelet")
			if want, found := find(kernel), findNodeNetwork(kernel); found != want {
				t.Errorf("%s, wanted %s", found, want)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	kernel := newFakeKernel(t, 2)
	kernel.set(t, "proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data rw - xfs /dev/sdb1 rw\n3 1 8:3 / /data/db\\040two rw - xfs /dev/sdc1 rw\n4 2 8:4 / /data/db rw - ext4 /dev/sdd1 rw\n5 4 8:5 / /data/db rw,noatime shared:1 master:2 - xfs /dev/sde1 rw\nbroken line\n")
	for directory, device := range map[string]string{"/data/db": "8:5", "/data/db/journal": "8:5", "/data/dbx": "8:2", "/data/db two": "8:3", "/etc": "8:1"} {
		if found, err := mountOf(kernel, "self", directory); err != nil || found.device != device {
			t.Errorf("%s is on %+v, %v", directory, found, err)
		}
	}
}

// Paths never leave the root of the node.
func TestTreeStaysBelowItsRoot(t *testing.T) {
	tree := &Tree{Root: t.TempDir()}
	for _, path := range []string{"../etc/passwd", "/etc/passwd", "proc/../../etc/passwd", ""} {
		if _, err := tree.Read(path); err == nil {
			t.Errorf("%q was read", path)
		}
		if err := tree.Write(path, "x"); err == nil {
			t.Errorf("%q was written", path)
		}
	}
}
