// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Report is everything that was measured, to be printed. One of Result, Sweep, Storm and Comparison is set.
type Report struct {
	// Mix, Keys, Documents, DocumentBytes, WriteConcern and Timeout are what was asked for.
	Mix           string  `json:"mix,omitempty"`
	Keys          Keys    `json:"keys,omitempty"`
	Documents     int64   `json:"documents,omitempty"`
	DocumentBytes int     `json:"documentBytes,omitempty"`
	WriteConcern  string  `json:"writeConcern,omitempty"`
	TimeoutSecond float64 `json:"timeoutSeconds,omitempty"`

	Result     *Result     `json:"result,omitempty"`
	Sweep      *Sweep      `json:"sweep,omitempty"`
	Storm      *Storm      `json:"storm,omitempty"`
	Comparison *Comparison `json:"comparison,omitempty"`
	// Ledgers of the targets that were written to.
	Ledgers []Ledger `json:"ledgers,omitempty"`
}

// NewReport is a report of a load with these options.
func NewReport(o Options) Report {
	o = o.withDefaults()
	return Report{
		Mix: o.Mix.String(), Keys: o.Keys, Documents: o.Documents, DocumentBytes: o.DocumentBytes,
		WriteConcern: o.WriteConcern, TimeoutSecond: o.Timeout.Seconds(),
	}
}

// WriteJSON prints all of it.
func (r Report) WriteJSON(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// ReadReport reads what WriteJSON has printed.
func ReadReport(from io.Reader) (Report, error) {
	var report Report
	if err := json.NewDecoder(from).Decode(&report); err != nil {
		return report, fmt.Errorf("read a report in JSON: %w", err)
	}
	return report, nil
}

// results are all results of a report.
func (r Report) results() []Result {
	var results []Result
	if r.Result != nil {
		results = append(results, *r.Result)
	}
	if r.Sweep != nil {
		results = append(results, r.Sweep.Steps...)
	}
	if r.Comparison != nil {
		results = append(results, r.Comparison.Baseline, r.Comparison.Result)
	}
	return results
}

// The columns of CSV output. Latencies are in milliseconds.
var (
	csvHeader = []string{
		"target", "threads", "rate", "seconds", "operation", "count", "per_second", "documents_per_second", "failed", "missed", "unsent",
		"mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms",
	}
	csvStormHeader = []string{
		"round", "connections", "opened", "failed", "all_open_seconds", "connect_p50_ms", "connect_p99_ms", "connect_max_ms",
		"first_p50_ms", "first_p99_ms", "first_max_ms", "first_failed", "per_second",
	}
)

// WriteCSV prints a row for each operation of each result and one for their total, or for each round of a storm.
func (r Report) WriteCSV(to io.Writer) error {
	rows := [][]string{csvHeader}
	if r.Storm != nil {
		rows = append(make([][]string, 0, 1+len(r.Storm.Rounds)), csvStormHeader)
		for i, round := range r.Storm.Rounds {
			rows = append(rows, slices.Concat(
				[]string{strconv.Itoa(i + 1), strconv.Itoa(r.Storm.Connections), whole(round.Opened), whole(round.Failed)},
				decimals(round.AllOpenSeconds, round.Connect.P50, round.Connect.P99, round.Connect.Max, round.First.P50, round.First.P99, round.First.Max),
				[]string{whole(round.FirstFailed), decimal(round.PerSecond)}))
		}
	}
	for _, result := range r.results() {
		for _, o := range append(append([]OperationResult{}, result.Operations...), result.Total) {
			rows = append(rows, slices.Concat(
				[]string{
					result.Target, strconv.Itoa(result.Threads), decimal(result.Rate), decimal(result.Seconds), o.Name, whole(o.Count),
					decimal(o.PerSecond), decimal(o.DocumentsPerSecond), whole(o.Failed), whole(o.Missed), whole(result.Unsent),
				},
				decimals(o.Latency.Mean, o.Latency.P50, o.Latency.P90, o.Latency.P95, o.Latency.P99, o.Latency.P999, o.Latency.Max)))
		}
	}
	writer := csv.NewWriter(to)
	if err := writer.WriteAll(rows); err != nil {
		return err
	}
	return writer.Error()
}

func whole(number int64) string { return strconv.FormatInt(number, 10) }

func decimal(number float64) string { return strconv.FormatFloat(number, 'f', 3, 64) }

func decimals(numbers ...float64) []string {
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[i] = decimal(number)
	}
	return texts
}

// WriteTable prints a page for people: aligned, and no wider than a terminal.
func (r Report) WriteTable(to io.Writer) error {
	page := &strings.Builder{}
	if r.Mix != "" {
		say(page, "%s, %s keys, %d documents of %d B, w:%s, timeout %gs\n\n", r.Mix, r.Keys, r.Documents, r.DocumentBytes, r.WriteConcern, r.TimeoutSecond)
	}
	switch {
	case r.Result != nil:
		tableOfResult(page, *r.Result)
	case r.Sweep != nil:
		tableOfSweep(page, *r.Sweep)
	case r.Storm != nil:
		tableOfStorm(page, *r.Storm)
	case r.Comparison != nil:
		tableOfComparison(page, *r.Comparison)
	}
	for _, ledger := range r.Ledgers {
		say(page, "%s\n", ledger)
	}
	_, err := io.WriteString(to, page.String())
	return err
}

// String is the ledger in a sentence.
func (l Ledger) String() string {
	what := fmt.Sprintf("ledger: %d of %d updates and %d of %d inserts acknowledged by w:%s",
		l.Updates.Acknowledged, l.Updates.Tried, l.Inserts.Acknowledged, l.Inserts.Tried, l.WriteConcern)
	if err := l.Err(); err != nil {
		return what + "; " + strings.ToUpper(err.Error()[:1]) + err.Error()[1:]
	}
	return what + ", none of them lost"
}

// say prints into memory, which cannot fail.
func say(page io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(page, format, args...) }

const columnGap = 2

// columns aligns rows, without the blanks that would end them.
func columns(to io.Writer, rows func(writer io.Writer)) {
	aligned := &strings.Builder{}
	writer := tabwriter.NewWriter(aligned, 0, 0, columnGap, ' ', tabwriter.AlignRight)
	rows(writer)
	_ = writer.Flush() // into memory
	for line := range strings.Lines(aligned.String()) {
		_, _ = fmt.Fprintln(to, strings.TrimRight(line, " \n"))
	}
}

func row(to io.Writer, cells ...string) { _, _ = fmt.Fprintln(to, strings.Join(cells, "\t")+"\t") }

func tableOfResult(page io.Writer, result Result) {
	how := "as fast as they could"
	if result.Rate > 0 {
		how = fmt.Sprintf("at %g operations/s", result.Rate)
	}
	say(page, "%d threads, %s, %.1f s; latencies in ms without coordinated omission\n\n", result.Threads, how, result.Seconds)
	columns(page, func(writer io.Writer) {
		row(writer, "", "ops/s", "docs/s", "failed", "p50", "p95", "p99", "p99.9", "max")
		for _, o := range withTotal(result) {
			row(writer, o.Name, count(o.PerSecond), count(o.DocumentsPerSecond), whole(o.Failed), millis(o.Latency.P50), millis(o.Latency.P95),
				millis(o.Latency.P99), millis(o.Latency.P999), millis(o.Latency.Max))
		}
	})
	say(page, "\n")
	notes(page, result)
}

// withTotal are the operations and, when there are several, their total.
func withTotal(result Result) []OperationResult {
	if len(result.Operations) == 1 {
		return result.Operations
	}
	return append(append([]OperationResult{}, result.Operations...), result.Total)
}

// notes tell what the figures alone do not.
func notes(page io.Writer, result Result) {
	if result.Unsent > 0 {
		say(page, "%d operations were due and not sent: %g/s is more than %d threads could do\n", result.Unsent, result.Rate, result.Threads)
	}
	for _, o := range result.Operations {
		if o.Missed > 0 {
			say(page, "%s: %d of %d documents were not there\n", o.Name, o.Missed, o.Count)
		}
	}
	for _, failed := range result.Errors {
		say(page, "%d times %s: %s\n", failed.Count, failed.Kind, short(failed.Example))
	}
}

func short(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

func tableOfSweep(page io.Writer, sweep Sweep) {
	say(page, "latencies in ms without coordinated omission\n\n")
	columns(page, func(writer io.Writer) {
		row(writer, "threads", "ops/s", "docs/s", "failed", "p50", "p99", "p99.9", "max", "")
		for _, step := range sweep.Steps {
			mark := ""
			if sweep.Knee.Reached && step.Threads == sweep.Knee.Threads {
				mark = "<- knee"
			}
			o := step.Total
			row(writer, strconv.Itoa(step.Threads), count(o.PerSecond), count(o.DocumentsPerSecond), whole(o.Failed),
				millis(o.Latency.P50), millis(o.Latency.P99), millis(o.Latency.P999), millis(o.Latency.Max), mark)
		}
	})
	if sweep.Knee.Reached {
		say(page, "\nknee at %d threads: %s operations/s; more threads brought less than 5 %% more\n", sweep.Knee.Threads, count(sweep.Knee.PerSecond))
		return
	}
	say(page, "\nno knee yet: %d threads brought %s operations/s, and more may bring more\n", sweep.Knee.Threads, count(sweep.Knee.PerSecond))
}

func tableOfStorm(page io.Writer, storm Storm) {
	say(page, "%d connections at once; latencies in ms\n\n", storm.Connections)
	columns(page, func(writer io.Writer) {
		row(writer, "round", "opened", "failed", "all open", "connect p50", "p99", "max", "first op p50", "p99", "max", "errors", "ops/s")
		for i, r := range storm.Rounds {
			row(writer, strconv.Itoa(i+1), whole(r.Opened), whole(r.Failed), fmt.Sprintf("%.2fs", r.AllOpenSeconds),
				millis(r.Connect.P50), millis(r.Connect.P99), millis(r.Connect.Max),
				millis(r.First.P50), millis(r.First.P99), millis(r.First.Max), whole(r.FirstFailed), count(r.PerSecond))
		}
	})
	say(page, "\n")
	for i, r := range storm.Rounds {
		if r.Example != "" {
			say(page, "round %d: %s\n", i+1, short(r.Example))
		}
	}
}

func tableOfComparison(page io.Writer, c Comparison) {
	say(page, "baseline %s, result %s; %d threads, %d rounds in turns, %.0f s each; latencies in ms\n\n",
		named(c.Baseline), named(c.Result), c.Result.Threads, c.Rounds, c.Result.Seconds)
	columns(page, func(writer io.Writer) {
		row(writer, "", "ops/s", "p50", "p99", "p99.9", "failed")
		for _, o := range withTotal(c.Result) {
			before, exists := c.Baseline.operation(o.Name)
			if !exists {
				continue
			}
			for _, line := range []struct {
				name string
				of   OperationResult
			}{{o.Name + " baseline", before}, {"result", o}} {
				row(writer, line.name, count(line.of.PerSecond), millis(line.of.Latency.P50), millis(line.of.Latency.P99), millis(line.of.Latency.P999), whole(line.of.Failed))
			}
			ratio := ratioNamed(c.Ratios, o.Name)
			row(writer, "ratio", times(ratio.PerSecond), times(ratio.P50), times(ratio.P99), times(ratio.P999), "")
			if c.Rounds > 1 {
				row(writer, "by round", times(ratio.Lowest)+".."+times(ratio.Highest), "", "", "", "")
			}
		}
	})
	say(page, "\n")
	for _, result := range []Result{c.Baseline, c.Result} {
		notes(page, result)
	}
}

func named(result Result) string {
	if result.Target == "" {
		return "(unnamed)"
	}
	return result.Target
}

// count is a number of things per second.
func count(number float64) string {
	if number > 0 && number < 10 {
		return fmt.Sprintf("%.1f", number)
	}
	return fmt.Sprintf("%.0f", number)
}

// millis is a latency with the digits that matter.
func millis(number float64) string {
	switch {
	case number < 10:
		return fmt.Sprintf("%.2f", number)
	case number < 100:
		return fmt.Sprintf("%.1f", number)
	default:
		return fmt.Sprintf("%.0f", number)
	}
}

func times(ratio float64) string { return fmt.Sprintf("x%.2f", ratio) }

// Outcome counts the operations that failed and that succeeded.
func (r Report) Outcome() (failed, succeeded int64) {
	for _, result := range r.results() {
		failed += result.Total.Failed
		succeeded += result.Total.Count - result.Total.Failed
	}
	if r.Storm != nil {
		for _, round := range r.Storm.Rounds {
			failed += round.FirstFailed
			succeeded += int64(r.Storm.Connections) - round.FirstFailed
		}
	}
	return failed, succeeded
}
