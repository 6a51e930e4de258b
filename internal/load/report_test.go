// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/csv"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the expected reports anew")

func operation(name string, perSecond float64, milliseconds float64) OperationResult {
	latency := Latency{
		Mean: milliseconds, P50: milliseconds, P90: 2 * milliseconds, P95: 3 * milliseconds, P99: 9 * milliseconds, P999: 40 * milliseconds, Max: 123.456,
	}
	return OperationResult{Name: name, Count: int64(10 * perSecond), PerSecond: perSecond, DocumentsPerSecond: perSecond, Latency: latency, Measured: latency}
}

func reports() map[string]Report {
	head := Report{Mix: "find_first=50,update=50", Keys: Zipfian, Documents: 10_000, DocumentBytes: 43, WriteConcern: "majority", TimeoutSecond: 10}
	one := Result{
		Seconds: 10.04, Threads: 16, Operations: []OperationResult{operation("find_first", 15_234.4, 0.41), operation("update", 9.96, 1.234)},
		Total: operation("total", 15_244.4, 0.7),
	}
	one.Operations[1].Failed, one.Operations[1].Missed, one.Total.Failed = 3, 2, 3
	one.Errors = []ErrorResult{{Kind: "timeout", Count: 2, Example: "a\nlong " + strings.Repeat("story ", 50)}, {Kind: "network", Count: 1, Example: "EOF"}}
	run := head
	run.Result = &one
	run.Ledgers = []Ledger{{WriteConcern: "majority", Inserts: WriteCounts{5, 5}, Updates: WriteCounts{100, 97}}}

	paced := head
	slow := one
	slow.Rate, slow.Unsent, slow.Errors = 20_000, 47_556, nil
	slow.Operations = slow.Operations[:1]
	paced.Result = &slow
	paced.Ledgers = []Ledger{{WriteConcern: "1", Findings: Findings{Lost: Documents{2, []int64{7, 9}}}}}

	sweep := head
	var steps []Result
	for i, perSecond := range []float64{1000, 1900, 1950, 1940} {
		steps = append(steps, Result{Threads: 1 << i, Seconds: 10, Total: operation("total", perSecond, 1)})
	}
	sweep.Sweep = &Sweep{Steps: steps, Knee: KneeOf(steps)}
	growing := head
	growing.Sweep = &Sweep{Steps: steps[:2], Knee: KneeOf(steps[:2])}

	storm := Report{Storm: &Storm{Connections: 1000, Rounds: []StormRound{
		{Opened: 1000, AllOpenSeconds: 1.5, Connect: operation("", 0, 200).Latency, First: operation("", 0, 300).Latency, PerSecond: 9000},
		{Opened: 990, Failed: 10, Example: "connection refused", AllOpenSeconds: 12, FirstFailed: 10, PerSecond: 8000},
	}}}

	comparison := head
	before, after := one, one
	before.Target, after.Target, before.Errors, after.Errors = "old:27017", "new:27017", nil, nil
	after.Total = operation("total", 30_488.8, 0.35)
	rounds := comparisonOf([]Result{before}, []Result{after})
	rounds.Baseline, rounds.Result, rounds.Rounds, rounds.Ratios = before, after, 3, ratiosOf(before, after)
	rounds.Ratios[2].Lowest, rounds.Ratios[2].Highest = 1.9, 2.2
	comparison.Comparison = &rounds

	return map[string]Report{"run": run, "rate": paced, "sweep": sweep, "growing": growing, "storm": storm, "comparison": comparison}
}

func TestReportsForPeople(t *testing.T) {
	for name, report := range reports() {
		t.Run(name, func(t *testing.T) {
			page := &strings.Builder{}
			if err := report.WriteTable(page); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", page.String())
		})
	}
}

func TestReportsForSpreadsheets(t *testing.T) {
	for name, report := range reports() {
		t.Run(name, func(t *testing.T) {
			page := &strings.Builder{}
			if err := report.WriteCSV(page); err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(strings.NewReader(page.String())).ReadAll()
			if err != nil {
				t.Fatal(err) // rows that are not all as long as the first
			}
			if len(rows) < 2 {
				t.Errorf("no rows in %q", page)
			}
			golden(t, name+".csv", page.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("other than %s, run with -update if that is right (-want +got):\n%s", path, diff)
	}
}

func TestReportsForPrograms(t *testing.T) {
	for name, report := range reports() {
		t.Run(name, func(t *testing.T) {
			page := &strings.Builder{}
			if err := report.WriteJSON(page); err != nil {
				t.Fatal(err)
			}
			read, err := ReadReport(strings.NewReader(page.String()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(report, read, cmpopts.IgnoreUnexported(Result{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what was read is not what was written (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := ReadReport(strings.NewReader("threads,1")); err == nil {
		t.Error("a report that is no JSON is read")
	}
}

func TestComparison(t *testing.T) {
	result := func(total, first float64) Result {
		r := newRecorder(1)
		for range int(first) {
			r.record(0, outcome{operation: FindFirst, latency: 1000 / 1 * 1000 * 10})
		}
		for range int(total - first) {
			r.record(0, outcome{operation: Update, latency: 20_000_000})
		}
		return resultOf(r.sum(), Stage{Threads: 1}, 1e9)
	}
	c := comparisonOf([]Result{result(100, 50), result(300, 150)}, []Result{result(200, 100), result(300, 150)})
	if got := ratioNamed(c.Ratios, "total"); got.PerSecond != 1.25 || got.Lowest != 1 || got.Highest != 2 || got.P50 == 0 {
		t.Errorf("%+v", got)
	}
	if c.Rounds != 2 || len(c.Ratios) != 3 {
		t.Errorf("%d rounds, ratios of %d", c.Rounds, len(c.Ratios))
	}
	only := result(10, 10)
	if ratios := ratiosOf(only, result(10, 5)); len(ratios) != 2 {
		t.Errorf("what the baseline has not measured is compared: %+v", ratios)
	}
	if _, err := CompareResults(only, Result{}); err == nil {
		t.Error("nothing is compared with something")
	}
	if quotient(1, 0) != 0 {
		t.Error("a ratio to nothing")
	}
}

func TestOutcome(t *testing.T) {
	for name, want := range map[string][2]int64{"run": {3, 152_441}, "storm": {10, 1990}} {
		failed, succeeded := reports()[name].Outcome()
		if failed != want[0] || succeeded != want[1] {
			t.Errorf("%s: %d failed, %d succeeded, wanted %v", name, failed, succeeded, want)
		}
	}
}

func TestShortTexts(t *testing.T) {
	if got := short("a\n b"); got != "a b" {
		t.Errorf("%q", got)
	}
	if got := short(strings.Repeat("x", 300)); len(got) != 203 {
		t.Errorf("%d letters", len(got))
	}
}

var errClosed = errors.New("closed")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errClosed }

func TestReportsThatCannotBeWritten(t *testing.T) {
	report := reports()["run"]
	for name, write := range map[string]error{
		"table": report.WriteTable(brokenWriter{}), "csv": report.WriteCSV(brokenWriter{}), "json": report.WriteJSON(brokenWriter{}),
	} {
		if !errors.Is(write, errClosed) {
			t.Errorf("%s: %v", name, write)
		}
	}
}
