// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/test/builders"
)

// BenchmarkCompute makes the status of nine members that are as they were: what every look costs.
func BenchmarkCompute(b *testing.B) {
	facts := facts(builders.ShardedCluster().Shards(2).Members(3).InForce())
	before := status.Compute(builders.ShardedCluster().Object().Status, facts)
	b.ReportAllocs()
	for b.Loop() {
		status.Compute(before, facts)
	}
}
