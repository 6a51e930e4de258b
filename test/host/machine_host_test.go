// SPDX-License-Identifier: Apache-2.0

//go:build host

package host_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/hosttune/node"
)

// The pair of interfaces that the tests make; each end has one receive queue.
const steered, peer = "mtht0", "mtht1"

// roleVariable makes this binary the process of a pod.
const roleVariable = "MONGOTUNING_HOST_TEST_ROLE"

const podUID = "7b8c9d0e-1111-2222-3333-444455556666"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "pod" {
		bePod()
		return
	}
	if os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "the tests of a real host change its settings and put them back: they need root")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// watched are the settings that the tests touch or could touch by mistake.
var watched = []string{
	"/proc/sys/vm/swappiness", "/proc/sys/vm/max_map_count", "/proc/sys/vm/zone_reclaim_mode", "/proc/sys/vm/overcommit_memory",
	"/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes",
	"/proc/sys/net/core/somaxconn", "/proc/sys/net/core/rps_sock_flow_entries", "/proc/sys/net/core/rmem_max", "/proc/sys/net/ipv4/tcp_keepalive_time",
	"/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/mm/transparent_hugepage/defrag", "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
	"/sys/class/net/*/queues/rx-*/rps_cpus", "/sys/class/net/*/queues/rx-*/rps_flow_cnt", "/sys/block/*/queue/read_ahead_kb", "/sys/block/*/queue/scheduler",
}

// snapshot is what the machine says of itself.
func snapshot(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, pattern := range watched {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if content, err := os.ReadFile(path); err == nil {
				values[path] = strings.TrimSpace(string(content))
			}
		}
	}
	tree := &node.Tree{Root: "/"}
	defer func() { _ = tree.Close() }()
	for _, name := range []string{"min_granularity_ns", "wakeup_granularity_ns", "base_slice_ns"} {
		path := "sys/kernel/debug/sched/" + name
		if value, err := tree.Read(path); err == nil {
			values["/"+path] = value
		}
	}
	return values
}

// machine is this machine with a pair of interfaces for the test and a promise to leave as it was found.
type machine struct {
	node.Host
	tree   *node.Tree
	state  string
	before map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	run(t, "ip", "link", "add", steered, "numrxqueues", "1", "numtxqueues", "1", "type", "veth", "peer", "name", peer, "numrxqueues", "1", "numtxqueues", "1")
	t.Cleanup(func() { run(t, "ip", "link", "delete", steered) })
	m := &machine{tree: &node.Tree{Root: "/"}, state: filepath.Join(t.TempDir(), "state"), before: snapshot(t)}
	m.Host = node.Host{Kernel: m.tree, Store: &node.Directory{Path: m.state}}
	mounts := debugfsMounts(t)
	t.Cleanup(func() {
		m.Restore(t.Context(), node.Release{Owner: node.Everyone})
		m.putBack(t)
		if err := m.tree.Close(); err != nil {
			t.Error(err)
		}
		if now := debugfsMounts(t); now != mounts {
			t.Errorf("debugfs is mounted %d times, and was %d times", now, mounts)
		}
	})
	return m
}

func debugfsMounts(t *testing.T) int {
	t.Helper()
	return strings.Count(read(t, "/proc/self/mountinfo"), " - debugfs ")
}

// putBack is what keeps a test that fails from changing the machine.
func (m *machine) putBack(t *testing.T) {
	t.Helper()
	for path, now := range snapshot(t) {
		if before, known := m.before[path]; known && before != now {
			t.Errorf("%s was %q and is left at %q; it is put back now", path, before, now)
			if strings.Contains(before, "[") {
				before = chosen(before)
			}
			if err := m.tree.Write(strings.TrimPrefix(path, "/"), before); err != nil {
				t.Error(err)
			}
		}
	}
}

// assertChanged compares the machine with how it was, but for what was to change.
func (m *machine) assertChanged(t *testing.T, changes map[string]string) {
	t.Helper()
	want := maps.Clone(m.before)
	maps.Copy(want, changes)
	now := snapshot(t)
	for path := range changes {
		if isChoice(now[path]) {
			now[path] = chosen(now[path])
		}
	}
	if difference := cmp.Diff(want, now); difference != "" {
		t.Errorf("another machine (-want +got):\n%s", difference)
	}
}

// isChoice tells whether a value lists what can be chosen, as huge pages do: "always [madvise] never".
func isChoice(value string) bool {
	return strings.HasPrefix(value, "always") || strings.HasPrefix(value, "[always]")
}

// chosen is the word of a list that stands in brackets.
func chosen(value string) string {
	_, word, _ := strings.Cut(value, "[")
	word, _, _ = strings.Cut(word, "]")
	return word
}

// pod is a process in a network namespace of its own, with an /etc/hosts as the kubelet mounts it.
type pod struct {
	node.Pod
	input  io.Closer
	output *bufio.Reader
	id     int
}

func startPod(t *testing.T) pod {
	t.Helper()
	hosts := filepath.Join(t.TempDir(), "pods", podUID, "etc-hosts")
	if err := os.MkdirAll(filepath.Dir(hosts), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hosts, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// It lives until the cleanup below, which comes after the end of the test's own context.
	command := exec.CommandContext(context.WithoutCancel(t.Context()), self, hosts)
	command.Env = append(os.Environ(), roleVariable+"=pod")
	command.Stderr = os.Stderr
	// It ends with its input. A death signal would come when the thread ends that it was started from, and
	// threads that enter a namespace end with that.
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	started := pod{Pod: node.Pod{Name: "demo-shard-0-0", UID: podUID}, input: input, output: bufio.NewReader(output), id: command.Process.Pid}
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
	})
	if line, err := started.output.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the pod says %q: %v", line, err)
	}
	return started
}

// bePod mounts its /etc/hosts for itself alone and answers each line, a path, with what it sees there.
func bePod() {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println("make mounts private:", err)
		return
	}
	if err := syscall.Mount(os.Args[1], "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		fmt.Println("mount /etc/hosts:", err)
		return
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

// sees is a sysctl as the pod sees it.
func (p pod) sees(t *testing.T, name string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", p.id), "cat", "/"+hosttune.SysctlPath(name)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}

// run runs a program, also in a cleanup, when the test's own context has ended.
func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	if output, err := exec.CommandContext(context.WithoutCancel(t.Context()), name, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(arguments, " "), err, output)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}
