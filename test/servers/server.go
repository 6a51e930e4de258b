// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mongotuning/mongotuning/internal/mongodb"
)

// Options say how a mongod is started.
type Options struct {
	// Version to run.
	Version string
	// ReplicaSet is the name of the set it is a member of, empty for a standalone.
	ReplicaSet string
	// Role is shardsvr or configsvr, empty outside of a sharded cluster.
	Role string
	// KeyFile is the content of the key file; authentication is on when it is not empty.
	KeyFile string
	// Config is the text of a configuration file. Data directory, port and log stay under our control.
	Config string
	// Args are further arguments.
	Args []string
}

// Server is a mongod of one test. Its methods are for the test's own goroutine.
type Server struct {
	// Options it is started with; a change takes effect at the next Start.
	Options Options
	// Address is host:port.
	Address string
	// Directory holds its data, log, key file and configuration file.
	Directory string

	t       testing.TB
	binary  string
	command *exec.Cmd
	exited  chan struct{}
	member  *mongodb.Member
}

const (
	// startTimeout is generous: the machine may be busy with other tests.
	startTimeout = 60 * time.Second
	// stopTimeout is well over the 15 s that a primary of 5.0 and later waits before it ends.
	stopTimeout = 60 * time.Second
	// pollInterval is how often conditions are looked at.
	pollInterval = 50 * time.Millisecond
	// exitAddressInUse is mongod's exit code when another process was faster to take the port.
	exitAddressInUse = 48
	// portAttempts bounds how often another port is tried.
	portAttempts = 5
)

// Start starts a mongod and waits until it accepts connections. It ends with the test.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	server := prepare(t, options)
	for range portAttempts {
		server.Address = freeAddress(t)
		code := server.launch()
		if code == nil {
			return server
		}
		if *code != exitAddressInUse {
			t.Fatalf("mongod %s ended with code %d at its start:\n%s", options.Version, *code, server.LogTail())
		}
	}
	t.Fatal("every port that was tried was taken by another process")
	return nil
}

// StartFailing starts a mongod that is expected to end by itself, and returns its exit code and its log.
func StartFailing(t testing.TB, options Options) (code int, log string) {
	t.Helper()
	server := prepare(t, options)
	server.Address = freeAddress(t)
	ended := server.launch()
	if ended == nil {
		t.Fatalf("mongod %s was expected to end by itself and serves", options.Version)
	}
	return *ended, server.Log()
}

func prepare(t testing.TB, options Options) *Server {
	t.Helper()
	server := &Server{Options: options, Directory: t.TempDir(), t: t, binary: Binary(t, options.Version)}
	t.Cleanup(func() {
		if t.Failed() && server.Address != "" {
			t.Logf("end of the log of mongod %s at %s:\n%s", options.Version, server.Address, server.LogTail())
		}
		server.Kill()
	})
	return server
}

// Start starts a stopped server again, on its data and its port.
func (s *Server) Start() {
	s.t.Helper()
	if code := s.launch(); code != nil {
		s.t.Fatalf("mongod %s ended with code %d at its start:\n%s", s.Options.Version, *code, s.LogTail())
	}
}

// Pid is the process id.
func (s *Server) Pid() int { return s.command.Process.Pid }

// Freeze stops the process from running, without ending it: connections stay open and nothing is answered. It waits
// until no thread runs any more, since the signal alone leaves time for an answer.
func (s *Server) Freeze() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	Await(s.t, "a frozen process", func(context.Context) error { return s.runningThreads() })
}

// runningThreads is an error as long as a thread is not stopped.
func (s *Server) runningThreads() error {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.Pid()))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return err
		}
		// The state follows the name, which is in parentheses and may itself hold some.
		if _, state, _ := strings.Cut(string(content[bytes.LastIndexByte(content, ')'):]), " "); !strings.HasPrefix(state, "T") {
			return fmt.Errorf("%s is in state %.1s", file, state)
		}
	}
	return nil
}

// Thaw lets a frozen process run again.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

// Stop ends the process in order, as a pod's end does.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		s.t.Fatalf("mongod at %s does not end:\n%s", s.Address, s.LogTail())
	}
}

// Kill ends the process at once, as a crash does. An ended process stays ended.
func (s *Server) Kill() {
	if s.command == nil || s.command.Process == nil {
		return
	}
	// The process may have ended already: then there is nobody to signal.
	_ = s.command.Process.Kill()
	<-s.exited
}

func (s *Server) signal(signal os.Signal) {
	s.t.Helper()
	if err := s.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatalf("send %s to mongod at %s: %v", signal, s.Address, err)
	}
}

// Log is the whole log so far.
func (s *Server) Log() string {
	content, err := os.ReadFile(s.path("mongod.log"))
	output, _ := os.ReadFile(s.path("output"))
	if err != nil {
		return string(output)
	}
	return string(output) + string(content)
}

// LogTail is the end of the log, long lines cut.
func (s *Server) LogTail() string {
	const lines, columns = 15, 200
	tail := strings.Split(strings.TrimSpace(s.Log()), "\n")
	tail = tail[max(0, len(tail)-lines):]
	for i, line := range tail {
		tail[i] = line[:min(len(line), columns)]
	}
	return strings.Join(tail, "\n")
}

func (s *Server) path(name string) string { return filepath.Join(s.Directory, name) }

// launch starts the process and waits until it accepts connections; the result is its exit code when it ended instead.
func (s *Server) launch() *int {
	s.t.Helper()
	output, err := os.Create(s.path("output"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = output.Close() }() // the process has its own
	// Not bound to a context: its end must be ours to choose, and the test's clean-up kills it.
	command := exec.CommandContext(context.WithoutCancel(s.t.Context()), s.binary, s.arguments()...)
	command.Stdout, command.Stderr = output, output
	// A test that is killed takes its servers with it.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		s.t.Fatalf("start mongod %s: %v", s.Options.Version, err)
	}
	exited := make(chan struct{})
	go func() {
		// The exit code is in the command's state.
		_ = command.Wait()
		close(exited)
	}()
	s.command, s.exited = command, exited
	return s.awaitPort()
}

func (s *Server) awaitPort() *int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	dialer := net.Dialer{Timeout: pollInterval}
	for {
		select {
		case <-s.exited:
			code := s.command.ProcessState.ExitCode()
			return &code
		case <-ctx.Done():
			s.t.Fatalf("mongod %s at %s does not listen:\n%s", s.Options.Version, s.Address, s.LogTail())
		case <-tick.C:
			if connection, err := dialer.DialContext(ctx, "tcp", s.Address); err == nil {
				_ = connection.Close()
				return nil
			}
		}
	}
}

// arguments puts the files of the server in place and returns the command line.
func (s *Server) arguments() []string {
	s.t.Helper()
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.makeDirectory("data")
	arguments := []string{
		"--dbpath", s.path("data"), "--bind_ip", host, "--port", port, "--nounixsocket",
		"--logpath", s.path("mongod.log"), "--logappend",
		"--setParameter", "diagnosticDataCollectionEnabled=false",
	}
	given := s.Options.Config + strings.Join(s.Options.Args, " ")
	if !strings.Contains(given, "acheSizeGB") {
		arguments = append(arguments, "--wiredTigerCacheSizeGB", "0.25")
	}
	if s.Options.ReplicaSet != "" {
		arguments = append(arguments, "--replSet", s.Options.ReplicaSet)
		if !strings.Contains(given, "oplogSize") {
			arguments = append(arguments, "--oplogSize", "50")
		}
	}
	if s.Options.Role != "" {
		arguments = append(arguments, "--"+s.Options.Role)
	}
	if s.Options.KeyFile != "" {
		arguments = append(arguments, "--keyFile", s.write("keyfile", s.Options.KeyFile))
	}
	if s.Options.Config != "" {
		arguments = append(arguments, "--config", s.write("mongod.conf", s.Options.Config))
	}
	return append(arguments, s.Options.Args...)
}

func (s *Server) makeDirectory(name string) {
	s.t.Helper()
	if err := os.MkdirAll(s.path(name), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) write(name, content string) string {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

// freeAddress is a loopback address that nobody listens on. The ports are below those that outgoing connections get.
func freeAddress(t testing.TB) string {
	t.Helper()
	const first, count, attempts = 20000, 12000, 100
	var config net.ListenConfig
	for range attempts {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(count)))
		listener, err := config.Listen(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatal("no free port on loopback")
	return ""
}

// UnusedAddress is a loopback address that refuses connections.
func UnusedAddress(t testing.TB) string {
	t.Helper()
	return freeAddress(t)
}

// Await polls a condition until it holds, and fails the test with its last error when it does not within a minute.
func Await(t testing.TB, what string, condition func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	last := errors.New("never looked at")
	for {
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come about: %v", what, last)
		case <-tick.C:
			err := condition(ctx)
			if err == nil {
				return
			}
			// The end of the wait itself says nothing.
			if ctx.Err() == nil {
				last = err
			}
		}
	}
}
