// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleReport() Report {
	return Report{
		Revision: "1a2b3c4d5e",
		Facts:    Facts{Boot: "804a7b27", Kernel: "6.1.0-18-amd64", CPUs: 16, MemoryMiB: 64216, DataFilesystem: "xfs", WriteMiBPerSecond: 1900},
		Lines: []Line{
			{Setting: "vm.swappiness", Scope: ScopeNode, Found: "60", Wanted: "1", Set: "1", ReadBack: "1", Result: Applied},
			{Setting: "vm.max_map_count", Scope: ScopeNode, Found: "262144", Wanted: "262144", Result: AlreadySet},
			{Setting: "net.ipv4.tcp_rmem", Scope: ScopePod, On: "demo-shard-0-1", Found: "4096 131072 6291456", Wanted: "4096 131072 16777216", Set: "4096 131072 16777216", ReadBack: "4096\t131072\t16777216", Result: Applied},
			{Setting: "rps_cpus", Scope: ScopeInterface, On: "eth0", Found: "0", Wanted: "fe", Set: "2", ReadBack: "2", Result: Applied, Reason: `cut to the node's 2 CPUs`},
			{
				Setting: "vm.zone_reclaim_mode", Scope: ScopeNode, Found: "1", Wanted: "0", Result: Conflict,
				Other: &Owner{Namespace: "shop", Name: "orders", UID: "11-22", Created: "2026-01-02T03:04:05Z"},
			},
			{Setting: "scheduler", Scope: ScopeDevice, On: "sda", Found: "none", Wanted: "bfq", Set: "bfq", Result: Refused, Errno: "EINVAL"},
			{Setting: "filesystem", Scope: ScopeProcess, Found: "ext4", Wanted: "xfs", Result: Warning, Reason: "\"quoted\" \\ and\nbroken é"},
		},
	}
}

func TestReportSurvivesItsMessage(t *testing.T) {
	report := sampleReport()
	message := Encode(report, MessageLimit)
	decoded := Decode(message)
	wanted := report
	wanted.Lines = []Line{report.Lines[5], report.Lines[4], report.Lines[6], report.Lines[0], report.Lines[2], report.Lines[3], report.Lines[1]}
	if difference := cmp.Diff(wanted, decoded); difference != "" {
		t.Errorf("another report than was written (-want +got):\n%s\nmessage:\n%s", difference, message)
	}
	if first := strings.Split(message, "\n")[1]; !strings.HasPrefix(first, "Refused scheduler Device on=sda") {
		t.Errorf("the worst does not come first: %s", first)
	}
}

func TestLinesThatDoNotFitAreCounted(t *testing.T) {
	report := sampleReport()
	for i := range 100 {
		report.Lines = append(report.Lines, Line{Setting: fmt.Sprintf("net.ipv4.setting_%d", i), Scope: ScopePod, Found: "1", Wanted: "1", Result: AlreadySet})
	}
	for _, limit := range []int{MessageLimit, 1000, 400} {
		message := Encode(report, limit)
		if len(message) > limit {
			t.Errorf("%d bytes, the limit is %d", len(message), limit)
		}
		decoded := Decode(message)
		if decoded.Cut || len(decoded.Lines)+int(decoded.Dropped) != len(report.Lines) || decoded.Dropped == 0 {
			t.Errorf("%d lines and %d dropped of %d", len(decoded.Lines), decoded.Dropped, len(report.Lines))
		}
		if decoded.Worst() != Refused {
			t.Errorf("the worst line was dropped at %d bytes", limit)
		}
	}
}

// What is there before a cut is there after it, and only that.
func TestCutMessageLosesLinesOnly(t *testing.T) {
	message := Encode(sampleReport(), MessageLimit)
	whole := Decode(message)
	for length := range len(message) {
		decoded := Decode(message[:length])
		complete := strings.Count(message[:length], "\n") - 1
		if len(decoded.Lines) != max(complete, 0) {
			t.Fatalf("%d lines of %d whole ones after %d bytes", len(decoded.Lines), complete, length)
		}
		if difference := cmp.Diff(whole.Lines[:len(decoded.Lines)], decoded.Lines, cmpEmpty); difference != "" {
			t.Fatalf("after %d bytes:\n%s", length, difference)
		}
		if ended := length == 0 || message[length-1] == '\n'; decoded.Cut == ended {
			t.Fatalf("after %d bytes cut is %t", length, decoded.Cut)
		}
	}
}

var cmpEmpty = cmp.Transformer("Empty", func(lines []Line) []Line { return append([]Line{}, lines...) })

func TestReportWithoutLines(t *testing.T) {
	if worst := (Report{}).Worst(); worst != Checked {
		t.Errorf("nothing to tell is %s", worst)
	}
	if decoded := Decode(""); decoded.Cut || len(decoded.Lines) > 0 {
		t.Errorf("%+v", decoded)
	}
	if decoded := Decode("exec format error\n"); !decoded.Cut {
		t.Errorf("another program's words are no report: %+v", decoded)
	}
}

// FuzzDecode looks for messages that end the operator, and for lines that change on their second way.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(sampleReport(), MessageLimit))
	f.Add("facts cpus=99999999999999999999\ndropped -1\nApplied \"a b\" Node found=\"\n")
	f.Fuzz(func(t *testing.T, message string) {
		once := Decode(message)
		for _, line := range once.Lines {
			if len(line.Reason) > longestReason {
				return // shortened on the way, as it should be
			}
		}
		again := Decode(Encode(once, 1<<30))
		if difference := cmp.Diff(stable(once), stable(again), cmpEmpty); difference != "" {
			t.Errorf("changed on the way:\n%s", difference)
		}
	})
}

// stable leaves out what encoding changes on purpose: order and the mark of a cut.
func stable(report Report) map[string]int {
	lines := map[string]int{}
	for _, line := range report.Lines {
		lines[encodeLine(line)]++
	}
	lines[encodeFacts(report)]++
	return lines
}
