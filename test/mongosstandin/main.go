// SPDX-License-Identifier: Apache-2.0

// Command mongosstandin takes the place of mongos in tests, where no real one can be had. It is started as mongos is
// and speaks the wire protocol in front of a real config server replica set. It routes no data, and it says in
// serverStatus, getCmdLineOpts and buildInfo that it is a stand-in, so that nothing proved with it is taken for a proof
// about mongos.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
	"github.com/mongotuning/mongotuning/test/mongosstandin/options"
	"github.com/mongotuning/mongotuning/test/mongosstandin/router"
)

// The exit codes of MongoDB's processes. mongod ends so on an unknown setParameter and on a key file it cannot use (1),
// on options it refuses (2), and on an address it cannot listen on (48).
const (
	exitClean      = 0
	exitFailure    = 1
	exitBadOptions = 2
	exitNetError   = 48
)

// version is what --version prints. The build of a test image may set it by link flag; a running stand-in speaks for
// the version of the config servers.
var version = "0.0.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is one life of the process. It returns the exit code.
func run(ctx context.Context, argv []string, stdout, stderr io.Writer) int {
	o, err := options.Parse(argv)
	if err != nil {
		return refuseStart(err, argv[0], stderr)
	}
	if o.ShowVersion {
		_, _ = fmt.Fprintf(stdout, "mongos version v%s\nstand-in for tests, not MongoDB's mongos\n", version)
		return exitClean
	}
	key := ""
	if o.KeyFile != "" {
		if key, err = options.ReadKey(o.KeyFile); err != nil {
			_, _ = fmt.Fprintln(stderr, err)
			return exitFailure
		}
	}
	output, closeLog, err := openLog(o, stdout)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return exitFailure
	}
	defer closeLog()
	if o.PidFile != "" {
		if err := os.WriteFile(o.PidFile, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
			_, _ = fmt.Fprintln(stderr, err)
			return exitFailure
		}
	}
	log := slog.New(slog.NewJSONHandler(output, nil))
	return serve(ctx, o, configserver.New(o.ConfigSet, o.ConfigHosts, key), log, stderr)
}

// serve waits for the config servers, as mongos does before it listens, and then answers clients until ctx ends.
func serve(ctx context.Context, o *options.Options, set *configserver.Set, log *slog.Logger, stderr io.Writer) int {
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var watcher sync.WaitGroup
	watcher.Go(func() { set.Watch(watching) })
	defer watcher.Wait()
	defer stopWatching()

	log.Info("Stand-in for mongos waits for the config servers", "configDB", o.ConfigDB())
	primary, err := set.AwaitReady(ctx, func(err error) {
		log.Info("Config servers are not ready", "reason", err.Error())
	})
	if err != nil {
		log.Info("Told to stop before the config servers were reached")
		return exitClean
	}
	server, err := router.New(o, set, primary, log)
	if err != nil {
		return refuseStart(err, o.Argv[0], stderr)
	}
	listeners, err := listen(ctx, o.Addresses)
	if err != nil {
		log.Error("Cannot listen", "reason", err.Error())
		return exitNetError
	}
	for _, listener := range listeners {
		log.Info("Waiting for connections", "address", listener.Addr().String(), "standIn", true)
	}
	if err := server.Serve(ctx, listeners); err != nil {
		log.Error("Ended by a network failure", "reason", err.Error())
		return exitNetError
	}
	log.Info("Shutting down", "exitCode", exitClean)
	return exitClean
}

func listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var config net.ListenConfig
	var listeners []net.Listener
	for _, address := range addresses {
		listener, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, fmt.Errorf("listen: %w", err)
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

// openLog opens what the options say to log to.
func openLog(o *options.Options, stdout io.Writer) (io.Writer, func(), error) {
	if o.LogPath == "" {
		return stdout, func() {}, nil
	}
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if o.LogAppend {
		mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := os.OpenFile(o.LogPath, mode, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	return file, func() { _ = file.Close() }, nil
}

// refuseStart says why the options are refused and picks the exit code.
func refuseStart(err error, program string, stderr io.Writer) int {
	_, _ = fmt.Fprintln(stderr, err)
	if _, isRefusal := errors.AsType[*options.Refusal](err); !isRefusal {
		return exitFailure
	}
	_, _ = fmt.Fprintf(stderr, "try '%s --help' for more information\n", program)
	return exitBadOptions
}
