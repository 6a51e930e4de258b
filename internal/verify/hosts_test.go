// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/verify"
)

var hostNoon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func hostReport(minute int, revision string, lines ...hosttune.Line) observed.HostReport {
	return observed.HostReport{At: hostNoon.Add(time.Duration(minute) * time.Minute), Report: hosttune.Report{Revision: revision, Lines: lines}}
}

func line(result hosttune.Result, found string) hosttune.Line {
	return hosttune.Line{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: found, Wanted: "1", Result: result}
}

// told is how the one setting stands: result, found, and the count.
func told(status v1alpha1.HostNodeStatus) string {
	text := status.InForce
	for _, setting := range status.Settings {
		text += fmt.Sprintf(" %s=%s(%s)", setting.Name, setting.Result, setting.Found)
	}
	return text
}

func TestReportsAreLaidOverEachOther(t *testing.T) {
	for _, row := range []struct {
		name    string
		reports []observed.HostReport
		want    string
	}{
		{"nothing is known without a report", nil, ""},
		{"what was set is told with what was found", []observed.HostReport{hostReport(0, "a", line(hosttune.Applied, "60"))}, "1/1 vm.swappiness=Applied(60)"},
		{
			"a second run that finds nothing to do does not hide what the first has done",
			[]observed.HostReport{hostReport(1, "a", line(hosttune.AlreadySet, "1")), hostReport(0, "a", line(hosttune.Applied, "60"))},
			"1/1 vm.swappiness=Applied(60)",
		},
		{
			"reports of the same second are all taken",
			[]observed.HostReport{hostReport(0, "a", line(hosttune.Applied, "60")), hostReport(0, "a", hosttune.Line{Setting: "net.core.somaxconn", On: "pod", Result: hosttune.Refused})},
			"1/2 net.core.somaxconn on pod=Refused() vm.swappiness=Applied(60)",
		},
		{
			"other settings begin anew",
			[]observed.HostReport{hostReport(0, "a", line(hosttune.Refused, "60")), hostReport(1, "b", hosttune.Line{Setting: "vm.dirty_ratio", Result: hosttune.Applied})},
			"1/1 vm.dirty_ratio=Applied()",
		},
		{
			"a check that is as it should be is not told, and is not counted",
			[]observed.HostReport{hostReport(0, "a", line(hosttune.AlreadySet, "1"), hosttune.Line{Setting: "noatime", Result: hosttune.Checked}, hosttune.Line{Setting: "xfs", Result: hosttune.Warning})},
			"1/1 xfs=Warning() vm.swappiness=AlreadySet(1)",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			status := verify.HostReported(v1alpha1.HostNodeStatus{Name: "node"}, row.reports)
			if got := told(status); got != row.want {
				t.Errorf("told %q, wanted %q", got, row.want)
			}
			if again := verify.HostReported(*status.DeepCopy(), row.reports); cmp.Diff(status, again) != "" {
				t.Errorf("the same reports again change it:\n%s", cmp.Diff(status, again))
			}
		})
	}
}

func TestAnOlderReportIsNotTakenAgain(t *testing.T) {
	status := verify.HostReported(v1alpha1.HostNodeStatus{Name: "node"}, []observed.HostReport{hostReport(5, "b", line(hosttune.Applied, "60"))})
	again := verify.HostReported(*status.DeepCopy(), []observed.HostReport{hostReport(0, "a", line(hosttune.Refused, "60"))})
	if diff := cmp.Diff(status, again); diff != "" {
		t.Errorf("the report of a pod that started earlier was taken:\n%s", diff)
	}
}

func TestReadingsAreLaidOverReports(t *testing.T) {
	read := func(status v1alpha1.HostNodeStatus, lines ...hosttune.Line) v1alpha1.HostNodeStatus {
		return verify.HostRead(status, hosttune.Reading{Revision: "a", Lines: lines}, "pod")
	}
	applied := verify.HostReported(v1alpha1.HostNodeStatus{Name: "node"}, []observed.HostReport{hostReport(0, "a", line(hosttune.Applied, "60"))})
	differs := read(*applied.DeepCopy(), line(hosttune.Differs, "30"))
	if got := told(differs); got != "0/1 vm.swappiness=Differs(30)" {
		t.Errorf("a value that somebody changed: %s", got)
	}
	if got := told(read(*differs.DeepCopy(), line(hosttune.AlreadySet, "1"))); got != "1/1 vm.swappiness=AlreadySet(1)" {
		t.Errorf("a value that is back: %s", got)
	}
	refused := verify.HostReported(v1alpha1.HostNodeStatus{Name: "node"}, []observed.HostReport{hostReport(0, "a", line(hosttune.Refused, "60"))})
	if got := told(read(*refused.DeepCopy(), line(hosttune.Differs, "60"))); got != "0/1 vm.swappiness=Refused(60)" {
		t.Errorf("what was never set has not drifted: %s", got)
	}
	free := hosttune.Line{Setting: "free space", Result: hosttune.Warning, Reason: "9 % free"}
	warned := read(*applied.DeepCopy(), free)
	free.Reason = "8 % free"
	if diff := cmp.Diff(warned, read(*warned.DeepCopy(), free)); diff != "" {
		t.Errorf("a warning is written anew with every figure:\n%s", diff)
	}
	free.Result = hosttune.Checked
	if got := told(read(*warned.DeepCopy(), free)); got != told(applied) {
		t.Errorf("a warning that is over: %s", got)
	}
}

func TestTheOtherOwnerIsNamed(t *testing.T) {
	conflict := line(hosttune.Conflict, "10")
	conflict.Other = &hosttune.Owner{Namespace: "shop", Name: "orders"}
	status := verify.HostReported(v1alpha1.HostNodeStatus{Name: "node"}, []observed.HostReport{hostReport(0, "a", conflict)})
	if got := status.Settings[0].Detail; !strings.Contains(got, "shop/orders") {
		t.Errorf("the detail is %q", got)
	}
}

// TestStatusOfANodeStaysInItsBounds feeds a report with more and longer lines than the API takes.
func TestStatusOfANodeStaysInItsBounds(t *testing.T) {
	report := hostReport(0, "a")
	for i := range 500 {
		long := strings.Repeat("ü", 1000)
		report.Lines = append(report.Lines, hosttune.Line{
			Setting: fmt.Sprint(i, long), On: long, Found: long, Wanted: long, Set: long + "x", ReadBack: long + "y", Reason: long, Result: "SomethingNew",
		})
	}
	status := verify.HostReported(v1alpha1.HostNodeStatus{Name: "node"}, []observed.HostReport{report})
	if len(status.Settings) != 128 {
		t.Errorf("%d settings", len(status.Settings))
	}
	for _, setting := range status.Settings {
		if len(setting.Name) > 192 || len(setting.Found) > 256 || len(setting.Set) > 256 || len(setting.Detail) > 512 || setting.Result != v1alpha1.HostRefused {
			t.Fatalf("out of bounds: %+v", setting)
		}
	}
}

func TestHomogeneity(t *testing.T) {
	facts := v1alpha1.HostFacts{Kernel: "6.1.0", CPUs: 16, MemoryMiB: 64000, WriteMiBPerSecond: 2000}
	for _, row := range []struct {
		name   string
		change func(*v1alpha1.HostFacts)
		says   string
	}{
		{"alike nodes are no news", func(*v1alpha1.HostFacts) {}, ""},
		{"another kernel", func(f *v1alpha1.HostFacts) { f.Kernel = "5.10.0" }, "demo-shard-0: the kernel is 6.1.0 on node a and 5.10.0 on node b"},
		{"fewer CPUs", func(f *v1alpha1.HostFacts) { f.CPUs = 8 }, "the number of CPUs is 16 on node a and 8 on node b"},
		{"memory at the limit", func(f *v1alpha1.HostFacts) { f.MemoryMiB = 57600 }, ""},
		{"memory beyond it", func(f *v1alpha1.HostFacts) { f.MemoryMiB = 56960 }, "the memory is 64000 MiB on node a and 56960 MiB on node b, the limit is 10 %"},
		{"more memory beyond it", func(f *v1alpha1.HostFacts) { f.MemoryMiB = 80000 }, "the limit is 10 %"},
		{"a disk at the limit", func(f *v1alpha1.HostFacts) { f.WriteMiBPerSecond = 1400 }, ""},
		{"the disks of the report", func(f *v1alpha1.HostFacts) { f.WriteMiBPerSecond = 500 }, "the write throughput is 2000 MiB/s on node a and 500 MiB/s on node b, the limit is 30 %"},
		{"what is not known is not compared", func(f *v1alpha1.HostFacts) { *f = v1alpha1.HostFacts{} }, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			other := facts
			row.change(&other)
			warnings := verify.Homogeneity([]verify.ShardNodes{{ReplicaSet: "demo-shard-0", Nodes: []v1alpha1.HostNodeStatus{{Name: "a", Facts: facts}, {Name: "b", Facts: other}}}}, nil)
			if row.says == "" && len(warnings) > 0 || row.says != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], row.says)) {
				t.Errorf("warnings: %q", warnings)
			}
		})
	}
	limits := &v1alpha1.HomogeneitySpec{MemoryPercent: new(int32(50)), WriteThroughputPercent: new(int32(0))}
	nodes := []v1alpha1.HostNodeStatus{{Name: "a", Facts: facts}, {Name: "b", Facts: v1alpha1.HostFacts{MemoryMiB: 40000, WriteMiBPerSecond: 1900}}}
	if warnings := verify.Homogeneity([]verify.ShardNodes{{ReplicaSet: "demo-shard-0", Nodes: nodes}}, limits); len(warnings) != 1 || !strings.Contains(warnings[0], "throughput") {
		t.Errorf("with limits of one's own: %q", warnings)
	}
}
