// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mongotuning/mongotuning/internal/load"
)

// The variables that hold what must not be seen on the command line.
const (
	uriVariable      = "MONGOTUNING_LOAD_URI"
	baselineVariable = "MONGOTUNING_LOAD_BASELINE_URI"
	passwordVariable = "MONGOTUNING_LOAD_PASSWORD"
)

func runLoad(args []string) error {
	if len(args) > 0 && args[0] == "compare" {
		return compareReports(args[1:])
	}
	f, err := parseLoadFlags(args)
	if err != nil {
		return err
	}
	if f.options.Targets, err = f.targets(f.uris, f.uriFile, uriVariable); err != nil {
		return err
	}
	if len(f.options.Targets) == 0 {
		return fmt.Errorf("no target: give --uri, --uri-file or %s", uriVariable)
	}
	baseline, err := f.targets(f.baselineURIs, f.baselineFile, baselineVariable)
	if err != nil {
		return err
	}
	if len(baseline) > 0 && (f.sweep || f.storm != 0) {
		return errors.New("a sweep or a storm has no baseline: run it twice")
	}
	// The first signal ends the load in order, the second at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	report, err := f.loadAll(ctx, baseline)
	if err != nil {
		return err
	}
	if err := f.print(os.Stdout, report); err != nil {
		return err
	}
	return f.verdict(report)
}

// progressOf prints how far a load is to where reports do not go.
func (f *loadFlags) progressOf(p load.Progress) {
	fmt.Fprintf(os.Stderr, "%6.0fs  %8.0f operations/s  p99 %s  failed %d\n", p.Elapsed.Seconds(), p.PerSecond, p.P99.Round(10*time.Microsecond), p.Failed)
}

func (f *loadFlags) say(format string, args ...any) {
	if f.progress > 0 {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// loadAll prepares the targets, loads them, checks the ledgers and cleans up, whatever has happened before.
func (f *loadFlags) loadAll(ctx context.Context, baselineTargets []load.Target) (report load.Report, err error) {
	f.options.Progress = f.progressOf
	report = load.NewReport(f.options)
	var loads []*load.Load
	defer func() { err = errors.Join(err, f.leave(ctx, loads)) }()
	for _, targets := range [][]load.Target{f.options.Targets, baselineTargets} {
		if len(targets) == 0 {
			continue
		}
		opened, err := f.open(ctx, targets)
		if err != nil {
			return report, err
		}
		loads = append(loads, opened)
	}
	if err := f.warm(ctx, loads); err != nil {
		return report, err
	}
	if err := f.measure(ctx, loads, &report); err != nil {
		return report, err
	}
	if !f.ledger || !f.options.Mix.Writes() || f.storm > 0 {
		return report, nil
	}
	f.say("reading everything to compare it with what was acknowledged")
	for _, l := range loads {
		// A load that was ended early is checked too.
		checking, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.options.CheckTimeout())
		ledger, err := l.Check(checking)
		cancel()
		if err != nil {
			return report, err
		}
		report.Ledgers = append(report.Ledgers, ledger)
	}
	return report, nil
}

// open connects to targets and writes the documents.
func (f *loadFlags) open(ctx context.Context, targets []load.Target) (*load.Load, error) {
	opts := f.options
	opts.Targets = targets
	ctx, cancel := context.WithTimeout(ctx, f.prepares)
	defer cancel()
	opened, err := load.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	f.say("%s: writing %d documents of %d B", targets[0].Name(), opts.Documents, opts.DocumentBytes)
	if err := opened.Prepare(ctx); err != nil {
		return nil, errors.Join(err, f.leave(ctx, []*load.Load{opened}))
	}
	return opened, nil
}

func (f *loadFlags) warm(ctx context.Context, loads []*load.Load) error {
	if f.warmUp == 0 || f.storm > 0 {
		return nil
	}
	for _, l := range loads {
		stage := f.stage
		stage.Duration = f.warmUp
		if _, err := l.Run(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

func (f *loadFlags) measure(ctx context.Context, loads []*load.Load, report *load.Report) error {
	stage := f.stage
	switch {
	case len(loads) > 1:
		comparison, err := load.Compare(ctx, loads[1], loads[0], stage, f.rounds)
		report.Comparison = &comparison
		return err
	case f.storm > 0:
		stage.Threads = f.storm
		storm, err := loads[0].Storm(ctx, stage, f.rounds)
		report.Storm, report.Mix = &storm, ""
		return err
	case f.sweep:
		sweep, err := loads[0].Sweep(ctx, stage, f.maxThreads)
		report.Sweep = &sweep
		return err
	default:
		result, err := loads[0].Run(ctx, stage)
		report.Result = &result
		return err
	}
}

// cleanTimeout is how long the removal of the documents may take.
const cleanTimeout = time.Minute

func (f *loadFlags) leave(ctx context.Context, loads []*load.Load) error {
	failed := make([]error, 0, len(loads))
	for _, l := range loads {
		if f.keep {
			failed = append(failed, l.Leave(ctx))
			continue
		}
		// Also a load that was ended early cleans up.
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		failed = append(failed, l.Close(cleaning))
		cancel()
	}
	return errors.Join(failed...)
}

func (f *loadFlags) print(to io.Writer, report load.Report) error {
	switch f.output {
	case "json":
		return report.WriteJSON(to)
	case "csv":
		return report.WriteCSV(to)
	default:
		return report.WriteTable(to)
	}
}

// verdict is an error when data was lost, when nothing succeeded, or when nothing was to fail and something did.
func (f *loadFlags) verdict(report load.Report) error {
	for _, ledger := range report.Ledgers {
		if err := ledger.Err(); err != nil {
			return err
		}
	}
	failed, succeeded := report.Outcome()
	if succeeded == 0 {
		return fmt.Errorf("no operation succeeded, %d failed", failed)
	}
	if f.failOnErrors && failed > 0 {
		return fmt.Errorf("%d operations failed", failed)
	}
	return nil
}

// compareReports prints the ratios of two reports that were made before and after something.
func compareReports(args []string) error {
	if len(args) != 2 {
		return errors.New("compare needs two reports in JSON: the baseline and the result")
	}
	results := make([]load.Result, len(args))
	for i, name := range args {
		report, err := readReport(name)
		if err != nil {
			return err
		}
		if report.Result == nil {
			return fmt.Errorf("%s is not the report of one run: make it with --output json and without --sweep, --storm or a baseline", name)
		}
		results[i] = *report.Result
		results[i].Target = filepath.Base(name)
	}
	comparison, err := load.CompareResults(results[0], results[1])
	if err != nil {
		return err
	}
	return load.Report{Comparison: &comparison}.WriteTable(os.Stdout)
}

func readReport(name string) (load.Report, error) {
	file, err := os.Open(filepath.Clean(name)) //nolint:gosec // the file that the user names
	if err != nil {
		return load.Report{}, err
	}
	defer func() { _ = file.Close() }() // only read
	report, err := load.ReadReport(file)
	if err != nil {
		return load.Report{}, fmt.Errorf("%s: %w", name, err)
	}
	return report, nil
}
