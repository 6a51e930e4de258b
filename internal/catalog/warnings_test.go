// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

func warningsOf(component v1alpha1.Component, settings Settings, limits ContainerLimits) []string {
	var texts []string
	for _, warning := range Warnings(component, v44, settings, limits) {
		texts = append(texts, warning.String())
	}
	return texts
}

func TestWarnings(t *testing.T) {
	tests := []struct {
		name     string
		settings Settings
		want     []string
	}{
		{"nothing declared is not mentioned", Settings{}, nil},

		{"a budget that just holds is not mentioned", Settings{CacheSizeGB: "4", MaxIncomingConnections: "1024"}, nil},
		{"a budget that is one connection over is", Settings{CacheSizeGB: "4", MaxIncomingConnections: "4096", CheckpointLogSize: "0"}, []string{"maxIncomingConnections: 4096 connections of up to 1 MiB, the cache of 4 GB and a reserve of 10 % make 8.80 GB, the memory limit is 8.00 GB: the container may be killed when all of them are used"}},
		{"a value without effect is mentioned", Settings{CheckpointLogSize: "1"}, []string{"checkpoint.logSizeGB: 1 is declared: MongoDB since 3.6 drives checkpoints by time only (SERVER-29210): the value is not applied; checkpoint.waitSeconds is what counts"}},
		{"a value for new collections only is mentioned", Settings{BlockCompressor: "zstd"}, []string{"blockCompressor: zstd is declared: it holds for collections made from now on; those that exist keep theirs"}},

		{"a cache of 60 % of the memory limit is not mentioned", Settings{CacheSizeGB: "4.8"}, nil},
		{"a cache one MiB above 60 % is", Settings{CacheSizeGB: "4.80078125"}, []string{"cacheSizeGB: 4.80078125 GB is more than 60 % of the memory limit, which is 4.80 GB: connections, sorts and the file system cache have to share the rest; declare a smaller cache or raise the memory limit"}},

		{"checkpoints every 10 s are not mentioned", Settings{CheckpointWait: "10"}, nil},
		{"checkpoints every 9 s are", Settings{CheckpointWait: "9"}, []string{"checkpoint.waitSeconds: 9 is less than 10 s: checkpoints follow one another and write the same pages again and again; declare 10 or more"}},

		{"majority read concern on is not mentioned", Settings{EnableMajorityReadConcern: "true"}, nil},
		{"majority read concern off is", Settings{EnableMajorityReadConcern: "false"}, []string{"enableMajorityReadConcern: false takes away read concern majority, transactions across shards and flow control, so nothing slows writes down for a secondary that falls behind: declare it only when no application needs these, and watch replication lag"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := warningsOf(v1alpha1.ComponentShardMember, test.settings, ContainerLimits{MemoryBytes: 8 * gib})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsOfEvictionThreads(t *testing.T) {
	const cost = ": past the number of CPUs more threads did not help, and they take CPU time from clients; "
	tests := []struct {
		name      string
		most      Value
		milliCPUs int64
		want      []string
	}{
		{"as many threads as CPUs are not mentioned", "8", 8000, nil},
		{"one thread more is", "9", 8000, []string{"eviction.threadsMax: 9 is more than the CPU limit, which is 8" + cost + "declare at most 8 or raise the CPU limit"}},
		{"a part of a CPU does not carry a whole thread", "3", 2500, []string{"eviction.threadsMax: 3 is more than the CPU limit, which is 2.5" + cost + "declare at most 2 or raise the CPU limit"}},
		{"a single thread, the least there is, is not mentioned", "1", 500, nil},
		{"two threads on half a CPU are", "2", 500, []string{"eviction.threadsMax: 2 is more than the CPU limit, which is 0.5" + cost + "declare at most 1 or raise the CPU limit"}},
		{"without a CPU limit nothing is mentioned", "20", 0, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings := Settings{EvictionThreadsMin: "1", EvictionThreadsMax: test.most}
			got := warningsOf(v1alpha1.ComponentShardMember, settings, ContainerLimits{MilliCPUs: test.milliCPUs})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	if got := warningsOf(v1alpha1.ComponentShardMember, Settings{}, ContainerLimits{MilliCPUs: 500}); got != nil {
		t.Errorf("the server's own 4 threads are mentioned: %v", got)
	}
}

// TestWarningsOfTheFlush has the figures of OPPO's report: a flush of 24 GB gave time-outs of 5 s that
// one of 12.5 GB cured.
func TestWarningsOfTheFlush(t *testing.T) {
	const advice = "lower it or the cache, unless the disk is known to write faster"
	tests := []struct {
		name      string
		component v1alpha1.Component
		settings  Settings
		memory    int64
		want      []string
	}{
		{"the cure is not mentioned", v1alpha1.ComponentShardMember, Settings{CacheSizeGB: "50", EvictionDirtyTrigger: "25"}, 190 * gib, nil},
		{"one percent more is", v1alpha1.ComponentShardMember, Settings{CacheSizeGB: "50", EvictionDirtyTrigger: "26"}, 190 * gib, []string{
			"eviction.dirtyTriggerPercent: 26 % of the cache of 50.00 GB is 13.00 GB, more than 12.50 GB, which one checkpoint may have to write at once: a disk that writes 0.5 GB/s is busy for 26 s; " + advice,
		}},
		{"the illness is, with the default of the server", v1alpha1.ComponentShardMember, Settings{CacheSizeGB: "110"}, 190 * gib, []string{
			"eviction.dirtyTriggerPercent: 20 % of the cache of 110.00 GB is 22.00 GB, more than 12.50 GB, which one checkpoint may have to write at once: a disk that writes 0.5 GB/s is busy for 44 s; " + advice,
		}},
		{"it is without a memory limit too", v1alpha1.ComponentShardMember, Settings{CacheSizeGB: "120"}, 0, []string{
			"eviction.dirtyTriggerPercent: 20 % of the cache of 120.00 GB is 24.00 GB, more than 12.50 GB, which one checkpoint may have to write at once: a disk that writes 0.5 GB/s is busy for 48 s; " + advice,
		}},
		{"the default cache with the default trigger is not mentioned", v1alpha1.ComponentShardMember, Settings{CacheSizeGB: "94.5"}, 190 * gib, nil},
		{"the default cache with a declared trigger is", v1alpha1.ComponentShardMember, Settings{CacheSizeGB: "94.5", EvictionDirtyTrigger: "20"}, 190 * gib, []string{
			"eviction.dirtyTriggerPercent: 20 % of the cache of 94.50 GB is 18.90 GB, more than 12.50 GB, which one checkpoint may have to write at once: a disk that writes 0.5 GB/s is busy for 38 s; " + advice,
		}},
		{"a small cache is free to be dirty", v1alpha1.ComponentShardMember, Settings{CacheSizeGB: "13", EvictionDirtyTrigger: "95"}, 190 * gib, nil},
		{"config servers, which do not have the knob, are not mentioned", v1alpha1.ComponentConfigServer, Settings{CacheSizeGB: "110"}, 190 * gib, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, warningsOf(test.component, test.settings, ContainerLimits{MemoryBytes: test.memory})); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
