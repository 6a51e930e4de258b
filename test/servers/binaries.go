// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Versions are the releases that tests run against, oldest first: the last patch releases with each behaviour that
// can be had for tests.
func Versions() []string { return []string{"4.2.6", "4.4.2", "5.0.4", "6.0.27"} }

// ForEachVersion runs a test against every version, one after the other, as subtests named by the version.
func ForEachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

// binariesVariable names a directory that holds one directory per version, each with bin/mongod.
const binariesVariable = "MONGODB_BINARIES"

// found are the binaries that the image tool was asked for, by version.
var found = struct {
	sync.Mutex
	paths map[string]string
}{paths: map[string]string{}}

// Binary is the path of a version's mongod. The test fails when there is none.
func Binary(t testing.TB, version string) string {
	t.Helper()
	if directory := os.Getenv(binariesVariable); directory != "" {
		path := filepath.Join(directory, version, "bin", "mongod")
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s has no mongod %s: %v", binariesVariable, version, err)
		}
		return path
	}
	found.Lock()
	defer found.Unlock()
	if path, ok := found.paths[version]; ok {
		return path
	}
	path, err := fetch(t.Context(), version)
	if err != nil {
		t.Fatalf("mongod %s is needed: %v\nrun: go run -C hack/image . mongodb-binaries %s\nor set %s to a directory with %s/bin/mongod",
			version, err, version, binariesVariable, version)
	}
	found.paths[version] = path
	return path
}

// fetch asks the image tool for a version.
func fetch(ctx context.Context, version string) (string, error) {
	tool, err := toolDirectory()
	if err != nil {
		return "", err
	}
	output, err := exec.CommandContext(ctx, "go", "run", "-C", tool, ".", "mongodb-binaries", version).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return "", fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", err
	}
	return filepath.Join(strings.TrimSpace(string(output)), "bin", "mongod"), nil
}

// toolDirectory finds the image tool above the package under test, where tests run.
func toolDirectory() (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		tool := filepath.Join(directory, "hack", "image")
		if _, err := os.Stat(filepath.Join(tool, "go.mod")); err == nil {
			return tool, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return "", errors.New("no directory above holds hack/image")
		}
		directory = parent
	}
}
