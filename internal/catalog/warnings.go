// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

const (
	// largeFlushBytes is the most that OPPO's report let one checkpoint write after its cure, 25 % of
	// 50 GB. Its illness was 20 % of 110 to 120 GB.
	largeFlushBytes = 12.5 * gibibyte

	// slowDiskBytesPerSecond is what the disks of that report wrote.
	slowDiskBytesPerSecond = 0.5 * gibibyte

	// shortestCalmWaitSeconds is the least time between checkpoints in which they do not follow one another.
	shortestCalmWaitSeconds = 10
)

// ContainerLimits are what the container of a process may use at most; 0 stands for no limit.
type ContainerLimits struct {
	// MemoryBytes of the memory limit.
	MemoryBytes int64
	// MilliCPUs are thousandths of a CPU.
	MilliCPUs int64
}

// warning judges settings that can be declared.
type warning func(Line, Settings, ContainerLimits) (Problem, bool)

var warnings = []warning{
	largeCache,
	memoryBudget,
	largeFlush,
	manyEvictionThreads,
	frequentCheckpoints,
	lostMajorityReads,
}

// Warnings are what to know about settings that can be declared: values without effect, budgets that may
// not hold, and values whose price is known. The cache size must be resolved already.
func Warnings(component v1alpha1.Component, line Line, settings Settings, limits ContainerLimits) []Problem {
	var found []Problem
	for _, knob := range KnobsOn(component, line) {
		value, declared := settings[knob.Name]
		if declared && knob.Note != "" && value != knob.Inert {
			found = append(found, Problem{Knob: knob.Name, Value: value, Allowed: "is declared: " + knob.Note})
		}
	}
	for _, judge := range warnings {
		problem, warned := judge(line, settings, limits)
		if knob, _ := Lookup(problem.Knob); warned && knob.AppliesTo(component) {
			found = append(found, problem)
		}
	}
	return found
}

// largeFlush warns of a cache that may gather more dirty bytes than the report's did after its cure. What a
// server does by itself under its memory limit is not warned of.
func largeFlush(line Line, settings Settings, limits ContainerLimits) (Problem, bool) {
	sizeGB, okCache := settings[CacheSizeGB].AsFloat()
	trigger, okTrigger := settings.inForce(line, EvictionDirtyTrigger)
	flush := trigger / 100 * sizeGB * gibibyte
	isDefault := !settings.Declares(EvictionDirtyTrigger) && limits.isDefaultCache(sizeGB)
	if !okCache || !okTrigger || isDefault || flush <= largeFlushBytes {
		return Problem{}, false
	}
	return Problem{
		Knob: EvictionDirtyTrigger, Value: Decimal(trigger),
		Allowed: fmt.Sprintf("%% of the cache of %.2f GB is %.2f GB, more than %.2f GB, which one checkpoint may have to write at once: a disk that writes %s GB/s is busy for %.0f s; lower it or the cache, unless the disk is known to write faster",
			sizeGB, flush/gibibyte, largeFlushBytes/gibibyte, Decimal(slowDiskBytesPerSecond/gibibyte), flush/slowDiskBytesPerSecond),
	}, true
}

// manyEvictionThreads warns of more eviction threads than CPUs. A single one is the least there is.
func manyEvictionThreads(_ Line, settings Settings, limits ContainerLimits) (Problem, bool) {
	threads, declared := settings[EvictionThreadsMax].AsInt()
	if !declared || limits.MilliCPUs == 0 || threads == 1 || threads*1000 <= limits.MilliCPUs {
		return Problem{}, false
	}
	return Problem{
		Knob: EvictionThreadsMax, Value: settings[EvictionThreadsMax],
		Allowed: fmt.Sprintf("is more than the CPU limit, which is %s: past the number of CPUs more threads did not help, and they take CPU time from clients; declare at most %d or raise the CPU limit",
			Decimal(float64(limits.MilliCPUs)/1000), max(1, limits.MilliCPUs/1000)),
	}, true
}

// frequentCheckpoints warns of checkpoints that follow one another.
func frequentCheckpoints(_ Line, settings Settings, _ ContainerLimits) (Problem, bool) {
	wait, declared := settings[CheckpointWait].AsInt()
	if !declared || wait >= shortestCalmWaitSeconds {
		return Problem{}, false
	}
	return Problem{
		Knob: CheckpointWait, Value: settings[CheckpointWait],
		Allowed: fmt.Sprintf("is less than %[1]d s: checkpoints follow one another and write the same pages again and again; declare %[1]d or more", shortestCalmWaitSeconds),
	}, true
}

// lostMajorityReads warns of what goes with majority read concern. Change streams do not: from 4.2 on they
// work without it.
func lostMajorityReads(_ Line, settings Settings, _ ContainerLimits) (Problem, bool) {
	if settings[EnableMajorityReadConcern] != "false" {
		return Problem{}, false
	}
	return Problem{
		Knob: EnableMajorityReadConcern, Value: settings[EnableMajorityReadConcern],
		Allowed: "takes away read concern majority, transactions across shards and flow control, so nothing slows writes down for a secondary that falls behind: declare it only when no application needs these, and watch replication lag",
	}, true
}
