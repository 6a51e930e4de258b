// SPDX-License-Identifier: Apache-2.0

//go:build host

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/hosttune/node"
)

var (
	owner   = hosttune.Owner{Namespace: "shop", Name: "orders", UID: "orders-uid", Created: "2026-01-01T00:00:00Z"}
	younger = hosttune.Owner{Namespace: "shop", Name: "carts", UID: "carts-uid", Created: "2026-02-01T00:00:00Z"}
)

// other is a value that the machine does not have now.
func other(now string, candidates ...string) string {
	for _, candidate := range candidates {
		if candidate != now {
			return candidate
		}
	}
	return ""
}

func (m *machine) cpus(t *testing.T) int {
	t.Helper()
	set, err := hosttune.ParseCPUList(read(t, "/sys/devices/system/cpu/online"))
	if err != nil {
		t.Fatal(err)
	}
	return set.Len()
}

// settings are some of every kind, each other than what the machine has.
func (m *machine) settings(t *testing.T) (settings hosttune.Settings, changes map[string]string) {
	t.Helper()
	swappiness := other(m.before["/proc/sys/vm/swappiness"], "1", "10")
	pages := hosttune.HugePagesNever
	if strings.Contains(m.before["/sys/kernel/mm/transparent_hugepage/enabled"], "[never]") {
		pages = hosttune.HugePagesMadvise
	}
	ratio := other(m.before["/proc/sys/vm/dirty_background_ratio"], "4", "6")
	settings = hosttune.Settings{
		Owner: owner,
		Sysctls: []hosttune.Sysctl{
			{Name: "vm.swappiness", Value: swappiness}, {Name: "vm.dirty_background_ratio", Value: ratio},
			{Name: "net.core.somaxconn", Value: "12345"}, {Name: "net.ipv4.tcp_keepalive_time", Value: "123"},
		},
		TransparentHugePages: &hosttune.TransparentHugePages{Mode: pages},
		ReceivePacketSteering: &hosttune.ReceivePacketSteering{
			Interfaces: []hosttune.Interface{{Pattern: "mtht[0]"}}, CPUs: hosttune.CPUs{Mode: hosttune.CPUsAllButFirst}, FlowEntries: 3000,
		},
	}
	mask, _, err := settings.ReceivePacketSteering.CPUs.On(online(t))
	if err != nil {
		t.Fatal(err)
	}
	queue := "/sys/class/net/" + steered + "/queues/rx-0/"
	changes = map[string]string{
		"/proc/sys/vm/swappiness": swappiness, "/proc/sys/vm/dirty_background_ratio": ratio, "/proc/sys/vm/dirty_background_bytes": "0",
		"/sys/kernel/mm/transparent_hugepage/enabled": strings.ToLower(string(pages)),
		queue + "rps_cpus":                            mask.String(), queue + "rps_flow_cnt": "4096", "/proc/sys/net/core/rps_sock_flow_entries": "4096",
	}
	for _, path := range []string{"/sys/kernel/debug/sched/min_granularity_ns", "/sys/kernel/debug/sched/base_slice_ns"} {
		if _, known := m.before[path]; known {
			settings.Scheduler = &hosttune.Scheduler{MinGranularityNanoseconds: 4_000_000}
			changes[path] = "4000000"
		}
	}
	return settings, changes
}

func online(t *testing.T) hosttune.CPUSet {
	t.Helper()
	set, err := hosttune.ParseCPUList(read(t, "/sys/devices/system/cpu/online"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

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

// The whole way on a real kernel: every kind of setting, read back by other means, and put back.
func TestTheMachineIsTunedAndPutBack(t *testing.T) {
	m := newMachine(t)
	if m.cpus(t) < 2 {
		t.Fatal("this test spreads packets over CPUs and needs two of them")
	}
	pod := startPod(t)
	seen := map[string]string{"net.core.somaxconn": pod.sees(t, "net.core.somaxconn"), "net.ipv4.tcp_keepalive_time": pod.sees(t, "net.ipv4.tcp_keepalive_time")}
	settings, changes := m.settings(t)
	place := node.Place{Pods: []node.Pod{pod.Pod}}
	report := m.Apply(t.Context(), settings, place)
	if report.Worst() == hosttune.Refused || report.Worst() == hosttune.Conflict {
		t.Fatalf("%+v", report.Lines)
	}
	m.assertChanged(t, changes)
	if value := pod.sees(t, "net.core.somaxconn"); value != "12345" {
		t.Errorf("the pod has net.core.somaxconn %s", value)
	}
	if line := lineOf(t, report.Lines, "net.core.somaxconn"); line.Scope != hosttune.ScopePod || line.On != pod.Name || line.Found != seen["net.core.somaxconn"] || line.ReadBack != "12345" {
		t.Errorf("%+v", line)
	}
	if line := lineOf(t, report.Lines, "vm.swappiness"); line.Scope != hosttune.ScopeNode || line.Found != m.before["/proc/sys/vm/swappiness"] {
		t.Errorf("%+v", line)
	}
	t.Logf("\n%s", hosttune.Encode(report, 1<<20))

	m.expectInForce(t, settings, place)

	if report := m.Restore(t.Context(), node.Release{Owner: owner.UID}); report.Worst() == hosttune.Refused {
		t.Errorf("%+v", report.Lines)
	}
	m.assertChanged(t, nil)
	for name, value := range seen {
		if now := pod.sees(t, name); now != value {
			t.Errorf("the pod had %s %s, and has %s", name, value, now)
		}
	}
}

// expectInForce reads what was set by the way of the reader, and applies it again, which changes nothing.
func (m *machine) expectInForce(t *testing.T, settings hosttune.Settings, place node.Place) {
	t.Helper()
	for _, line := range node.Read(m.tree, settings, place).Lines {
		if line.Result != hosttune.AlreadySet && line.Result != hosttune.Unsupported {
			t.Errorf("the reader: %+v", line)
		}
	}
	for _, line := range m.Apply(t.Context(), settings, place).Lines {
		if line.Result == hosttune.Applied {
			t.Errorf("applied again: %+v", line)
		}
	}
}

// A sysctl of the network is set in the pod's namespace alone: before it runs by its init container, here
// by a Job beside it. The namespace is entered and left, and this process stays where it was.
func TestASysctlOfAPodStaysInThePod(t *testing.T) {
	m := newMachine(t)
	pod := startPod(t)
	found := pod.sees(t, "net.core.somaxconn")
	place := node.Place{Pods: []node.Pod{pod.Pod, {Name: "ended", UID: "00000000-0000-0000-0000-000000000000"}}}
	settings := hosttune.Settings{Owner: owner, Sysctls: []hosttune.Sysctl{{Name: "net.core.somaxconn", Value: "23456"}, {Name: "net.ipv4.tcp_rmem", Value: "4096 87380 1048576"}}}
	report := m.Apply(t.Context(), settings, place)
	for _, line := range report.Lines {
		if line.Result != hosttune.Applied || line.Scope != hosttune.ScopePod || line.On != pod.Name {
			t.Errorf("%+v", line)
		}
	}
	if len(report.Lines) != 2 || pod.sees(t, "net.core.somaxconn") != "23456" || strings.Join(strings.Fields(pod.sees(t, "net.ipv4.tcp_rmem")), " ") != "4096 87380 1048576" {
		t.Errorf("the pod has %s: %+v", pod.sees(t, "net.core.somaxconn"), report.Lines)
	}
	m.assertChanged(t, nil)
	m.Restore(t.Context(), node.Release{Owner: owner.UID})
	if now := pod.sees(t, "net.core.somaxconn"); now != found {
		t.Errorf("the pod had %s and has %s", found, now)
	}
}

// Whatever this kernel's generation is, what is said of the scheduler is what the kernel says itself; and
// debugfs, where many machines have not mounted it, is read without a mount that anybody else could see.
func TestTheSchedulerOfThisKernel(t *testing.T) {
	m := newMachine(t)
	if _, err := os.Stat("/proc/sys/kernel/sched_min_granularity_ns"); err == nil {
		t.Log("a kernel up to 5.12; TestTheMachineIsTunedAndPutBack has set it")
		return
	}
	output, err := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", "mount -t debugfs debugfs /mnt && cd /mnt/sched && ls && cat base_slice_ns min_granularity_ns").CombinedOutput()
	t.Logf("the kernel says: %s (%v)", output, err)
	wakeup := int64(5_000_000)
	report := m.Apply(t.Context(), hosttune.Settings{Owner: owner, Scheduler: &hosttune.Scheduler{MinGranularityNanoseconds: 4_000_000, WakeupGranularityNanoseconds: &wakeup}}, node.Place{})
	setting, isEEVDF := "sched_min_granularity_ns", strings.Contains(string(output), "base_slice_ns\n")
	if isEEVDF {
		setting = "base_slice_ns"
	}
	line, want := lineOf(t, report.Lines, setting), hosttune.Applied
	if strings.Contains(string(output), "not permitted") {
		want = hosttune.Refused
		if line.Errno != "EPERM" || !strings.Contains(line.Reason, "lockdown") {
			t.Errorf("%+v", line)
		}
	}
	if line.Result != want {
		t.Errorf("%+v, wanted %s", line, want)
	}
	if isEEVDF {
		if line := lineOf(t, report.Lines, "sched_wakeup_granularity_ns"); line.Result != hosttune.Unsupported {
			t.Errorf("%+v", line)
		}
	}
}

// A literal mask for CPUs that the machine does not have is cut and told, or refused, as chosen. The
// kernel itself takes no such mask.
func TestALiteralMaskThatIsTooWide(t *testing.T) {
	m := newMachine(t)
	path := "sys/class/net/" + steered + "/queues/rx-0/rps_cpus"
	set := online(t)
	wide := hosttune.CPUSet{0xfe}
	for len(wide.Without(set)) == 0 { // a machine with eight CPUs and more
		wide = append(hosttune.CPUSet{0}, wide...)
	}
	if err := m.tree.Write(path, wide.String()); !errors.Is(err, syscall.EOVERFLOW) {
		t.Errorf("the kernel says %v of %s", err, wide)
	}
	settings := hosttune.Settings{Owner: owner, ReceivePacketSteering: &hosttune.ReceivePacketSteering{
		Interfaces: []hosttune.Interface{{Name: steered}}, CPUs: hosttune.CPUs{Mode: hosttune.CPUsMask, Mask: wide.String()}, WhenMaskTooWide: hosttune.MaskRefuse,
	}}
	if line := lineOf(t, m.Apply(t.Context(), settings, node.Place{}).Lines, "rps_cpus"); line.Result != hosttune.Refused || !strings.Contains(line.Reason, fmt.Sprintf("the node's %d", set.Len())) {
		t.Errorf("%+v", line)
	}
	m.assertChanged(t, nil)
	if cut := wide.Intersect(set); cut.Len() > 0 {
		settings.ReceivePacketSteering.WhenMaskTooWide = hosttune.MaskCut
		line := lineOf(t, m.Apply(t.Context(), settings, node.Place{}).Lines, "rps_cpus")
		if line.Result != hosttune.Applied || line.Wanted != wide.String() || line.Set != cut.String() || line.ReadBack != cut.String() || !strings.Contains(line.Reason, "cut to") {
			t.Errorf("%+v", line)
		}
		m.assertChanged(t, map[string]string{"/" + path: cut.String()})
	}
	settings.ReceivePacketSteering.Interfaces[0].Name = "no-such-if"
	if line := lineOf(t, m.Apply(t.Context(), settings, node.Place{}).Lines, "rps_cpus"); line.Result != hosttune.Refused || line.On != "no-such-if" {
		t.Errorf("%+v", line)
	}
}

// The older of two owners has its way; when it goes the younger gets its own, and then the machine.
func TestTwoOwnersOnTheMachine(t *testing.T) {
	m := newMachine(t)
	swappiness := func(of hosttune.Owner, value string) hosttune.Settings {
		return hosttune.Settings{Owner: of, Sysctls: []hosttune.Sysctl{{Name: "vm.swappiness", Value: value}}}
	}
	const path = "/proc/sys/vm/swappiness"
	m.Apply(t.Context(), swappiness(owner, "7"), node.Place{})
	if line := m.Apply(t.Context(), swappiness(younger, "9"), node.Place{}).Lines[0]; line.Result != hosttune.Conflict || line.Other.Name != owner.Name {
		t.Errorf("%+v", line)
	}
	m.assertChanged(t, map[string]string{path: "7"})
	m.Restore(t.Context(), node.Release{Owner: owner.UID})
	m.assertChanged(t, map[string]string{path: "9"})
	m.Restore(t.Context(), node.Release{Owner: younger.UID})
	m.assertChanged(t, nil)
}

// A state directory that is full or read-only: the machine is not touched.
func TestTheMachineIsNotTouchedWithoutState(t *testing.T) {
	for name, options := range map[string]string{"full": "size=8k", "read-only": "ro"} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			run(t, "mount", "-t", "tmpfs", "-o", options, "tmpfs", directory)
			t.Cleanup(func() { run(t, "umount", directory) })
			m := newMachine(t)
			m.Store = &node.Directory{Path: filepath.Join(directory, "state")}
			if name == "full" {
				m.Store = &node.Directory{Path: directory}
				if err := os.WriteFile(filepath.Join(directory, "filler"), make([]byte, 8<<10), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			settings, _ := m.settings(t)
			report := m.Apply(t.Context(), settings, node.Place{})
			line := lineOf(t, report.Lines, "state directory")
			if want := map[string]string{"full": "ENOSPC", "read-only": "EROFS"}[name]; line.Result != hosttune.Refused || line.Errno != want {
				t.Errorf("%+v, wanted %s", line, want)
			}
			m.assertChanged(t, nil)
		})
	}
}

// The program as the operator's pods run it: apply and restore as root with a report in a file, and the
// reader without any right.
func TestTheProgram(t *testing.T) {
	m := newMachine(t)
	directory := t.TempDir()
	if err := os.Chmod(filepath.Dir(directory), 0o755); err != nil { // the reader's user has to get there
		t.Fatal(err)
	}
	program := filepath.Join(directory, "mongotuning")
	run(t, "go", "build", "-o", program, "../../cmd/mongotuning")
	settings, changes := m.settings(t)
	settings.Revision = "abc123"
	file := filepath.Join(directory, "settings.json")
	write(t, file, settings)
	message := filepath.Join(directory, "message")
	if err := os.WriteFile(message, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	acting := []string{"--root=/", "--state=" + m.state, "--message=" + message}

	run(t, program, append([]string{"host-tune", "apply", "--settings=" + file}, acting...)...)
	m.assertChanged(t, changes)
	report := hosttune.Decode(read(t, message) + "\n")
	if report.Revision != "abc123" || report.Cut || report.Worst() == hosttune.Refused || lineOf(t, report.Lines, "vm.swappiness").Result != hosttune.Applied {
		t.Errorf("%+v", report)
	}

	reading := ask(t, program, file)
	if reading.Revision != "abc123" || lineOf(t, reading.Lines, "vm.swappiness").Result != hosttune.AlreadySet || lineOf(t, reading.Lines, "rps_cpus").Result != hosttune.AlreadySet {
		t.Errorf("%+v", reading)
	}
	// It stands in the node's network here, so it also sees what a reader in a pod may not.
	if line := lineOf(t, reading.Lines, "net.core.rps_sock_flow_entries"); line.Result != hosttune.AlreadySet {
		t.Errorf("%+v", line)
	}

	settings.Sysctls = append(settings.Sysctls, hosttune.Sysctl{Name: "vm.swappiness/../../../etc/passwd", Value: "1"})
	settings.OnFailure = hosttune.OnFailureBlock
	write(t, file, settings)
	if code := exitCode(t, program, append([]string{"host-tune", "apply", "--settings=" + file}, acting...)...); code != hosttune.ExitRefused {
		t.Errorf("settings that are wrong end with code %d under Block", code)
	}
	m.assertChanged(t, changes)

	run(t, program, append([]string{"host-tune", "restore", "--owner=" + owner.UID}, acting...)...)
	m.assertChanged(t, nil)
	if report := hosttune.Decode(read(t, message) + "\n"); lineOf(t, report.Lines, "vm.swappiness").Result != hosttune.Restored {
		t.Errorf("%+v", report)
	}
	expectUncleared(t, program, message, acting)
}

// expectUncleared runs the program on a node that the operator has not cleared, which the absence of its file tells.
func expectUncleared(t *testing.T, program, message string, acting []string) {
	t.Helper()
	absent := filepath.Join(t.TempDir(), "absent.json")
	for policy, want := range map[string]int{"Report": hosttune.ExitTuned, "Block": hosttune.ExitRefused} {
		arguments := append([]string{"host-tune", "apply", "--settings=" + absent, "--wait=10ms", "--on-failure=" + policy}, acting...)
		if code := exitCode(t, program, arguments...); code != want {
			t.Errorf("a node that was not cleared ends with code %d under %s", code, policy)
		}
		if text := read(t, message); !strings.Contains(text, "has not cleared this node") {
			t.Errorf("the report says %q", text)
		}
	}
}

// ask runs the reader as nobody and asks it once.
func ask(t *testing.T, program, settings string) hosttune.Reading {
	t.Helper()
	const nobody, port = 65534, 19217
	for _, path := range []string{program, settings} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reader := exec.CommandContext(ctx, program, "host-tune", "serve", "--root=/", "--settings="+settings, "--listen=127.0.0.1:"+strconv.Itoa(port))
	reader.Stderr = os.Stderr
	reader.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = reader.Process.Signal(syscall.SIGTERM)
		_ = reader.Wait()
	}()
	url := fmt.Sprintf("http://127.0.0.1:%d%s", port, hosttune.ReadingPath)
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if errors.Is(err, syscall.ECONNREFUSED) && ctx.Err() == nil {
			continue // not listening yet
		}
		if err != nil {
			t.Fatal(err)
		}
		var reading hosttune.Reading
		err = errors.Join(json.NewDecoder(response.Body).Decode(&reading), response.Body.Close())
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v", response.Status, err)
		}
		return reading
	}
}

func write(t *testing.T, path string, settings hosttune.Settings) {
	t.Helper()
	content, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func exitCode(t *testing.T, program string, arguments ...string) int {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode()
}
