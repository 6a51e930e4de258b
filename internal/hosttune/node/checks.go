// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// leastLimit is how many open files and processes MongoDB wants for a server (MongoDB manual,
// "UNIX ulimit Settings"): a connection takes a thread and a file.
const leastLimit = 64000

// checks look at what cannot be set here, and change nothing.
func (r *resolution) checks() []hosttune.Line {
	wanted := r.settings.Checks
	if wanted == nil {
		return nil
	}
	var lines []hosttune.Line
	if wanted.Kernel {
		lines = append(lines, r.checkRelease(), r.checkClock(), r.checkNUMA())
	}
	for _, pod := range r.pods {
		if wanted.Data && r.place.Data != "" {
			lines = append(lines, r.checkMount(pod)...)
		}
		if wanted.MinFreePercent > 0 && r.place.Data != "" {
			lines = append(lines, r.checkSpace(pod))
		}
		if wanted.Limits {
			lines = append(lines, r.checkLimits(pod)...)
		}
	}
	return lines
}

// checked is a line about something that is looked at: true is Checked, anything else a Warning.
func checked(setting string, scope hosttune.Scope, found, wanted, problem string) hosttune.Line {
	line := hosttune.Line{Setting: setting, Scope: scope, Found: found, Wanted: wanted, Result: hosttune.Checked, Reason: problem}
	if problem != "" {
		line.Result = hosttune.Warning
	} else {
		line.Wanted = found
	}
	return line
}

func unreadable(setting string, scope hosttune.Scope, err error) hosttune.Line {
	return hosttune.Line{Setting: setting, Scope: scope, Result: hosttune.Unreadable, Errno: errnoOf(err), Reason: err.Error()}
}

func (r *resolution) checkRelease() hosttune.Line {
	const setting = "kernel release"
	release, err := r.kernel.Read("proc/sys/kernel/osrelease")
	if err != nil {
		return unreadable(setting, hosttune.ScopeNode, err)
	}
	return checked(setting, hosttune.ScopeNode, release, "", hosttune.ReleaseProblem(release))
}

// slowClocks are read through a device, which a server does for each operation.
var slowClocks = []string{"hpet", "acpi_pm", "jiffies", "pit"}

func (r *resolution) checkClock() hosttune.Line {
	const setting = "clock source"
	const directory = "sys/devices/system/clocksource/clocksource0/"
	clock, err := r.kernel.Read(directory + "current_clocksource")
	if err != nil {
		return unreadable(setting, hosttune.ScopeNode, err)
	}
	available, _ := r.kernel.Read(directory + "available_clocksource") // only named in the sentence
	problem := ""
	if slices.Contains(slowClocks, clock) {
		problem = "reading this clock is slow, and a server reads it for each operation; the node has " + available
	}
	return checked(setting, hosttune.ScopeNode, clock, "tsc", problem)
}

func (r *resolution) checkNUMA() hosttune.Line {
	const setting = "NUMA nodes"
	names, err := r.kernel.List("sys/devices/system/node")
	if err != nil && !isMissing(err) {
		return unreadable(setting, hosttune.ScopeNode, err)
	}
	count := 0
	for _, name := range names {
		if _, err := strconv.Atoi(strings.TrimPrefix(name, "node")); err == nil && strings.HasPrefix(name, "node") {
			count++
		}
	}
	problem := ""
	if count > 1 {
		problem = "a cache that lies on one NUMA node is slow from the others: set vm.zone_reclaim_mode 0, and keep servers on one node or interleave"
	}
	return checked(setting, hosttune.ScopeNode, strconv.Itoa(max(count, 1)), "1", problem)
}

func (r *resolution) checkMount(of pod) []hosttune.Line {
	mounted, err := mountOf(r.kernel, of.process, r.place.Data)
	if err != nil {
		return []hosttune.Line{on(of, unreadable("noatime", hosttune.ScopeProcess, err))}
	}
	atime := "atime"
	for _, option := range []string{"relatime", "noatime"} {
		if slices.Contains(mounted.options, option) {
			atime = option
		}
	}
	noAtime, filesystem := "", ""
	if atime != "noatime" {
		noAtime = "reads write to the data volume; set noatime in the mountOptions of its StorageClass"
	}
	if mounted.filesystem != "xfs" {
		filesystem = "XFS is advised for WiredTiger; others stall at checkpoints"
	}
	return []hosttune.Line{
		on(of, checked("noatime", hosttune.ScopeProcess, atime, "noatime", noAtime)),
		on(of, checked("filesystem", hosttune.ScopeProcess, mounted.filesystem, "xfs", filesystem)),
	}
}

// on names the pod of a line unless it is the one that reports.
func on(of pod, line hosttune.Line) hosttune.Line {
	if of.process != ownProcess {
		line.On = of.Name
	}
	return line
}

func (r *resolution) dataPath(of pod) string { return "proc/" + of.process + "/root" + r.place.Data }

func (r *resolution) checkSpace(of pod) hosttune.Line {
	const setting, whole = "free space", 100
	total, free, err := r.kernel.Space(r.dataPath(of))
	if err != nil || total == 0 {
		return on(of, unreadable(setting, hosttune.ScopeProcess, fmt.Errorf("size of the data volume: %w", err)))
	}
	percent, problem := free*whole/total, ""
	if percent < uint64(r.settings.Checks.MinFreePercent) { //nolint:gosec // 0..100
		problem = fmt.Sprintf("%d MiB of %d MiB are free", free>>20, total>>20)
	}
	return on(of, checked(setting, hosttune.ScopeProcess, fmt.Sprintf("%d%%", percent), fmt.Sprintf("%d%%", r.settings.Checks.MinFreePercent), problem))
}

// checkLimits looks at the limits of the server, or before it runs at the hard limits that it will raise
// its soft ones to: the container runtime gives all containers of a pod the same.
func (r *resolution) checkLimits(of pod) []hosttune.Line {
	process, column := of.server, softLimit
	if process == "" {
		process, column = of.process, hardLimit
	}
	content, err := r.kernel.Read("proc/" + process + "/limits")
	var lines []hosttune.Line
	for _, one := range []struct{ setting, label string }{{"open files", "Max open files"}, {"processes", "Max processes"}} {
		if err != nil {
			lines = append(lines, on(of, unreadable(one.setting, hosttune.ScopeProcess, err)))
			continue
		}
		found := limit(content, one.label, column)
		problem := ""
		if number, err := strconv.ParseUint(found, 10, 64); err == nil && number < leastLimit {
			problem = fmt.Sprintf("too few for %d connections; raise it in the container runtime's unit or configuration", leastLimit)
		} else if err != nil && found != "unlimited" {
			problem = "the limit is not told"
		}
		lines = append(lines, on(of, checked(one.setting, hosttune.ScopeProcess, found, strconv.Itoa(leastLimit), problem)))
	}
	return lines
}

// limitColumn is a column of /proc/PID/limits after the label.
type limitColumn int

const (
	softLimit limitColumn = 0
	hardLimit limitColumn = 1
)

func limit(content, label string, column limitColumn) string {
	for line := range strings.Lines(content) {
		if rest, ok := strings.CutPrefix(line, label); ok {
			if fields := strings.Fields(rest); len(fields) > int(column) {
				return fields[column]
			}
		}
	}
	return ""
}
