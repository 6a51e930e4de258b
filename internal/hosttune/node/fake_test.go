// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// fakeKernel is a tree of files that behaves like the kernel where that matters here: masks that are too
// wide overflow, tables are rounded up, of a pair one is zeroed, and words outside of a choice are
// invalid. It never looks outside of its root.
type fakeKernel struct {
	root string
	cpus int
	// networks are processes with a network namespace of their own; files below networks/PROCESS are its.
	networks map[string]string
	// refuse are errors of writes, hide of reads, by path.
	refuse, hide map[string]error
	// readOnly are sysctls that a namespace shows and does not let write.
	readOnly map[string]bool
	space    [2]uint64
	// before is called before each write.
	before func(act string) error
	// writes are all paths that were written.
	writes []string

	inside string
}

// The processes of the fake node.
const (
	ownNetwork = "self"
	podProcess = "4711"
	// ownFromOutside is how others find the pod that ownPod is.
	ownFromOutside = "4710"
)

func newFakeKernel(t *testing.T, cpus int) *fakeKernel {
	t.Helper()
	kernel := &fakeKernel{
		root: t.TempDir(), cpus: cpus, inside: ownNetwork, space: [2]uint64{100 << 30, 40 << 30},
		networks: map[string]string{nodeProcess: "net:[1]", ownNetwork: "net:[2]", ownFromOutside: "net:[2]", podProcess: "net:[3]"},
		refuse:   map[string]error{}, hide: map[string]error{}, readOnly: map[string]bool{},
	}
	for path, content := range map[string]string{
		"proc/sys/kernel/random/boot_id": "first-boot", "proc/sys/kernel/osrelease": "6.1.0-18-amd64", "proc/meminfo": "MemTotal:       16384000 kB\nMemFree: 1 kB\n",
		"proc/sys/vm/swappiness": "60", "proc/sys/vm/max_map_count": "65530", "proc/sys/vm/zone_reclaim_mode": "0", "proc/sys/vm/overcommit_memory": "0",
		"proc/sys/vm/dirty_ratio": "20", "proc/sys/vm/dirty_bytes": "0", "proc/sys/vm/dirty_background_ratio": "0", "proc/sys/vm/dirty_background_bytes": "67108864",
		"proc/sys/kernel/sched_min_granularity_ns": "3000000", "proc/sys/kernel/sched_wakeup_granularity_ns": "4000000",
		"proc/sys/net/core/somaxconn": "4096", "proc/sys/net/core/rps_sock_flow_entries": "0", "proc/sys/net/core/netdev_max_backlog": "1000", "proc/sys/net/core/rmem_max": "212992",
		"networks/self/proc/sys/net/core/somaxconn": "4096", "networks/self/proc/sys/net/ipv4/tcp_keepalive_time": "7200", "networks/self/proc/sys/net/core/rmem_max": "212992",
		"networks/4711/proc/sys/net/core/somaxconn": "4096", "networks/4711/proc/sys/net/ipv4/tcp_keepalive_time": "7200", "networks/4711/proc/sys/net/core/rmem_max": "212992",
		"proc/sys/net/ipv4/tcp_keepalive_time":       "7200",
		"proc/sys/net/ipv4/tcp_rmem":                 "4096\t131072\t6291456",
		"networks/self/proc/sys/net/ipv4/tcp_rmem":   "4096\t131072\t6291456",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never", "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
		"sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none":     "511",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc", "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet",
		"sys/devices/system/node/node0/cpulist":   "0-1",
		"sys/class/net/eth0/queues/rx-0/rps_cpus": "0", "sys/class/net/eth0/queues/rx-0/rps_flow_cnt": "0", "sys/class/net/lo/queues/rx-0/rps_cpus": "0",
		"proc/1/net/route":    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\neth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\neth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
		"proc/1/comm":         "systemd",
		"proc/self/mountinfo": "30 23 0:25 / / rw,relatime - overlay overlay rw\n40 30 259:2 /data /data/db rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n",
		"proc/self/limits":    "Limit                     Soft Limit           Hard Limit           Units\nMax processes             1024                 unlimited            processes\nMax open files            1024                 1048576              files\n",
		"proc/4710/comm":      "pause", "proc/4710/cgroup": "9:name=systemd:/kubepods/burstable/pod99999999-2222-3333-4444-555555555555/abc\n0::/\n",
		"proc/4711/comm": "mongod", "proc/4711/cgroup": "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice/cri-containerd-abc.scope\n",
		"proc/4711/mountinfo":                          "40 30 259:2 /data /data/db rw,noatime - xfs /dev/nvme0n1p2 rw\n",
		"proc/4711/limits":                             "Max processes             63999                63999                processes\nMax open files            64000                64000                files\n",
		"sys/devices/pci0/nvme0n1/queue/read_ahead_kb": "128", "sys/devices/pci0/nvme0n1/queue/scheduler": "[none] mq-deadline kyber", "sys/devices/pci0/nvme0n1/nvme0n1p2/partition": "2",
	} {
		kernel.set(t, path, content)
	}
	kernel.set(t, "sys/devices/system/cpu/online", fmt.Sprintf("0-%d", cpus-1))
	if cpus == 1 {
		kernel.set(t, "sys/devices/system/cpu/online", "0")
	}
	for link, to := range map[string]string{
		"sys/dev/block/259:2": "../../devices/pci0/nvme0n1/nvme0n1p2", "sys/block/nvme0n1": "../devices/pci0/nvme0n1", "sys/class/block/nvme0n1": "../../devices/pci0/nvme0n1",
	} {
		kernel.link(t, link, to)
	}
	return kernel
}

func (f *fakeKernel) set(t *testing.T, path, content string) {
	t.Helper()
	full := filepath.Join(f.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f *fakeKernel) link(t *testing.T, path, to string) {
	t.Helper()
	full := filepath.Join(f.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, full); err != nil {
		t.Fatal(err)
	}
}

func (f *fakeKernel) remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(f.root, path)); err != nil {
		t.Fatal(err)
	}
}

// get is a file as the node's network namespace shows it.
func (f *fakeKernel) get(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(f.root, path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

// tree is all there is, for comparing before and after.
func (f *fakeKernel) tree(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(f.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(f.root, path)
		all[relative] = f.get(t, relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f *fakeKernel) path(path string) string {
	if strings.HasPrefix(path, "proc/sys/net/") && !f.isNode() {
		inside := f.inside
		if inside == ownFromOutside {
			inside = ownNetwork
		}
		return filepath.Join(f.root, "networks", inside, path)
	}
	return filepath.Join(f.root, path)
}

// isNode says whether the node's own network is looked at.
func (f *fakeKernel) isNode() bool { return f.networks[f.inside] == "net:[1]" }

func (f *fakeKernel) Read(path string) (string, error) {
	if err := f.hide[path]; err != nil {
		return "", &fs.PathError{Op: "open", Path: path, Err: err}
	}
	content, err := os.ReadFile(f.path(path))
	return strings.TrimSpace(string(content)), err
}

func (f *fakeKernel) Write(path, value string) error {
	if f.before != nil {
		if err := f.before("write " + path); err != nil {
			return err
		}
	}
	f.writes = append(f.writes, path)
	if err := f.refuse[path]; err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	old, err := f.Read(path)
	if err != nil {
		return err
	}
	stored, err := f.kept(path, old, value)
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return os.WriteFile(f.path(path), []byte(stored+"\n"), 0o644)
}

// kept is what the kernel makes of a value.
func (f *fakeKernel) kept(path, old, value string) (string, error) {
	switch name := filepath.Base(path); {
	case name == "rps_cpus":
		return f.keptMask(value)
	case strings.HasPrefix(name, "rps_"):
		number, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return "", unix.EINVAL
		}
		if number == 0 {
			return "0", nil
		}
		return strconv.Itoa(int(roundUp(int32(number)))), nil
	case strings.Contains(old, "["):
		if !slices.Contains(choices(old), value) {
			return "", unix.EINVAL
		}
		return strings.Replace(strings.NewReplacer("[", "", "]", "").Replace(" "+old+" "), " "+value+" ", " ["+value+"] ", 1), nil
	default:
		for field := range strings.FieldsSeq(value) {
			if _, err := strconv.ParseInt(field, 10, 64); err != nil {
				return "", unix.EINVAL
			}
		}
		if row, known := hosttune.FindSysctl(sysctlName(path)); known && row.Instead != "" {
			if err := os.WriteFile(f.path(hosttune.SysctlPath(row.Instead)), []byte("0\n"), 0o644); err != nil {
				return "", err
			}
		}
		return strings.Join(strings.Fields(value), "\t"), nil
	}
}

func (f *fakeKernel) keptMask(value string) (string, error) {
	if value == "0" {
		return "00000000", nil
	}
	set, err := hosttune.ParseMask(value)
	if err != nil {
		return "", unix.EINVAL
	}
	if all, _, _ := (hosttune.CPUs{Mode: hosttune.CPUsList, List: fmt.Sprintf("0-%d", f.cpus-1)}).On(set); all.Len() != set.Len() {
		return "", unix.EOVERFLOW
	}
	return fmt.Sprintf("%08s", set.String()), nil
}

func (f *fakeKernel) IsWritable(path string) (bool, error) {
	_, err := os.Stat(f.path(path))
	return !f.readOnly[path] || f.isNode(), err
}

func (f *fakeKernel) List(directory string) ([]string, error) {
	entries, err := os.ReadDir(f.path(directory))
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

func (f *fakeKernel) Resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(f.path(path))
	if err != nil {
		return "", err
	}
	return filepath.Rel(f.root, resolved)
}

func (f *fakeKernel) Network(process string) (string, error) {
	if name, ok := f.networks[process]; ok {
		return name, nil
	}
	return "", fs.ErrNotExist
}

func (f *fakeKernel) InNetwork(process string, do func() error) error {
	if _, ok := f.networks[process]; !ok {
		return fs.ErrNotExist
	}
	outside := f.inside
	f.inside = process
	defer func() { f.inside = outside }()
	return do()
}

func (f *fakeKernel) Space(string) (total, free uint64, err error) {
	return f.space[0], f.space[1], nil
}

// fakeProber measures what it is told to.
type fakeProber struct {
	written int64
	took    time.Duration
	err     error
	asked   []hosttune.WriteProbe
}

func (f *fakeProber) Probe(_ string, bounds hosttune.WriteProbe) (int64, time.Duration, error) {
	f.asked = append(f.asked, bounds)
	return f.written, f.took, f.err
}

// fakeHost is a node with all its parts.
type fakeHost struct {
	Host
	kernel *fakeKernel
	store  *Directory
	prober *fakeProber
	// acted counts the acts of the current run.
	acted int
}

func newFakeHost(t *testing.T, cpus int) *fakeHost {
	t.Helper()
	kernel := newFakeKernel(t, cpus)
	store := &Directory{Path: filepath.Join(t.TempDir(), "state")}
	prober := &fakeProber{written: 256 << 20, took: time.Second}
	return &fakeHost{Host: Host{Kernel: kernel, Store: store, Prober: prober}, kernel: kernel, store: store, prober: prober}
}

// state is what the node's file says.
func (f *fakeHost) state(t *testing.T) *state {
	t.Helper()
	content, err := f.store.Load()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parseState(content)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func (f *fakeHost) stateText(t *testing.T) string {
	t.Helper()
	text, err := json.MarshalIndent(f.state(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	ownPod   = Place{Own: &Pod{Name: "demo-shard-0-0", UID: "99999999-2222-3333-4444-555555555555"}, Data: "/data/db"}
	otherPod = Place{Pods: []Pod{{Name: "demo-shard-0-1", UID: "11111111-2222-3333-4444-555555555555"}}, Data: "/data/db"}

	elder   = hosttune.Owner{Namespace: "shop", Name: "elder", UID: "elder-uid", Created: "2026-01-01T00:00:00Z"}
	younger = hosttune.Owner{Namespace: "shop", Name: "younger", UID: "younger-uid", Created: "2026-02-01T00:00:00Z"}
)

func swappiness(owner hosttune.Owner, value string) hosttune.Settings {
	return hosttune.Settings{Owner: owner, Sysctls: []hosttune.Sysctl{{Name: "vm.swappiness", Value: value}}}
}

// lineOf finds the line of a setting.
func lineOf(t *testing.T, lines []hosttune.Line, setting string) hosttune.Line {
	t.Helper()
	for _, line := range lines {
		if line.Setting == setting {
			return line
		}
	}
	t.Fatalf("nothing is said of %s: %+v", setting, lines)
	return hosttune.Line{}
}

var errKilled = errors.New("killed")

func background() context.Context { return context.Background() }
