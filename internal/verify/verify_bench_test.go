// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"testing"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// nineMembers is the demo: two shards and the config servers, three members each.
const nineMembers = 9

// BenchmarkKnobs judges every knob of one member with nothing to find.
func BenchmarkKnobs(b *testing.B) {
	process := process44()
	settings := catalog.Settings{catalog.CacheSizeGB: "0.25", catalog.EvictionDirtyTrigger: "20", catalog.SlowOperationThreshold: "100"}
	b.ReportAllocs()
	for b.Loop() {
		Knobs(v1alpha1.ComponentShardMember, settings, true, process)
	}
}

// BenchmarkJudgeGauges measures every gauge of nine members and holds each to the built-in limits.
func BenchmarkJudgeGauges(b *testing.B) {
	var subjects []Subject
	for i := range nineMembers {
		subject := member(counters(minuteUp), before(defaultPeriod, counters(minuteUp-defaultPeriod)))
		subject.Member.Name = fmt.Sprintf("rs-%d", i)
		subjects = append(subjects, subject)
	}
	b.ReportAllocs()
	for b.Loop() {
		JudgeGauges(nil, subjects, nil, nil)
	}
}
