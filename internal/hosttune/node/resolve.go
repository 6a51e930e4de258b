// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// wish is a value that the settings want of a target of this node.
type wish struct {
	target
	operator hosttune.Operator
	// declared is what the settings say, value what is to be set: a mask that was cut, say.
	declared, value string
	// process leads to the network namespace of a target of a pod.
	process string
	// note is told with the line.
	note string
}

// resolution is what the settings mean on this node. Nothing is changed to find it out.
type resolution struct {
	kernel   Kernel
	settings hosttune.Settings
	place    Place
	pods     []pod
	cpus     hosttune.CPUSet
	// node is a process in the node's network namespace.
	node string

	wishes []wish
	// lines are about settings that lead to no wish.
	lines []hosttune.Line
	// refused are the blocks that are not understood on this node; what was set for them stays.
	refused map[block]bool
}

// resolve finds out what the settings mean on this node.
func resolve(kernel Kernel, settings hosttune.Settings, place Place) *resolution {
	r := &resolution{kernel: kernel, settings: settings, place: place, pods: place.pods(kernel), refused: map[block]bool{}}
	r.cpus, r.node = onlineCPUs(kernel), findNodeNetwork(kernel)
	for _, sysctl := range settings.Sysctls {
		r.sysctl(sysctl)
	}
	if settings.TransparentHugePages != nil {
		r.hugePages(*settings.TransparentHugePages)
	}
	if settings.Scheduler != nil {
		r.scheduler(*settings.Scheduler)
	}
	if settings.ReceivePacketSteering != nil {
		r.steering(*settings.ReceivePacketSteering)
	}
	if settings.BlockDevices != nil {
		r.blockDevices(*settings.BlockDevices)
	}
	return r
}

func (r *resolution) want(one wish) {
	if one.value == "" {
		one.value = one.declared
	}
	r.wishes = append(r.wishes, one)
}

func (r *resolution) tell(about target, result hosttune.Result, wanted, reason string) {
	line := about.line()
	line.Result, line.Wanted, line.Reason = result, wanted, reason
	r.lines = append(r.lines, line)
}

// refuse leaves a whole block as it is: what was set for it before stays, and nothing of it is set.
func (r *resolution) refuse(about target, wanted string, err error) {
	line := about.line()
	line.Result, line.Wanted, line.Errno, line.Reason = hosttune.Refused, wanted, errnoOf(err), err.Error()
	r.lines = append(r.lines, line)
	r.refused[about.Block] = true
	r.wishes = slices.DeleteFunc(r.wishes, func(one wish) bool { return one.Block == about.Block })
}

// wantFile wants a value of a file if this kernel has it, and say so if not.
func (r *resolution) wantFile(one wish, otherwise string) {
	_, err := one.read(r.kernel)
	switch {
	case err == nil:
		r.want(one)
	case isMissing(err):
		r.tell(one.target, hosttune.Unsupported, one.declared, otherwise)
	default:
		r.unread(one, err)
	}
}

// unread is for a file that is there and may not be read, by the reader mostly. The wish stays: whoever
// acts will be told by the kernel.
func (r *resolution) unread(one wish, err error) {
	one.note = err.Error()
	r.want(one)
}

func (r *resolution) sysctl(sysctl hosttune.Sysctl) {
	one := wish{target: sysctlTarget(sysctl.Name), operator: sysctl.Operator, declared: sysctl.Value}
	if one.Form == formPair {
		one.value = sysctl.Name + "=" + sysctl.Value
	}
	if !isNetwork(sysctl.Name) {
		r.wantFile(one, "this kernel has no such sysctl")
		return
	}
	if len(r.pods) == 0 {
		if row, known := hosttune.FindSysctl(sysctl.Name); known && row.Scope == hosttune.ScopeNode {
			one.Network = networkNode
			r.wantNodeNetwork(one)
		}
		return
	}
	for i, pod := range r.pods {
		if r.wantPodNetwork(one, pod) {
			continue
		}
		if i == 0 { // the node's own: once is enough
			one.Network = networkNode
			r.wantNodeNetwork(one)
		}
	}
}

func isNetwork(name string) bool { return len(name) > 4 && name[:4] == "net." }

// wantPodNetwork wants a sysctl of a pod's network namespace, if the kernel has one there: what a
// namespace does not have, or has read-only, is the node's.
func (r *resolution) wantPodNetwork(one wish, of pod) bool {
	row, _ := hosttune.FindSysctl(one.Setting)
	if r.sharesNodeNetwork(of) {
		if row.Scope == hosttune.ScopeNode {
			return false
		}
		r.tell(one.target, hosttune.Refused, one.declared, "the pod is on the node's own network: this would be set for the whole node")
		return true
	}
	entered, writable := false, false
	err := inNetwork(r.kernel, of.process, func() error {
		var err error
		entered = true
		writable, err = r.kernel.IsWritable(one.Path)
		return err
	})
	if !entered && isMissing(err) {
		return row.Scope != hosttune.ScopeNode // the pod has ended; that says nothing about the node
	}
	if entered && (isMissing(err) || err == nil && !writable) {
		return false
	}
	one.Scope, one.Network, one.Pod, one.process = hosttune.ScopePod, networkPod, of.UID, of.process
	if of.process != ownProcess {
		one.On = of.Name
	}
	if err != nil {
		r.unread(one, err)
	} else {
		r.want(one)
	}
	return true
}

func (r *resolution) sharesNodeNetwork(of pod) bool {
	own, errOwn := r.kernel.Network(of.process)
	nodes, errNode := r.kernel.Network(r.node)
	return errOwn == nil && errNode == nil && own == nodes
}

func (r *resolution) wantNodeNetwork(one wish) {
	err := inNetwork(r.kernel, r.node, func() error {
		_, err := one.read(r.kernel)
		return err
	})
	switch {
	case err == nil:
		r.want(one)
	case isMissing(err):
		r.tell(one.target, hosttune.Unsupported, one.declared, "this kernel has no such sysctl")
	default:
		r.unread(one, err)
	}
}

// inNetwork runs do where a process of the node is; the own network needs no move, and so no right.
func inNetwork(kernel Kernel, process string, do func() error) error {
	if process == ownProcess || process == "" {
		return do()
	}
	return kernel.InNetwork(process, do)
}

func (r *resolution) hugePages(pages hosttune.TransparentHugePages) {
	const directory = "sys/kernel/mm/transparent_hugepage/"
	words, err := pages.Words(r.settings.ServerVersion)
	if err != nil { // Problems has refused it already
		r.refuse(target{Setting: "transparent_hugepage/enabled", Scope: hosttune.ScopeNode, Block: blockHugePages}, string(pages.Mode), err)
		return
	}
	for _, file := range []struct {
		name, word string
		form       form
	}{{"enabled", words.Enabled, formChoice}, {"defrag", words.Defrag, formChoice}, {"khugepaged/max_ptes_none", words.MaxPtesNone, formPlain}} {
		if file.word == "" {
			continue
		}
		one := wish{declared: file.word, target: target{
			Setting: "transparent_hugepage/" + file.name, Scope: hosttune.ScopeNode, Block: blockHugePages,
			Path: directory + file.name, Form: file.form,
		}}
		r.wantFile(one, "this kernel is built without transparent huge pages")
	}
	if words.OvercommitMemory == "" {
		return
	}
	for _, declared := range r.settings.Sysctls {
		if declared.Name == "vm.overcommit_memory" {
			return // said outright
		}
	}
	one := wish{target: sysctlTarget("vm.overcommit_memory"), declared: words.OvercommitMemory}
	one.Block = blockHugePages
	r.wantFile(one, "this kernel has no such sysctl")
}

// scheduler finds the file of the kernel's generation: a sysctl up to 5.12, debugfs from 5.13 on, and
// from 6.6 on, with the EEVDF scheduler, a slice in place of both granularities.
func (r *resolution) scheduler(scheduler hosttune.Scheduler) {
	const sysctls, debug = "proc/sys/kernel/sched_", debugDirectory + "/sched/"
	if scheduler.MinGranularityNanoseconds != 0 {
		r.granularity("min_granularity", fmt.Sprint(scheduler.MinGranularityNanoseconds), []wish{
			{target: target{Setting: "sched_min_granularity_ns", Path: sysctls + "min_granularity_ns"}},
			{target: target{Setting: "sched_min_granularity_ns", Path: debug + "min_granularity_ns"}},
			{
				target: target{Setting: "base_slice_ns", Path: debug + "base_slice_ns"},
				note:   "this kernel's scheduler has a slice where older ones have the least granularity",
			},
		})
	}
	if scheduler.WakeupGranularityNanoseconds != nil {
		r.granularity("wakeup_granularity", fmt.Sprint(*scheduler.WakeupGranularityNanoseconds), []wish{
			{target: target{Setting: "sched_wakeup_granularity_ns", Path: sysctls + "wakeup_granularity_ns"}},
			{target: target{Setting: "sched_wakeup_granularity_ns", Path: debug + "wakeup_granularity_ns"}},
		})
	}
}

func (r *resolution) granularity(name, value string, places []wish) {
	var hidden *wish
	var errHidden error
	for i := range places {
		one := &places[i]
		one.Scope, one.Block, one.declared = hosttune.ScopeNode, blockScheduler, value
		_, err := one.read(r.kernel)
		if err == nil {
			r.want(*one)
			return
		}
		if !isMissing(err) && hidden == nil {
			hidden, errHidden = one, err
		}
	}
	if hidden != nil {
		if errnoOf(errHidden) == "EPERM" {
			errHidden = fmt.Errorf("%w; a kernel in lockdown keeps debugfs shut", errHidden)
		}
		r.unread(*hidden, errHidden)
		return
	}
	about := target{Setting: "sched_" + name + "_ns", Scope: hosttune.ScopeNode, Block: blockScheduler}
	r.tell(about, hosttune.Unsupported, value, "this kernel has no such setting; its scheduler needs none")
}
