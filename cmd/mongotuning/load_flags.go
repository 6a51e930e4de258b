// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mongotuning/mongotuning/internal/load"
)

const loadUsage = `Usage: mongotuning load [flags]
       mongotuning load compare BASELINE.json RESULT.json

Puts a measured load on a cluster, and proves afterwards that nothing was lost that was acknowledged.
It works in a database of its own and removes it. Each run ends with its --duration or its
--operations, whichever is first.

Passwords are never flags, since everybody on a machine can read those: put them into
MONGOTUNING_LOAD_URI (connection strings separated by blanks), --uri-file (one on each line),
or MONGOTUNING_LOAD_PASSWORD or --password-file besides --username.

Flags:
`

// texts are the values of a flag that may be given several times.
type texts []string

func (t *texts) String() string { return strings.Join(*t, " ") }

// Set adds a value.
func (t *texts) Set(value string) error {
	*t = append(*t, value)
	return nil
}

// loadFlags are the settings of a load.
type loadFlags struct {
	uris, baselineURIs         texts
	uriFile, baselineFile      string
	username, passwordFile     string
	mix, document, keys        string
	output                     string
	sweep, keep, failOnErrors  bool
	ledger                     bool
	maxThreads, storm          int
	rounds                     int
	warmUp, progress, prepares time.Duration
	options                    load.Options
	stage                      load.Stage
}

func parseLoadFlags(args []string) (loadFlags, error) {
	var f loadFlags
	flags := flag.NewFlagSet("mongotuning load", flag.ContinueOnError)
	flags.Usage = func() {
		_, _ = io.WriteString(flags.Output(), loadUsage)
		flags.PrintDefaults()
	}
	f.bindTargets(flags)
	f.bindLoad(flags)
	if err := flags.Parse(args); err != nil {
		return f, err
	}
	if flags.NArg() > 0 {
		return f, fmt.Errorf("%q is no flag of mongotuning load", flags.Arg(0))
	}
	return f, f.complete()
}

func (f *loadFlags) bindTargets(flags *flag.FlagSet) {
	flags.Var(&f.uris, "uri", "connection string without a password; several for the shards' replica sets, among which documents are spread")
	flags.StringVar(&f.uriFile, "uri-file", "", "file with a connection string on each line (default $"+uriVariable+")")
	flags.Var(&f.baselineURIs, "baseline-uri", "connection string without a password of what to compare with, in turns")
	flags.StringVar(&f.baselineFile, "baseline-uri-file", "", "file with such connection strings (default $"+baselineVariable+")")
	flags.StringVar(&f.username, "username", "", "user of connection strings that name none")
	flags.StringVar(&f.passwordFile, "password-file", "", "file with the user's password (default $"+passwordVariable+")")
	flags.StringVar(&f.options.Database, "database", load.DefaultDatabase, "database to work in; one that this tool did not make is refused")
	flags.BoolVar(&f.options.Existing, "use-existing-database", false, "work in a database that this tool did not make, beside its collections")
	flags.BoolVar(&f.options.Sharded, "shard-collections", false, "shard the collections by a hash of _id (mongos, and a user who may)")
	flags.StringVar(&f.options.WriteConcern, "write-concern", "majority", "majority, or the number of members that acknowledge a write")
	flags.BoolVar(&f.options.Journal, "journal", false, "have writes wait for the journal")
	flags.DurationVar(&f.options.Timeout, "timeout", load.DefaultTimeout, "how long one operation may take with all retries")
	flags.DurationVar(&f.prepares, "prepare-timeout", 15*time.Minute, "how long the writing of the documents before the load may take")
}

func (f *loadFlags) bindLoad(flags *flag.FlagSet) {
	flags.StringVar(&f.mix, "mix", "ycsb-a", "six, ycsb-a, ycsb-b, ycsb-c, an operation, or parts like find_first=95,update=5")
	flags.StringVar(&f.document, "document", "small", "small (43 B), large (3 KiB), or a number of bytes")
	flags.Int64Var(&f.options.Documents, "documents", load.DefaultDocuments, "documents to prepare and to choose from")
	flags.StringVar(&f.keys, "keys", "", "uniform or zipfian (default zipfian for ycsb, uniform for others)")
	flags.IntVar(&f.options.Bulk, "bulk", load.DefaultBulk, "updates in one bulk_update")
	flags.Uint64Var(&f.options.Seed, "seed", 1, "makes choices repeatable")
	flags.IntVar(&f.stage.Threads, "threads", 16, "threads, each of which asks one thing after the other; where a sweep begins")
	flags.Float64Var(&f.stage.Rate, "rate", 0, "operations per second over all threads; 0 is as fast as they can")
	flags.BoolVar(&f.sweep, "sweep", false, "double the threads, each time for --duration, until throughput stops growing")
	flags.IntVar(&f.maxThreads, "max-threads", 1024, "where a sweep ends at the latest")
	flags.IntVar(&f.storm, "storm", 0, "open so many connections at once, read on them for --duration, close them; --rounds times")
	flags.IntVar(&f.rounds, "rounds", 3, "rounds of a storm or of a comparison")
	flags.DurationVar(&f.stage.Duration, "duration", 30*time.Second, "end of a run by time")
	flags.Int64Var(&f.stage.Operations, "operations", 100_000_000, "end of a run by count")
	flags.DurationVar(&f.warmUp, "warm-up", 2*time.Second, "load before the first run that is not measured; 0 for none")
	flags.BoolVar(&f.ledger, "ledger", true, "read everything afterwards and compare it with what was acknowledged")
	flags.BoolVar(&f.keep, "keep-data", false, "leave the documents; the next run removes them")
	flags.BoolVar(&f.failOnErrors, "fail-on-errors", false, "end with an error when an operation failed")
	flags.StringVar(&f.output, "output", "table", "table, json or csv")
	flags.DurationVar(&f.progress, "progress", 5*time.Second, "how often to tell how far it is; 0 for never")
}

// complete turns the texts of flags into what they mean.
func (f *loadFlags) complete() error {
	var err error
	if f.options.Mix, err = load.ParseMix(f.mix); err != nil {
		return err
	}
	if f.options.DocumentBytes, err = documentBytes(f.document); err != nil {
		return err
	}
	f.options.Keys = load.Keys(f.keys)
	if f.keys == "" && load.IsYCSB(f.mix) {
		f.options.Keys = load.Zipfian
	}
	switch f.output {
	case "table", "json", "csv":
	default:
		return fmt.Errorf("output %q: it has to be table, json or csv", f.output)
	}
	if f.storm != 0 && f.sweep {
		return errors.New("--storm and --sweep are two loads: choose one")
	}
	if f.prepares <= 0 || f.warmUp < 0 || f.progress < 0 {
		return errors.New("--prepare-timeout has to be over 0, --warm-up and --progress 0 or more")
	}
	f.options.Now, f.options.ProgressEvery = time.Now, f.progress
	return nil
}

func documentBytes(text string) (int, error) {
	switch text {
	case "small":
		return load.SmallDocument, nil
	case "large":
		return load.LargeDocument, nil
	}
	bytes, err := strconv.Atoi(text)
	if err != nil || bytes < load.MinDocument || bytes > load.MaxDocument {
		return 0, fmt.Errorf("document %q: it has to be small, large, or from %d to %d bytes", text, load.MinDocument, load.MaxDocument)
	}
	return bytes, nil
}

// targets are the clusters that connection strings name.
func (f *loadFlags) targets(given texts, file, variable string) ([]load.Target, error) {
	if slices.ContainsFunc(given, load.HasPassword) {
		return nil, fmt.Errorf("a connection string on the command line has a password, which everybody on this machine can read: use %s or a file", variable)
	}
	uris := append([]string{}, given...)
	if file != "" {
		content, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return nil, fmt.Errorf("read connection strings: %w", err)
		}
		uris = append(uris, strings.Fields(string(content))...)
	}
	if len(uris) == 0 {
		uris = strings.Fields(os.Getenv(variable))
	}
	password := os.Getenv(passwordVariable)
	if f.passwordFile != "" {
		content, err := os.ReadFile(filepath.Clean(f.passwordFile)) //nolint:gosec // the file that the user names
		if err != nil {
			return nil, fmt.Errorf("read the password: %w", err)
		}
		password = strings.TrimRight(string(content), "\r\n")
	}
	var targets []load.Target
	for _, uri := range uris {
		targets = append(targets, load.Target{URI: uri, Username: f.username, Password: password})
	}
	return targets, nil
}
