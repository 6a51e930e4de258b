// SPDX-License-Identifier: Apache-2.0

package node

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// bootID names the node's boot; the kernel's values begin anew with each.
func bootID(kernel Kernel) string {
	id, err := kernel.Read("proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return id
}

// onlineCPUs are the CPUs that may be told to do something. A node that does not say has one.
func onlineCPUs(kernel Kernel) hosttune.CPUSet {
	list, err := kernel.Read("sys/devices/system/cpu/online")
	if err == nil {
		if set, err := hosttune.ParseCPUList(list); err == nil {
			return set
		}
	}
	return hosttune.CPUSet{1}
}

// facts are what members of a shard should have in common.
func (r *resolution) facts() hosttune.Facts {
	facts := hosttune.Facts{Boot: bootID(r.kernel), CPUs: int32(r.cpus.Len())} //nolint:gosec // at most hosttune.MaxCPUs
	if release, err := r.kernel.Read("proc/sys/kernel/osrelease"); err == nil {
		facts.Kernel = release
	}
	if content, err := r.kernel.Read("proc/meminfo"); err == nil {
		facts.MemoryMiB = totalMemory(content)
	}
	if r.place.Data == "" {
		return facts
	}
	for _, pod := range r.pods {
		if mounted, err := mountOf(r.kernel, pod.process, r.place.Data); err == nil {
			facts.DataFilesystem = mounted.filesystem
			break
		}
	}
	return facts
}

func totalMemory(meminfo string) int64 {
	const kiBPerMiB = 1024
	for line := range strings.Lines(meminfo) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			fields := strings.Fields(rest)
			if len(fields) == 0 {
				return 0
			}
			kib, err := strconv.ParseInt(fields[0], 10, 64)
			if err != nil {
				return 0
			}
			return kib / kiBPerMiB
		}
	}
	return 0
}

// writers are daemons that write host settings by themselves, and would write theirs over ours.
var writers = []string{"tuned"}

// writersOf finds such daemons among the node's processes, by the name of the program or of the script
// that an interpreter runs.
func writersOf(kernel Kernel) []string {
	names, err := kernel.List("proc")
	if err != nil {
		return nil
	}
	var found []string
	for _, process := range names {
		if _, err := strconv.Atoi(process); err != nil {
			continue
		}
		program, err := kernel.Read("proc/" + process + "/comm")
		if err != nil {
			continue
		}
		if slices.Contains(writers, program) {
			found = append(found, program)
		} else if strings.HasPrefix(program, "python") || strings.HasPrefix(program, "platform-python") {
			found = append(found, scriptAmong(kernel, process)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func scriptAmong(kernel Kernel, process string) []string {
	line, err := kernel.Read("proc/" + process + "/cmdline")
	if err != nil {
		return nil
	}
	for argument := range strings.SplitSeq(line, "\x00") {
		if name := path.Base(argument); strings.HasPrefix(argument, "/") && slices.Contains(writers, name) {
			return []string{name}
		}
	}
	return nil
}
