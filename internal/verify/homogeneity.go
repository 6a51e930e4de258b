// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// How far nodes may differ when nobody says.
const (
	// defaultMemoryPercent lets machines of one order differ by what their firmware keeps.
	defaultMemoryPercent = 10
	// defaultThroughputPercent lets two measurements of the same kind of disk differ. OPPO's primaries had
	// disks several times as fast as their secondaries.
	defaultThroughputPercent = 30
	// mostWarnings is what status keeps.
	mostWarnings = 64
)

// ShardNodes are the nodes of the members of one replica set.
type ShardNodes struct {
	ReplicaSet string
	Nodes      []v1alpha1.HostNodeStatus
}

// Homogeneity says how the nodes of each replica set differ from the first of them. A secondary on a
// slower machine falls behind, its primary keeps history for it, and the dirty share grows on both. What
// is not known of a node is not compared.
func Homogeneity(sets []ShardNodes, spec *v1alpha1.HomogeneitySpec) []string {
	memory, throughput := int64(defaultMemoryPercent), int64(defaultThroughputPercent)
	if spec != nil && spec.MemoryPercent != nil {
		memory = int64(*spec.MemoryPercent)
	}
	if spec != nil && spec.WriteThroughputPercent != nil {
		throughput = int64(*spec.WriteThroughputPercent)
	}
	var warnings []string
	for _, set := range sets {
		for i := 1; i < len(set.Nodes); i++ {
			a, b := set.Nodes[0], set.Nodes[i]
			tell := func(what string, of, other any, limit string) {
				warnings = append(warnings, Shorten(fmt.Sprintf("%s: %s is %v on node %s and %v on node %s%s", set.ReplicaSet, what, of, a.Name, other, b.Name, limit), longestDetail))
			}
			if a.Facts.Kernel != b.Facts.Kernel && a.Facts.Kernel != "" && b.Facts.Kernel != "" {
				tell("the kernel", a.Facts.Kernel, b.Facts.Kernel, "")
			}
			if a.Facts.CPUs != b.Facts.CPUs && a.Facts.CPUs != 0 && b.Facts.CPUs != 0 {
				tell("the number of CPUs", a.Facts.CPUs, b.Facts.CPUs, "")
			}
			if differBy(a.Facts.MemoryMiB, b.Facts.MemoryMiB) > memory {
				tell("the memory", fmt.Sprintf("%d MiB", a.Facts.MemoryMiB), fmt.Sprintf("%d MiB", b.Facts.MemoryMiB), fmt.Sprintf(", the limit is %d %%", memory))
			}
			if differBy(a.Facts.WriteMiBPerSecond, b.Facts.WriteMiBPerSecond) > throughput {
				tell("the write throughput", fmt.Sprintf("%d MiB/s", a.Facts.WriteMiBPerSecond), fmt.Sprintf("%d MiB/s", b.Facts.WriteMiBPerSecond),
					fmt.Sprintf(", the limit is %d %%", throughput))
			}
		}
	}
	return warnings[:min(len(warnings), mostWarnings)]
}

// differBy is by how many percent of the larger two figures differ; 0 when one is not known.
func differBy(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return 100 * (max(a, b) - min(a, b)) / max(a, b)
}
