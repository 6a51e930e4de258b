// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/hosttune/node"
)

// lockDeadline is how long a run waits for another one on its node, which takes well under a second. It
// is below the deadline of the Job, so that the reason is told rather than a timeout.
const lockDeadline = time.Minute

// exitCode is an error that ends the process with a code of its own, after its words were said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// runHostTune does what the operator cannot do from afar: read and write the settings of a node.
func runHostTune(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("host-tune needs a command: apply, restore or serve")
	}
	switch command, rest := args[0], args[1:]; command {
	case "apply":
		return applyHost(rest)
	case "restore":
		return restoreHost(rest)
	case "serve":
		return serveHost(rest)
	default:
		return fmt.Errorf("unknown host-tune command %q: apply, restore or serve", command)
	}
}

// hostFlags are what the commands have in common.
type hostFlags struct {
	root, state, settings, data, message string
	own                                  podFlag
	pods                                 podFlag
}

func (h *hostFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&h.root, "root", hosttune.HostRoot, "where the node's /proc and /sys are mounted")
	flags.StringVar(&h.data, "data", "", "data directory of the servers, as they see it; none for servers without data")
	flags.Var(&h.own, "own-pod", "NAME=UID of the pod this runs in, when it is the pod of a server")
}

func (h *hostFlags) addActing(flags *flag.FlagSet) {
	h.add(flags)
	flags.StringVar(&h.state, "state", hosttune.StateMount, "directory that keeps originals and claims on the node")
	flags.StringVar(&h.message, "message", terminationLog, "where the report is left for Kubernetes")
	flags.Var(&h.pods, "pod", "NAME=UID of a server's pod on this node; may be given several times")
}

func (h *hostFlags) addSettings(flags *flag.FlagSet) {
	path := ""
	if name := os.Getenv(hosttune.NodeVariable); name != "" {
		path = filepath.Join(hosttune.SettingsDirectory, hosttune.SettingsKey(name))
	}
	flags.StringVar(&h.settings, "settings", path, "file with the settings of this node; by default that of the node in "+hosttune.NodeVariable)
}

func (h *hostFlags) place() node.Place {
	place := node.Place{Pods: h.pods, Data: h.data}
	if len(h.own) > 0 {
		place.Own = &h.own[0]
	}
	return place
}

// podFlag is NAME=UID, as often as it is given.
type podFlag []node.Pod

func (p *podFlag) String() string { return fmt.Sprint(*p) }

func (p *podFlag) Set(value string) error {
	name, uid, found := strings.Cut(value, "=")
	if !found || name == "" || uid == "" || strings.ContainsAny(uid, "/ \n") {
		return fmt.Errorf("%q is not NAME=UID", value)
	}
	*p = append(*p, node.Pod{Name: name, UID: uid})
	return nil
}

// applyHost sets what is declared. Whether failures keep the server from starting is declared, too.
func applyHost(args []string) error {
	flags := flag.NewFlagSet("mongotuning host-tune apply", flag.ContinueOnError)
	var given hostFlags
	given.addActing(flags)
	given.addSettings(flags)
	wait := flags.Duration("wait", hosttune.ClearanceWait, "how long to wait for the file with the settings to appear")
	onFailure := flags.String("on-failure", string(hosttune.OnFailureReport), "Report or Block: what a failure does to the server when the settings cannot say")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if given.settings == "" {
		return fmt.Errorf("host-tune apply needs --settings, or the name of the node in %s", hosttune.NodeVariable)
	}
	settings, err := awaitSettings(given.settings, *wait)
	if errors.Is(err, errReleased) {
		return nil
	}
	report := unusable(err)
	if err == nil {
		report = onHost(given, func(ctx context.Context, host node.Host) hosttune.Report {
			return host.Apply(ctx, settings, given.place())
		})
	}
	report.Revision = settings.Revision
	tell(report, given.message)
	if cmp.Or(settings.OnFailure, hosttune.OnFailure(*onFailure)) == hosttune.OnFailureBlock && report.Worst().IsFailure() {
		return exitCode(hosttune.ExitRefused)
	}
	return nil
}

// restoreHost gives back what an owner set.
func restoreHost(args []string) error {
	flags := flag.NewFlagSet("mongotuning host-tune restore", flag.ContinueOnError)
	var given hostFlags
	given.addActing(flags)
	owner := flags.String("owner", "", "UID of the resource whose settings are given back, or "+node.Everyone)
	var settings []string
	flags.Func("setting", "name of a setting to give back; may be given several times, all when absent", func(name string) error {
		settings = append(settings, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *owner == "" {
		return errors.New("host-tune restore needs --owner")
	}
	report := onHost(given, func(ctx context.Context, host node.Host) hosttune.Report {
		return host.Restore(ctx, node.Release{Owner: *owner, Settings: settings})
	})
	tell(report, given.message)
	if report.Worst().IsFailure() {
		return exitCode(hosttune.ExitRefused)
	}
	return nil
}

func onHost(given hostFlags, do func(context.Context, node.Host) hosttune.Report) hosttune.Report {
	ctx, cancel := context.WithTimeout(context.Background(), lockDeadline)
	defer cancel()
	tree := &node.Tree{Root: given.root}
	defer func() { _ = tree.Close() }()
	return do(ctx, node.Host{Kernel: tree, Store: &node.Directory{Path: given.state}, Prober: node.Disk{Now: time.Now}})
}

// settingsPoll is how often the file with the settings is looked for.
const settingsPoll = time.Second

// errReleased says that nobody tunes nodes any more.
var errReleased = errors.New("the nodes are released")

// awaitSettings waits for the settings of the node. They appear once the operator has recorded that the
// node is touched; before that nothing may be written on it.
func awaitSettings(path string, wait time.Duration) (hosttune.Settings, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	ticker := time.NewTicker(settingsPoll)
	defer ticker.Stop()
	for {
		settings, err := readSettings(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return settings, err
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), hosttune.ReleasedKey)); err == nil {
			return settings, errReleased
		}
		select {
		case <-ctx.Done():
			return settings, fmt.Errorf("the operator has not cleared this node within %s: %w", wait, err)
		case <-ticker.C:
		}
	}
}

// readSettings reads the settings. Of settings that this version does not understand it still tells
// whether failures block.
func readSettings(path string) (hosttune.Settings, error) {
	content, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return hosttune.Settings{}, fmt.Errorf("read host settings: %w", err)
	}
	settings, err := hosttune.ParseSettings(content)
	if err != nil {
		var known struct {
			Revision  string             `json:"revision"`
			OnFailure hosttune.OnFailure `json:"onFailure"`
		}
		_ = json.Unmarshal(content, &known) // then they stay empty
		settings = hosttune.Settings{Revision: known.Revision, OnFailure: known.OnFailure}
	}
	return settings, err
}

// unusable is the report of a run that had no settings.
func unusable(err error) hosttune.Report {
	if err == nil {
		return hosttune.Report{}
	}
	return hosttune.Report{Lines: []hosttune.Line{{
		Setting: "settings", Scope: hosttune.ScopeNode, Result: hosttune.Refused, Reason: err.Error() + "; nothing was changed",
	}}}
}

// tell says the whole report in the log and as much as Kubernetes keeps in the last words.
func tell(report hosttune.Report, message string) {
	const unbounded = 1 << 20
	fmt.Print(hosttune.Encode(report, unbounded))
	// Run by hand there is no such file; the log has it all.
	_ = writeExisting(message, hosttune.Encode(report, hosttune.MessageLimit))
}

func writeExisting(path, content string) error {
	const ownerWrites = 0o600
	file, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_TRUNC, ownerWrites)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

// serveHost is the reader of a pod: it tells over HTTP what is in force now and changes nothing.
func serveHost(args []string) error {
	flags := flag.NewFlagSet("mongotuning host-tune serve", flag.ContinueOnError)
	var given hostFlags
	given.add(flags)
	given.addSettings(flags)
	address := flags.String("listen", ":"+strconv.Itoa(hosttune.ReaderPort), "address to serve on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", *address)
	if err != nil {
		return fmt.Errorf("listen for questions about the host: %w", err)
	}
	return serveReadings(ctx, listener, given)
}

// Bounds of the reader: a question has no body, and an answer is some kilobytes.
const (
	readingTimeout = 5 * time.Second
	longestRequest = 8 << 10
)

func serveReadings(ctx context.Context, listener net.Listener, given hostFlags) error {
	server := &http.Server{
		Handler: readings(given), ReadTimeout: readingTimeout, WriteTimeout: readingTimeout, IdleTimeout: time.Minute,
		MaxHeaderBytes: longestRequest,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve readings of the host: %w", err)
	case <-ctx.Done():
		return server.Close()
	}
}

// readings answers with what is in force at the moment of the question, one question at a time.
func readings(given hostFlags) http.Handler {
	var one sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+hosttune.ReadingPath, func(response http.ResponseWriter, _ *http.Request) {
		one.Lock()
		defer one.Unlock()
		reading := read(given)
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(response).Encode(reading) // whoever asked has gone
	})
	return mux
}

func read(given hostFlags) hosttune.Reading {
	settings, err := readSettings(given.settings)
	if err != nil {
		return hosttune.Reading{Revision: settings.Revision, Lines: unusable(err).Lines}
	}
	tree := &node.Tree{Root: given.root}
	defer func() { _ = tree.Close() }()
	place := given.place()
	if place.Own == nil {
		place.Own = &node.Pod{Name: "own", UID: "own"}
	}
	reading := node.Read(tree, settings, place)
	reading.Revision = settings.Revision
	return reading
}
