// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// step is one run of host-tune in a story.
type step struct {
	name string
	run  func(host *fakeHost) hosttune.Report
}

// life is what happens to a node over time: settings are set, changed, taken away, wanted by a second
// owner, and given back.
func life() []step {
	full := hosttune.Settings{
		Owner: elder, ServerVersion: "7.0",
		Sysctls: []hosttune.Sysctl{
			{Name: "vm.swappiness", Value: "1"}, {Name: "vm.max_map_count", Value: "262144", Operator: hosttune.OperatorOnlyRaise},
			{Name: "vm.dirty_background_ratio", Value: "5"}, {Name: "net.core.somaxconn", Value: "16384"}, {Name: "net.core.rmem_max", Value: "425984"},
		},
		TransparentHugePages:  &hosttune.TransparentHugePages{Mode: hosttune.HugePagesAuto},
		Scheduler:             &hosttune.Scheduler{MinGranularityNanoseconds: 10_000_000},
		ReceivePacketSteering: &hosttune.ReceivePacketSteering{Interfaces: []hosttune.Interface{{DefaultRoute: true}}, CPUs: hosttune.CPUs{Mode: hosttune.CPUsAllButFirst}, FlowEntries: 3000},
		BlockDevices:          &hosttune.BlockDevices{ReadAheadKiB: new(int32(8)), Schedulers: []string{"mq-deadline"}},
	}
	changed := full
	changed.Sysctls = []hosttune.Sysctl{{Name: "vm.swappiness", Value: "10"}, {Name: "vm.dirty_background_ratio", Value: "3"}, {Name: "net.core.somaxconn", Value: "8192"}}
	changed.Scheduler, changed.BlockDevices = nil, nil
	other := hosttune.Settings{
		Owner:                younger,
		Sysctls:              []hosttune.Sysctl{{Name: "vm.swappiness", Value: "5"}, {Name: "vm.zone_reclaim_mode", Value: "1"}, {Name: "vm.dirty_background_bytes", Value: "33554432"}},
		TransparentHugePages: &hosttune.TransparentHugePages{Mode: hosttune.HugePagesNever},
	}
	apply := func(settings hosttune.Settings, place Place) func(*fakeHost) hosttune.Report {
		return func(host *fakeHost) hosttune.Report { return host.Apply(background(), settings, place) }
	}
	restore := func(release Release) func(*fakeHost) hosttune.Report {
		return func(host *fakeHost) hosttune.Report { return host.Restore(background(), release) }
	}
	return []step{
		{"a pod starts", apply(full, ownPod)},
		{"a running pod is brought the settings", apply(full, otherPod)},
		{"a second owner comes", apply(other, otherPod)},
		{"the settings change", apply(changed, otherPod)},
		{"one setting is given back by hand", restore(Release{Owner: elder.UID, Settings: []string{"vm.swappiness"}})},
		{"the first owner goes", restore(Release{Owner: elder.UID})},
		{"the second owner goes", restore(Release{Owner: younger.UID})},
	}
}

// moment is a node between two runs.
type moment struct {
	tree  map[string]string
	state string
}

func (f *fakeHost) moment(t *testing.T) moment {
	t.Helper()
	return moment{tree: f.kernel.tree(t), state: f.stateText(t)}
}

func newLivingHost(t *testing.T) *fakeHost {
	t.Helper()
	host := newFakeHost(t, 2)
	host.kernel.readOnly["proc/sys/net/core/rmem_max"] = true
	return host
}

// Wherever a run ends, at any write to the kernel or to the state file, the originals that are recorded
// are the true ones, and the next run ends where an undisturbed one does.
func TestKilledAtEveryWrite(t *testing.T) {
	steps := life()
	undisturbed := newLivingHost(t)
	original := undisturbed.kernel.tree(t)
	acts := make([]int, len(steps))
	moments := make([]moment, len(steps))
	for i, step := range steps {
		undisturbed.killAfter(-1)
		report := step.run(undisturbed)
		acts[i] = undisturbed.acted
		moments[i] = undisturbed.moment(t)
		if worst := report.Worst(); worst == hosttune.Refused {
			t.Fatalf("%s: %+v", step.name, report.Lines)
		}
	}
	if difference := cmp.Diff(original, canonical(original, moments[len(steps)-1].tree)); difference != "" {
		t.Fatalf("at the end the node is not as it was:\n%s", difference)
	}
	if total := slices.Max(acts); total < 15 {
		t.Fatalf("the longest run has %d acts; this test is about more", total)
	}

	for i, step := range steps {
		for kill := range acts[i] {
			t.Run(fmt.Sprintf("%s, killed at act %d", step.name, kill), func(t *testing.T) {
				host := newLivingHost(t)
				for _, before := range steps[:i] {
					before.run(host)
				}
				host.killAfter(kill)
				step.run(host)
				host.killAfter(-1)
				assertOriginals(t, host, original)
				step.run(host)
				now := host.moment(t)
				if difference := cmp.Diff(moments[i].state, now.state); difference != "" {
					t.Errorf("another state than undisturbed:\n%s", difference)
				}
				if difference := cmp.Diff(moments[i].tree, now.tree); difference != "" {
					t.Errorf("another node than undisturbed:\n%s", difference)
				}
			})
		}
	}
}

// killAfter ends a run before the act of that number: nothing happens any more, as nothing does for a
// process that was killed. A negative number lets it live.
func (f *fakeHost) killAfter(acts int) {
	f.acted = 0
	before := func(string) error {
		if acts >= 0 && f.acted >= acts {
			return errKilled
		}
		f.acted++
		return nil
	}
	f.kernel.before, f.store.before = before, before
}

// assertOriginals finds values of ours that are nowhere recorded with what was there before.
func assertOriginals(t *testing.T, host *fakeHost, original map[string]string) {
	t.Helper()
	recorded := map[string]string{}
	for _, one := range host.state(t).Settings {
		recorded[one.Path], recorded[one.Instead] = one.Original, one.Original
	}
	now := canonical(original, host.kernel.tree(t))
	for path, was := range original {
		if now[path] == was {
			continue
		}
		// A device is listed under its link, a namespace under its name in the fake tree.
		found := false
		for at, value := range recorded {
			found = found || isSameFile(path, at) && (value == was || value == "vm.dirty_background_bytes=67108864" || chosen(was) == value || hosttune.SameValue(value, maskOf(was)))
		}
		if !found {
			t.Errorf("%s was %q, is %q, and that is recorded nowhere: %v", path, was, now[path], slices.Sorted(maps.Keys(recorded)))
		}
	}
}

func maskOf(value string) string {
	if set, err := hosttune.ParseMask(value); err == nil {
		return set.String()
	}
	return value
}

func isSameFile(inTree, recorded string) bool {
	const device, link = "sys/devices/pci0/", "sys/block/"
	return inTree == recorded || len(inTree) > len(device) && inTree[:len(device)] == device && link+inTree[len(device):] == recorded ||
		inTree == "networks/self/"+recorded || inTree == "networks/"+podProcess+"/"+recorded
}
