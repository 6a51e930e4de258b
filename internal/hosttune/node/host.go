// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// Host is a node that can be tuned.
type Host struct {
	Kernel Kernel
	Store  Store
	Prober Prober
}

// settingState is what lines about the state directory are named.
const settingState = "state directory"

// Apply makes the node as one owner declares it: it sets what is declared, gives back what this owner
// declared before and does not any more, and looks at what is to be checked. With settings that are
// wrong in themselves, or a state directory that cannot be written, it changes nothing at all.
func (h Host) Apply(ctx context.Context, settings hosttune.Settings, place Place) hosttune.Report {
	if problems := settings.Problems(); len(problems) > 0 {
		return refusal(problems)
	}
	if err := present(h.Kernel); err != nil {
		return refusal([]hosttune.Problem{{Setting: "host paths", Err: err}})
	}
	resolved := resolve(h.Kernel, settings, place)
	run := &run{host: h, resolved: resolved, owner: settings.Owner, report: hosttune.Report{Facts: resolved.facts()}}
	run.report.Lines = slices.Concat(resolved.lines, resolved.checks(), resolved.writerLines())
	if settings.Checks != nil && settings.Checks.WriteProbe != nil && place.Own != nil && place.Data != "" {
		line, device, speed := h.writeProbe(resolved)
		run.report.Lines = append(run.report.Lines, line)
		run.probed, run.speed = device, speed
	}
	run.work(ctx)
	return run.finish()
}

// Release is what an owner gives back.
type Release struct {
	// Owner is the UID of the owner; Everyone is for a node that nobody tunes any more.
	Owner string
	// Settings are names of settings; none are all.
	Settings []string
}

// Everyone as a Release's owner gives back what all owners set.
const Everyone = "everyone"

// Restore gives back what an owner set: the value found first, or what another owner still wants.
func (h Host) Restore(ctx context.Context, release Release) hosttune.Report {
	if release.Owner == "" {
		return refusal([]hosttune.Problem{{Setting: "owner", Err: errors.New("no owner is given")}})
	}
	if err := present(h.Kernel); err != nil {
		return refusal([]hosttune.Problem{{Setting: "host paths", Err: err}})
	}
	resolved := resolve(h.Kernel, hosttune.Settings{}, Place{})
	run := &run{host: h, resolved: resolved, release: &release, report: hosttune.Report{Facts: resolved.facts()}}
	run.work(ctx)
	return run.finish()
}

// present says whether the node is to be seen at all. Without its /proc and /sys every setting would look
// like one that this kernel does not have.
func present(kernel Kernel) error {
	for _, directory := range []string{"proc/sys/kernel", "sys/kernel"} {
		if _, err := kernel.List(directory); err != nil {
			return fmt.Errorf("the node's /proc and /sys are not mounted where they are looked for: %w", err)
		}
	}
	return nil
}

// refusal is the report of a run that did nothing.
func refusal(problems []hosttune.Problem) hosttune.Report {
	var report hosttune.Report
	for _, problem := range problems {
		report.Lines = append(report.Lines, hosttune.Line{
			Setting: problem.Setting, Scope: hosttune.ScopeNode, Result: hosttune.Refused,
			Reason: problem.Err.Error() + "; nothing was changed",
		})
	}
	return report
}

func (r *resolution) writerLines() []hosttune.Line {
	if len(r.wishes) == 0 {
		return nil
	}
	var lines []hosttune.Line
	for _, writer := range writersOf(r.kernel) {
		lines = append(lines, hosttune.Line{
			Setting: writer, Scope: hosttune.ScopeNode, Found: "running", Result: hosttune.Warning,
			Reason: "a daemon of the node that writes host settings by itself: take these out of its profile, or stop it",
		})
	}
	return lines
}

// run is one pass over the node under its lock.
type run struct {
	host     Host
	resolved *resolution
	owner    hosttune.Owner
	release  *Release
	report   hosttune.Report

	state *state
	// processes lead into the network namespaces of pods, by UID.
	processes map[string]string
	// touched are the settings of this run, by key: what this owner wants, or wanted until now.
	touched map[string]*touch
	probed  string
	speed   int64
}

// touch is what happens to one setting in a run.
type touch struct {
	// wish is nil when the owner does not want the setting any more.
	wish  *wish
	entry *entry
	found string
	// err is why the value could not be read.
	err     error
	settled hosttune.Settled
	writes  bool
	// isOthers says that this run only ends what a run of another owner began: it is not reported.
	isOthers bool
}

// work does everything that needs the lock: record, then write, then record what is done with.
func (r *run) work(ctx context.Context) {
	release, err := r.host.Store.Lock(ctx)
	if err != nil {
		r.refuseAll(err)
		return
	}
	defer release()
	content, err := r.host.Store.Load()
	if err == nil {
		r.state, err = parseState(content)
	}
	if err != nil {
		r.refuseAll(err)
		return
	}
	before := string(content)
	r.startBoot()
	r.findPods()
	r.touch()
	r.settle()
	if before == "" && len(r.state.Settings) == 0 && len(r.state.Probes) == 0 {
		r.write() // tells of what could not be read; there is nothing to record or to change
		return
	}
	// Nothing may be written to the kernel before what was found there is safe: a crash between the two
	// would leave our values as the originals. It is written again when only a drift is corrected, so
	// that a directory that cannot be written any more is noticed before the kernel is.
	if encoded, err := r.state.encode(); err != nil || (string(encoded) != before || r.isAnythingWritten()) && r.save(encoded) != nil {
		return
	}
	r.write()
	r.forget()
	if encoded, err := r.state.encode(); err == nil {
		if err := r.saveIfChanged(encoded); err != nil {
			r.tellState(hosttune.Warning, err, "what was given back is recorded as if it were not; the next run puts that right")
		}
	}
}

func (r *run) isAnythingWritten() bool {
	for _, one := range r.touched {
		if one.writes {
			return true
		}
	}
	return false
}

func (r *run) save(encoded []byte) error {
	err := r.host.Store.Save(encoded)
	if err != nil {
		r.refuseAll(err)
	}
	return err
}

func (r *run) saveIfChanged(encoded []byte) error {
	current, err := r.host.Store.Load()
	if err == nil && string(current) == string(encoded) {
		return nil
	}
	return r.host.Store.Save(encoded)
}

// refuseAll is for a node whose state cannot be read or kept.
func (r *run) refuseAll(err error) {
	r.tellState(hosttune.Refused, err, "nothing was written to the host")
	for _, one := range r.resolved.wishes {
		line := one.line()
		line.Wanted, line.Result, line.Reason = one.declared, hosttune.Refused, "not tried"
		r.report.Lines = append(r.report.Lines, line)
	}
	r.touched = nil
}

func (r *run) tellState(result hosttune.Result, err error, consequence string) {
	r.report.Lines = append(r.report.Lines, hosttune.Line{
		Setting: settingState, Scope: hosttune.ScopeNode, Result: result, Errno: errnoOf(err), Reason: fmt.Sprintf("%v; %s", err, consequence),
	})
}

// startBoot notes a reboot. The kernel then has the host's own values again: nothing of ours is in
// force, and what belonged to pods is gone. A value that is neither the recorded original nor ours is
// what the host has been given since, in /etc/sysctl.d say: it becomes the original, or giving back
// would undo that.
func (r *run) startBoot() {
	boot := r.report.Facts.Boot
	rebooted := r.state.Boot != "" && boot != "" && r.state.Boot != boot
	r.state.Boot = boot
	if r.probed != "" {
		r.state.Probes[r.probed] = r.speed
	}
	if !rebooted {
		return
	}
	for key, one := range r.state.Settings {
		if one.Pod != "" {
			delete(r.state.Settings, key)
			continue
		}
		found, err := r.read(one.target, "")
		if err != nil || one.Written != "" && hosttune.SameValue(found, one.Written) {
			continue
		}
		one.Original, one.Written, one.Pending = found, "", false
	}
}

// findPods finds the processes of the pods that the state or the run has settings of, and forgets the
// settings of pods that have ended: the kernel has.
func (r *run) findPods() {
	r.processes = map[string]string{}
	for _, pod := range r.resolved.pods {
		r.processes[pod.UID] = pod.process
	}
	var unknown []string
	for _, one := range r.state.Settings {
		if _, known := r.processes[one.Pod]; one.Pod != "" && !known && !slices.Contains(unknown, one.Pod) {
			unknown = append(unknown, one.Pod)
		}
	}
	if len(unknown) == 0 {
		return
	}
	for uid, processes := range podProcesses(r.host.Kernel, unknown) {
		r.processes[uid] = processes[0]
	}
	for key, one := range r.state.Settings {
		if _, alive := r.processes[one.Pod]; one.Pod != "" && !alive {
			delete(r.state.Settings, key)
		}
	}
}

// read reads a setting where it is: in the node's network namespace, in that of a pod, or anywhere.
func (r *run) read(of target, process string) (value string, err error) {
	err = r.inNetwork(of, process, func() error {
		value, err = of.read(r.host.Kernel)
		return err
	})
	return value, err
}

func (r *run) inNetwork(of target, process string, do func() error) error {
	switch of.Network {
	case networkNode:
		process = r.resolved.node
	case networkPod:
		process = cmp.Or(process, r.processes[of.Pod])
	case networkAny:
		process = ""
	}
	return inNetwork(r.host.Kernel, process, do)
}

// finish merges the lines of an interface's queues and puts the worst first.
func (r *run) finish() hosttune.Report {
	r.report.Lines = merge(r.report.Lines)
	if r.report.Facts.WriteMiBPerSecond == 0 && r.state != nil {
		r.report.Facts.WriteMiBPerSecond = r.lastProbe()
	}
	return r.report
}

func (r *run) lastProbe() int64 {
	for _, pod := range r.resolved.pods {
		mounted, err := mountOf(r.host.Kernel, pod.process, r.resolved.place.Data)
		if err == nil && r.resolved.place.Data != "" && r.state.Probes[mounted.device] > 0 {
			return r.state.Probes[mounted.device]
		}
	}
	return 0
}
