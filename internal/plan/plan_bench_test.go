// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/test/builders"
)

// theDemo is a cluster of two shards and config servers with three members each, all of it in force.
func theDemo() *builders.Cluster { return builders.ShardedCluster().Shards(2).Members(3) }

// BenchmarkNext chooses the next action for nine members with nothing to do: what every look costs.
func BenchmarkNext(b *testing.B) {
	snapshot := theDemo().InForce()
	b.ReportAllocs()
	for b.Loop() {
		if action := plan.Next(snapshot.Cluster); action.Kind != plan.Nothing {
			b.Fatal(action.Message)
		}
	}
}

// BenchmarkNextToSet chooses the same when the last member has something to set: every gate before it
// is looked at.
func BenchmarkNextToSet(b *testing.B) {
	snapshot := theDemo().InForce().Where("demo-shard-1-2", builders.NeedsSetting)
	b.ReportAllocs()
	for b.Loop() {
		if action := plan.Next(snapshot.Cluster); action.Kind != plan.SetParameters {
			b.Fatal(action.Message)
		}
	}
}

// BenchmarkJudge puts what was seen of nine members beside what is wanted, and judges every knob.
func BenchmarkJudge(b *testing.B) {
	running := theDemo().Running()
	b.ReportAllocs()
	for b.Loop() {
		running.Judged()
	}
}
