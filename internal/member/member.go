// SPDX-License-Identifier: Apache-2.0

// Package member is what runs inside the database pods: it prepares the key file, raises the limits
// before the server starts, and answers the kubelet's probes. It knows nothing of Kubernetes.
package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Question is what a probe asks.
type Question string

// The questions of the probes.
const (
	// Started asks whether the server answers at all.
	Started Question = "started"
	// Ready asks whether it serves: a primary or secondary, or a router.
	Ready Question = "ready"
)

// Probe greets the server at an address and answers a question about it. The error says why the answer
// is no. Greeting takes no credentials.
func Probe(ctx context.Context, address string, question Question) error {
	reply, err := greet(ctx, address)
	switch {
	case err != nil:
		return err
	case question == Started:
		return nil
	case question != Ready:
		return fmt.Errorf("unknown question %q: ask %s or %s", question, Started, Ready)
	case reply["msg"] == "isdbgrid":
		return nil
	case reply["setName"] == nil:
		return errors.New("the member belongs to no replica set yet")
	case reply.isTrue("isWritablePrimary") || reply.isTrue("ismaster") || reply.isTrue("secondary"):
		return nil
	default:
		return errors.New("the member is neither primary nor secondary")
	}
}

// keyFileMode is the only kind of mode that mongod takes for a key file: nobody but the owner reads it.
const keyFileMode = 0o400

// binaryMode lets the user of the database container run the binary.
const binaryMode = 0o555

// PrepareKeyFile copies the key file with the mode that mongod insists on.
func PrepareKeyFile(from, to string) error {
	return place(from, to, keyFileMode)
}

// CopySelf copies the running binary, so that the database container, whose image knows nothing of us,
// can be probed with it.
func CopySelf(to string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	return place(self, to, binaryMode)
}

// place copies a file under a temporary name and renames it, so that there is never half of it.
func place(from, to string, mode os.FileMode) error {
	source, err := os.Open(filepath.Clean(from))
	if err != nil {
		return fmt.Errorf("open %s: %w", from, err)
	}
	defer func() { _ = source.Close() }()
	temporary, err := os.CreateTemp(filepath.Dir(to), ".placing-*")
	if err != nil {
		return fmt.Errorf("create a file beside %s: %w", to, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // gone already once renamed
	_, err = io.Copy(temporary, source)
	if err = errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	if err := os.Rename(temporary.Name(), to); err != nil {
		return fmt.Errorf("put %s in place: %w", to, err)
	}
	return nil
}

// limitProcesses is RLIMIT_NPROC on Linux; package syscall does not name it.
const limitProcesses = 6

// RaiseLimits raises the soft limits of open files and of processes to the hard ones: a server has a
// thread and a file for each connection. What the container runtime set as hard limit stays.
func RaiseLimits() error {
	for name, resource := range map[string]int{"open files": syscall.RLIMIT_NOFILE, "processes": limitProcesses} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(resource, &limit); err != nil {
			return fmt.Errorf("read limit of %s: %w", name, err)
		}
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(resource, &limit); err != nil {
			return fmt.Errorf("raise limit of %s: %w", name, err)
		}
	}
	return nil
}

// Exec becomes the program of the command line. It returns only an error.
func Exec(command []string) error {
	if len(command) == 0 {
		return errors.New("no command to run")
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("find %s: %w", command[0], err)
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, command, os.Environ())) //nolint:gosec // running what the pod declares is the purpose
}
