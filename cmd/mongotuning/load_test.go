// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mongotuning/mongotuning/internal/load"
)

func TestLoadsThatAreRefused(t *testing.T) {
	directory := t.TempDir()
	sweep := filepath.Join(directory, "sweep.json")
	if err := os.WriteFile(sweep, []byte(`{"sweep": {"steps": [], "knee": {}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const uri = "--uri=mongodb://localhost"
	for _, row := range []struct {
		name string
		args []string
		says string
	}{
		{"a load needs a target", nil, "no target: give --uri, --uri-file or MONGOTUNING_LOAD_URI"},
		{"a password on the command line", []string{"--uri=mongodb://user:geheim@localhost"}, "everybody on this machine can read"},
		{"a password of the baseline on the command line", []string{uri, "--baseline-uri=mongodb://user:geheim@localhost"}, "MONGOTUNING_LOAD_BASELINE_URI"},
		{"an unknown mix", []string{uri, "--mix=ycsb-z"}, "ycsb-z"},
		{"an unknown output", []string{uri, "--output=xml"}, "table, json or csv"},
		{"a document that is too small", []string{uri, "--document=33"}, "small, large, or from 34"},
		{"a document without a size", []string{uri, "--document=medium"}, "medium"},
		{"a storm and a sweep", []string{uri, "--storm=10", "--sweep"}, "choose one"},
		{"a sweep with a baseline", []string{uri, "--baseline-uri=mongodb://other", "--sweep"}, "no baseline"},
		{"a run without an end", []string{uri, "--prepare-timeout=0"}, "--prepare-timeout"},
		{"unknown keys", []string{uri, "--keys=latest"}, "uniform or zipfian"},
		{"no documents", []string{uri, "--documents=-1"}, "documents"},
		{"the cluster's own database", []string{uri, "--database=config"}, "config"},
		{"a word that is no flag", []string{uri, "quickly"}, "quickly"},
		{"a file of connection strings that is not there", []string{"--uri-file=" + filepath.Join(directory, "none")}, "read connection strings"},
		{"a file of a password that is not there", []string{uri, "--password-file=" + filepath.Join(directory, "none")}, "read the password"},
		{"a comparison with one report", []string{"compare", sweep}, "needs two reports"},
		{"a comparison with nothing", []string{"compare", sweep, filepath.Join(directory, "none")}, "not the report of one run"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := run(append([]string{"load"}, row.args...))
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Fatalf("%v, wanted %q in it", err, row.says)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("a password is told: %v", err)
			}
		})
	}
	if err := run([]string{"load", "--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}

func TestLoadFlags(t *testing.T) {
	f, err := parseLoadFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.options.Mix.String() != "find_first=50,update=50" || f.options.Keys != load.Zipfian || f.options.DocumentBytes != 43 ||
		f.options.WriteConcern != "majority" || f.options.Timeout != 10*time.Second || f.options.Database != "mongotuning_load" {
		t.Errorf("other defaults than documented: %+v", f.options)
	}
	if f.stage != (load.Stage{Threads: 16, Duration: 30 * time.Second, Operations: 100_000_000}) || !f.ledger || f.keep {
		t.Errorf("other defaults than documented: %+v", f.stage)
	}
	f, err = parseLoadFlags([]string{"--mix=six", "--document=large", "--rate=100", "--threads=3", "--duration=1s", "--operations=7"})
	if err != nil {
		t.Fatal(err)
	}
	if f.options.Keys != "" || f.options.DocumentBytes != 3072 || f.stage != (load.Stage{Threads: 3, Rate: 100, Duration: time.Second, Operations: 7}) {
		t.Errorf("flags are not taken: %+v, %+v", f.options, f.stage)
	}
}

func TestConnectionStringsOfALoad(t *testing.T) {
	directory := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	uris, password := write("uris", "mongodb://u:p@a\n\nmongodb://u:p@b\n"), write("password", "from file\n")
	t.Setenv(uriVariable, "mongodb://u:p@c mongodb://u:p@d")
	t.Setenv(passwordVariable, "from environment")
	for _, row := range []struct {
		name string
		args []string
		want []load.Target
	}{
		{"from the environment", nil, []load.Target{{URI: "mongodb://u:p@c", Password: "from environment"}, {URI: "mongodb://u:p@d", Password: "from environment"}}},
		{"from the command line", []string{"--uri=mongodb://e", "--username=app"}, []load.Target{{URI: "mongodb://e", Username: "app", Password: "from environment"}}},
		{"from a file", []string{"--uri-file=" + uris, "--password-file=" + password}, []load.Target{{URI: "mongodb://u:p@a", Password: "from file"}, {URI: "mongodb://u:p@b", Password: "from file"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := parseLoadFlags(row.args)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.targets(f.uris, f.uriFile, uriVariable)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerdictOfALoad(t *testing.T) {
	result := func(count, failed int64) *load.Result {
		return &load.Result{Total: load.OperationResult{Count: count, Failed: failed}}
	}
	for _, row := range []struct {
		name   string
		flags  loadFlags
		report load.Report
		says   string
	}{
		{"all is well", loadFlags{failOnErrors: true}, load.Report{Result: result(10, 0)}, ""},
		{"errors are told and are no failure", loadFlags{}, load.Report{Result: result(10, 1)}, ""},
		{"errors are a failure when that is asked for", loadFlags{failOnErrors: true}, load.Report{Result: result(10, 1)}, "1 operations failed"},
		{"nothing succeeded", loadFlags{}, load.Report{Result: result(10, 10)}, "no operation succeeded, 10 failed"},
		{"data is lost", loadFlags{}, load.Report{Result: result(10, 0), Ledgers: []load.Ledger{{Findings: load.Findings{Lost: load.Documents{Count: 1, First: []int64{3}}}}}}, "lost 1 [3]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.flags.verdict(row.report)
			if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, wanted %q", err, row.says)
			}
		})
	}
}
