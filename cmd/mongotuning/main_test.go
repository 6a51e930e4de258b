// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// TestMain keeps the usage texts of refused flags out of the output.
func TestMain(m *testing.M) {
	flag.CommandLine.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func TestRefusedCommandLines(t *testing.T) {
	t.Setenv("OPERATOR_IMAGE", "")
	t.Setenv("POD_NAMESPACE", "")
	for _, row := range []struct {
		name string
		args []string
		says string
	}{
		{"no command lists the commands", nil, "Commands:"},
		{"an unknown command lists the commands", []string{"reconcile"}, `unknown command "reconcile"`},
		{"a member command is needed", []string{"member"}, "prepare, run, probe or trial"},
		{"an unknown member command names the others", []string{"member", "stop"}, `unknown member command "stop"`},
		{"the operator has to know its own image and namespace", []string{"manager"}, "--operator-image and --operator-namespace are needed"},
		{"the image alone is not enough", []string{"manager", "--operator-image=example.org/mongotuning:1"}, "--operator-namespace"},
		{"an unknown flag is refused", []string{"manager", "--no-such-flag"}, "no-such-flag"},
		{"a number has to be one", []string{"manager", "--concurrent-reconciles=many"}, "concurrent-reconciles"},
		{"an unknown question of a probe is refused", []string{"member", "probe", "--no-such-flag"}, "no-such-flag"},
		{"nothing to run is refused", []string{"member", "run", "--"}, "no"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := run(row.args)
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, wanted %q in it", err, row.says)
			}
		})
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	if err := run([]string{"help"}); err != nil {
		t.Error(err)
	}
	for _, command := range [][]string{{"manager", "--help"}, {"member", "prepare", "--help"}, {"member", "probe", "--help"}} {
		if err := run(command); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%v: %v", command, err)
		}
	}
}

func TestManagerFlags(t *testing.T) {
	t.Setenv("OPERATOR_IMAGE", "example.org/from-environment:1")
	t.Setenv("POD_NAMESPACE", "from-environment")
	parsed, err := parseManagerFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.operatorImage != "example.org/from-environment:1" || parsed.namespace != "from-environment" {
		t.Errorf("the environment is not read: %+v", parsed)
	}
	if parsed.concurrency != 16 || parsed.clusterDomain != "cluster.local" || parsed.leaderElect || parsed.metricsAddress != ":8443" || parsed.probeAddress != ":8081" {
		t.Errorf("other defaults than documented: %+v", parsed)
	}
	parsed, err = parseManagerFlags([]string{"--operator-namespace=given", "--leader-elect", "--concurrent-reconciles=3", "--metrics-bind-address=0"})
	if err != nil {
		t.Fatal(err)
	}
	if parsed.namespace != "given" || !parsed.leaderElect || parsed.concurrency != 3 || parsed.metricsAddress != "0" {
		t.Errorf("flags are not taken: %+v", parsed)
	}
}

func TestManagerOptions(t *testing.T) {
	options := managerOptions(runtime.NewScheme(), managerFlags{leaderElect: true, metricsAddress: ":1", probeAddress: ":2"})
	if !options.LeaderElection || !options.LeaderElectionReleaseOnCancel || options.LeaderElectionID == "" {
		t.Errorf("the lease is not given up when the process ends: %+v", options)
	}
	if !options.Metrics.SecureServing || options.Metrics.FilterProvider == nil {
		t.Error("metrics are served to everybody")
	}
	if len(options.Cache.ByObject) == 0 {
		t.Fatal("the cache holds the whole cluster")
	}
	for object, by := range options.Cache.ByObject {
		if got := by.Label.String(); got != naming.LabelManagedBy+"="+naming.ManagedBy {
			t.Errorf("the cache holds %T with %q", object, got)
		}
	}
}

func TestPrepareMember(t *testing.T) {
	directory := t.TempDir()
	key := filepath.Join(directory, "mounted")
	if err := os.WriteFile(key, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(directory, "binary")
	placed := filepath.Join(directory, "keyfile")
	if err := run([]string{"member", "prepare", "--key-file-from=" + key, "--key-file-to=" + placed, "--binary-to=" + binary}); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{placed: 0o400, binary: 0o555} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, wanted %o", filepath.Base(path), info.Mode().Perm(), mode)
		}
	}
	if err := run([]string{"member", "prepare", "--binary-to=" + filepath.Join(directory, "trial")}); err != nil {
		t.Errorf("a server without a key file cannot be prepared: %v", err)
	}
}

func TestVersionIsTold(t *testing.T) {
	if version() == "" {
		t.Error("no version")
	}
}

// TestReleasedNodesAreLeftAlone runs apply as a member of an orphaned cluster does: nothing is waited for
// and nothing is said.
func TestReleasedNodesAreLeftAlone(t *testing.T) {
	directory := t.TempDir()
	message := filepath.Join(directory, "termination-log")
	for file, content := range map[string]string{message: "", filepath.Join(directory, hosttune.ReleasedKey): "released"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(directory, "state")
	err := run([]string{"host-tune", "apply", "--settings=" + filepath.Join(directory, "node.json"), "--state=" + state, "--root=" + directory,
		"--message=" + message, "--on-failure=Block", "--wait=1h"})
	if err != nil {
		t.Errorf("a member of an orphaned cluster does not start: %v", err)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("something was written on the node")
	}
}
