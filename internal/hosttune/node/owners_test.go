// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

const swappinessPath = "proc/sys/vm/swappiness"

// Two owners want different values of one setting: the older has its way whoever came first, and the
// younger gets its own once the older is gone.
func TestTwoOwnersOfOneSetting(t *testing.T) {
	host := newFakeHost(t, 2)
	host.Apply(background(), swappiness(younger, "10"), Place{})
	line := host.Apply(background(), swappiness(elder, "1"), Place{}).Lines[0]
	if line.Result != hosttune.Applied || line.Found != "10" || line.Original != "60" || host.kernel.get(t, swappinessPath) != "1" {
		t.Errorf("the older owner: %+v", line)
	}
	line = host.Apply(background(), swappiness(younger, "10"), Place{}).Lines[0]
	if line.Result != hosttune.Conflict || line.Other == nil || *line.Other != elder || line.Found != "1" || line.Wanted != "10" {
		t.Errorf("the younger owner: %+v", line)
	}
	if host.kernel.get(t, swappinessPath) != "1" {
		t.Error("the younger owner has written over the older one")
	}

	assertHandedOver(t, host)
}

func assertHandedOver(t *testing.T, host *fakeHost) {
	t.Helper()
	line := host.Restore(background(), Release{Owner: elder.UID}).Lines[0]
	if line.Result != hosttune.Restored || line.Wanted != "10" || !strings.Contains(line.Reason, "shop/younger still wants it") {
		t.Errorf("the older owner goes: %+v", line)
	}
	if host.kernel.get(t, swappinessPath) != "10" {
		t.Error("what the other owner still wants is not in force")
	}
	line = host.Restore(background(), Release{Owner: younger.UID}).Lines[0]
	if line.Result != hosttune.Restored || line.Wanted != "60" || host.kernel.get(t, swappinessPath) != "60" {
		t.Errorf("the last owner goes: %+v", line)
	}
}

// One owner wants a ratio and the other bytes: to the kernel that is one setting.
func TestTwoOwnersOfAPair(t *testing.T) {
	host := newFakeHost(t, 2)
	ratio := hosttune.Settings{Owner: elder, Sysctls: []hosttune.Sysctl{{Name: "vm.dirty_ratio", Value: "15"}}}
	bytes := hosttune.Settings{Owner: younger, Sysctls: []hosttune.Sysctl{{Name: "vm.dirty_bytes", Value: "1073741824"}}}
	host.Apply(background(), ratio, Place{})
	line := host.Apply(background(), bytes, Place{}).Lines[0]
	if line.Result != hosttune.Conflict || line.Found != "vm.dirty_ratio=15" {
		t.Errorf("%+v", line)
	}
	host.Restore(background(), Release{Owner: elder.UID})
	if host.kernel.get(t, "proc/sys/vm/dirty_bytes") != "1073741824" || host.kernel.get(t, "proc/sys/vm/dirty_ratio") != "0" {
		t.Error("the younger owner does not have its way")
	}
	host.Restore(background(), Release{Owner: Everyone})
	if host.kernel.get(t, "proc/sys/vm/dirty_bytes") != "0" || host.kernel.get(t, "proc/sys/vm/dirty_ratio") != "20" {
		t.Error("not as it was")
	}
}

func TestASettingThatIsTakenAwayIsGivenBack(t *testing.T) {
	host := newFakeHost(t, 2)
	settings := swappiness(elder, "1")
	settings.Sysctls = append(settings.Sysctls, hosttune.Sysctl{Name: "vm.zone_reclaim_mode", Value: "1"})
	host.Apply(background(), settings, Place{})
	report := host.Apply(background(), swappiness(elder, "1"), Place{})
	want := []hosttune.Line{
		{Setting: "vm.zone_reclaim_mode", Scope: hosttune.ScopeNode, Found: "1", Original: "0", Wanted: "0", Set: "0", ReadBack: "0", Result: hosttune.Restored},
		{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "1", Original: "60", Wanted: "1", Result: hosttune.AlreadySet},
	}
	if difference := cmp.Diff(want, report.Lines); difference != "" {
		t.Error(difference)
	}
}

// A spec that one node cannot follow is no reason to take away what works there.
func TestARefusedBlockKeepsWhatWasSet(t *testing.T) {
	host := newFakeHost(t, 4)
	steering := hosttune.Settings{Owner: elder, ReceivePacketSteering: &hosttune.ReceivePacketSteering{
		Interfaces: []hosttune.Interface{{Name: "eth0"}}, CPUs: hosttune.CPUs{Mode: hosttune.CPUsAll},
	}}
	host.Apply(background(), steering, Place{})
	steering.ReceivePacketSteering.Interfaces = append(steering.ReceivePacketSteering.Interfaces, hosttune.Interface{Name: "eth1"})
	steering.ReceivePacketSteering.CPUs.Mode = hosttune.CPUsAllButFirst
	if report := host.Apply(background(), steering, Place{}); report.Worst() != hosttune.Refused {
		t.Errorf("%+v", report.Lines)
	}
	if mask := host.kernel.get(t, "sys/class/net/eth0/queues/rx-0/rps_cpus"); mask != "0000000f" {
		t.Errorf("eth0 has %s", mask)
	}
}

// What another one has raised further stays, and what was never written is never given back.
func TestOnlyRaiseLeavesWhatIsHigher(t *testing.T) {
	const path = "proc/sys/vm/max_map_count"
	raise := hosttune.Settings{Owner: elder, Sysctls: []hosttune.Sysctl{{Name: "vm.max_map_count", Value: "262144", Operator: hosttune.OperatorOnlyRaise}}}
	host := newFakeHost(t, 2)
	host.Apply(background(), raise, Place{})
	host.kernel.set(t, path, "1000000")
	if line := host.Apply(background(), raise, Place{}).Lines[0]; line.Result != hosttune.AlreadySet || host.kernel.get(t, path) != "1000000" {
		t.Errorf("%+v", line)
	}

	host = newFakeHost(t, 2)
	host.kernel.set(t, path, "500000")
	host.Apply(background(), raise, Place{})
	host.kernel.set(t, path, "1000000")
	host.Restore(background(), Release{Owner: elder.UID})
	if host.kernel.get(t, path) != "1000000" || len(host.state(t).Settings) != 0 {
		t.Error("a value that was never set here was given back")
	}
}

func TestDriftIsCorrectedAndTheOriginalStays(t *testing.T) {
	host := newFakeHost(t, 2)
	host.Apply(background(), swappiness(elder, "1"), Place{})
	host.kernel.set(t, swappinessPath, "30")
	reading := Read(host.kernel, swappiness(elder, "1"), Place{})
	if line := lineOf(t, reading.Lines, "vm.swappiness"); line.Result != hosttune.Differs || line.Found != "30" || line.Wanted != "1" {
		t.Errorf("%+v", line)
	}
	if line := host.Apply(background(), swappiness(elder, "1"), Place{}).Lines[0]; line.Result != hosttune.Applied || line.Found != "30" || line.Original != "60" {
		t.Errorf("%+v", line)
	}
	host.kernel.set(t, swappinessPath, "30")
	host.Restore(background(), Release{Owner: elder.UID})
	if host.kernel.get(t, swappinessPath) != "60" {
		t.Error("not the value found first")
	}
}

// After a reboot the kernel has the host's own values: a new one is what is given back from then on.
func TestReboot(t *testing.T) {
	for _, row := range []struct {
		name, found, original string
	}{
		{"the host has what it had", "60", "60"},
		{"the host was given another value", "20", "20"},
		{"the host was given our value: nobody can tell", "1", "60"},
	} {
		t.Run(row.name, func(t *testing.T) {
			host := newFakeHost(t, 2)
			settings := swappiness(elder, "1")
			settings.Sysctls = append(settings.Sysctls, hosttune.Sysctl{Name: "net.core.somaxconn", Value: "8192"})
			host.Apply(background(), settings, otherPod)
			if count := len(host.state(t).Settings); count != 2 {
				t.Fatalf("%d settings are recorded", count)
			}
			host.kernel.set(t, "proc/sys/kernel/random/boot_id", "second-boot")
			host.kernel.set(t, swappinessPath, row.found)
			host.kernel.remove(t, "proc/"+podProcess)

			host.Apply(background(), swappiness(elder, "1"), Place{})
			if settings := host.state(t).Settings; len(settings) != 1 || settings[swappinessPath].Original != row.original {
				t.Errorf("recorded: %s", host.stateText(t))
			}
			if host.kernel.get(t, swappinessPath) != "1" {
				t.Error("not set again")
			}
			host.Restore(background(), Release{Owner: elder.UID})
			if value := host.kernel.get(t, swappinessPath); value != row.original {
				t.Errorf("%s was given back", value)
			}
		})
	}
}

// A pod that ended took its settings with it.
func TestPodsThatEndedAreForgotten(t *testing.T) {
	host := newFakeHost(t, 2)
	settings := hosttune.Settings{Owner: elder, Sysctls: []hosttune.Sysctl{{Name: "net.core.somaxconn", Value: "8192"}}}
	host.Apply(background(), settings, otherPod)
	if len(host.state(t).Settings) != 1 {
		t.Fatal("not recorded")
	}
	host.kernel.remove(t, "proc/"+podProcess)
	host.Apply(background(), swappiness(elder, "1"), Place{})
	if _, kept := host.state(t).Settings["pods/"+otherPod.Pods[0].UID+"/proc/sys/net/core/somaxconn"]; kept {
		t.Error("still recorded")
	}
}

// A pod that ends while a run is at it is no failure of the node.
func TestAPodThatEndsMeanwhile(t *testing.T) {
	host := newFakeHost(t, 2)
	host.kernel.before = func(string) error {
		delete(host.kernel.networks, podProcess)
		return os.ErrNotExist
	}
	settings := hosttune.Settings{Owner: elder, Sysctls: []hosttune.Sysctl{{Name: "net.core.somaxconn", Value: "8192"}}}
	if line := host.Apply(background(), settings, otherPod).Lines[0]; line.Result != hosttune.NotNeeded || line.Reason != "the pod has ended" {
		t.Errorf("%+v", line)
	}
}

// A pod whose network cannot be entered any more says nothing about the node: its settings must not
// become the node's.
func TestAPodThatHasEndedIsNotTakenForTheNode(t *testing.T) {
	host := newFakeHost(t, 2)
	delete(host.kernel.networks, podProcess)
	before := host.kernel.tree(t)
	settings := hosttune.Settings{Owner: elder, Sysctls: []hosttune.Sysctl{{Name: "net.core.somaxconn", Value: "8192"}}}
	if report := host.Apply(background(), settings, otherPod); len(report.Lines) > 0 {
		t.Errorf("%+v", report.Lines)
	}
	if difference := cmp.Diff(before, host.kernel.tree(t)); difference != "" {
		t.Errorf("the node was changed:\n%s", difference)
	}
}

// A device that is gone needs nothing given back, and is not remembered for ever.
func TestDevicesThatAreGoneAreForgotten(t *testing.T) {
	host := newFakeHost(t, 4)
	host.Apply(background(), hosttune.Settings{Owner: elder, ReceivePacketSteering: &hosttune.ReceivePacketSteering{
		Interfaces: []hosttune.Interface{{Name: "eth0"}}, CPUs: hosttune.CPUs{Mode: hosttune.CPUsAll},
	}}, Place{})
	host.kernel.remove(t, "sys/class/net/eth0")
	line := host.Restore(background(), Release{Owner: elder.UID}).Lines[0]
	if line.Result != hosttune.NotNeeded || len(host.state(t).Settings) != 0 {
		t.Errorf("%+v, recorded: %s", line, host.stateText(t))
	}
}

// Without a place for the originals the host is not touched.
func TestNothingIsWrittenWithoutState(t *testing.T) {
	damaged := func(content string) func(*testing.T, *fakeHost) {
		return func(t *testing.T, host *fakeHost) {
			t.Helper()
			if err := os.MkdirAll(host.store.Path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(host.store.Path, stateFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	fails := func(act string, err error) func(*testing.T, *fakeHost) {
		return func(_ *testing.T, host *fakeHost) {
			host.store.before = func(now string) error {
				if now == act {
					return err
				}
				return nil
			}
		}
	}
	for _, row := range []struct {
		name    string
		prepare func(t *testing.T, host *fakeHost)
		says    string
	}{
		{"a read-only directory", fails("make directory", &os.PathError{Op: "mkdir", Path: "x", Err: unix.EROFS}), "read-only"},
		{"a full directory", fails("write state", &os.PathError{Op: "write", Path: "x", Err: unix.ENOSPC}), "no space left"},
		{"a directory that fills up later", fails("replace state", &os.PathError{Op: "rename", Path: "x", Err: unix.ENOSPC}), "no space left"},
		{"a directory that does not say it is safe", fails("sync directory", &os.PathError{Op: "sync", Path: "x", Err: unix.EIO}), "input/output error"},
		{"half a file", damaged(`{"version":1,"settings":{`), "parse state"},
		{"a file of a later version", damaged(`{"version":2}`), "version 2"},
		{"a file that leads elsewhere", damaged(`{"version":1,"settings":{"x":{"path":"etc/passwd","original":"root"}}}`), "no setting"},
		{"a file that leads up", damaged(`{"version":1,"settings":{"x":{"path":"proc/sys/../../etc/passwd","original":"root"}}}`), "no setting"},
		{"a file for a directory", func(t *testing.T, host *fakeHost) {
			if err := os.WriteFile(host.store.Path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a directory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			host := newFakeHost(t, 2)
			row.prepare(t, host)
			before := host.kernel.tree(t)
			report := host.Apply(background(), swappiness(elder, "1"), Place{})
			state, setting := lineOf(t, report.Lines, settingState), lineOf(t, report.Lines, "vm.swappiness")
			if state.Result != hosttune.Refused || !strings.Contains(state.Reason, row.says) || !strings.Contains(state.Reason, "nothing was written") {
				t.Errorf("%+v", state)
			}
			if setting.Result != hosttune.Refused {
				t.Errorf("%+v", setting)
			}
			if difference := cmp.Diff(before, host.kernel.tree(t)); difference != "" || len(host.kernel.writes) > 0 {
				t.Errorf("written all the same:\n%s", difference)
			}
		})
	}
}

// A directory that cannot be written any more also keeps a drift from being corrected.
func TestNoDriftIsCorrectedWithoutState(t *testing.T) {
	host := newFakeHost(t, 2)
	host.Apply(background(), swappiness(elder, "1"), Place{})
	host.kernel.set(t, swappinessPath, "30")
	host.store.before = func(act string) error {
		if act == "write state" {
			return &os.PathError{Op: "write", Path: "x", Err: unix.ENOSPC}
		}
		return nil
	}
	if report := host.Apply(background(), swappiness(elder, "1"), Place{}); report.Worst() != hosttune.Refused || host.kernel.get(t, swappinessPath) != "30" {
		t.Errorf("%+v", report.Lines)
	}
}

// A node that nobody tunes gets no file.
func TestRestoreOfAnUntouchedNode(t *testing.T) {
	host := newFakeHost(t, 2)
	if report := host.Restore(background(), Release{Owner: elder.UID}); len(report.Lines) > 0 {
		t.Errorf("%+v", report.Lines)
	}
	if _, err := os.Stat(filepath.Join(host.store.Path, stateFile)); !os.IsNotExist(err) {
		t.Error("there is a state file")
	}
	if report := host.Restore(background(), Release{}); report.Worst() != hosttune.Refused {
		t.Error("a release of nobody")
	}
}

func TestTheLockIsWaitedFor(t *testing.T) {
	host := newFakeHost(t, 2)
	release, err := host.store.Lock(background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(background(), 50*time.Millisecond)
	defer cancel()
	report := host.Apply(ctx, swappiness(elder, "1"), Place{})
	if line := lineOf(t, report.Lines, settingState); !strings.Contains(line.Reason, "another process holds") || host.kernel.get(t, swappinessPath) != "60" {
		t.Errorf("%+v", line)
	}
	done := make(chan hosttune.Report)
	go func() { done <- host.Apply(background(), swappiness(elder, "1"), Place{}) }()
	release()
	if report := <-done; report.Worst() != hosttune.Applied {
		t.Errorf("%+v", report.Lines)
	}
}

// A setting that refuses to be put back stays recorded, and the next run puts it back.
func TestWhatIsNotGivenBackIsTriedAgain(t *testing.T) {
	host := newFakeHost(t, 2)
	host.Apply(background(), swappiness(elder, "1"), Place{})
	host.kernel.refuse[swappinessPath] = unix.EPERM
	if line := host.Restore(background(), Release{Owner: elder.UID}).Lines[0]; line.Result != hosttune.Refused || line.Errno != "EPERM" {
		t.Errorf("%+v", line)
	}
	delete(host.kernel.refuse, swappinessPath)
	host.Restore(background(), Release{Owner: younger.UID})
	if host.kernel.get(t, swappinessPath) != "60" || len(host.state(t).Settings) != 0 {
		t.Error("not given back by the next run")
	}
}

// FuzzParseState looks for files that end the program or lead it out of the kernel's settings.
func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"version":1,"boot":"a","settings":{"proc/sys/vm/swappiness":{"setting":"vm.swappiness","path":"proc/sys/vm/swappiness","original":"60","claims":[]}}}`))
	f.Add([]byte(`{"version":1,"settings":{"x":null}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		parsed, err := parseState(content)
		if err != nil {
			return
		}
		for key, one := range parsed.Settings {
			if !strings.HasPrefix(one.Path, "proc/sys/") && !strings.HasPrefix(one.Path, "sys/") || strings.Contains(one.Path, "..") && strings.Contains(one.Path, "/../") {
				t.Errorf("%s leads to %s", key, one.Path)
			}
		}
		if _, err := json.Marshal(parsed); err != nil {
			t.Error(err)
		}
	})
}
