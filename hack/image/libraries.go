// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packageOfLibrary names the Debian package of each library that a server needs and a small machine may lack. The last two are
// needed by the server for OpenSSL 3 only.
var packageOfLibrary = map[string]string{
	"libcurl.so.4":   "libcurl4",
	"liblzma.so.5":   "liblzma5",
	"libssl.so.3":    "libssl3",
	"libcrypto.so.3": "libssl3",
}

// missingLibraryError is a library that the loader does not find.
type missingLibraryError struct{ library string }

func (e missingLibraryError) Error() string {
	return fmt.Sprintf("the library %s is missing on this machine", e.library)
}

// serverLibraries returns the files of every library that a cached server loads, its own and the system's, with the loader.
func serverLibraries(ctx context.Context, directory string) ([]string, error) {
	command := exec.CommandContext(ctx, "ldd", filepath.Join(directory, "libexec", "mongod"))
	command.Env = append(os.Environ(), "LC_ALL=C", "LD_LIBRARY_PATH="+filepath.Join(directory, "lib"))
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s with ldd: %w", directory, err)
	}
	return parseLdd(string(output))
}

// parseLdd reads ldd's answer. Its lines are "name => path (address)", "name => not found", "/path/of/loader (address)" and, for
// what the kernel provides, "name (address)".
func parseLdd(output string) ([]string, error) {
	var paths []string
	for line := range strings.Lines(output) {
		name, target, hasTarget := strings.Cut(strings.TrimSpace(line), " => ")
		if hasTarget && strings.HasPrefix(target, "not found") {
			return nil, missingLibraryError{library: name}
		}
		if !hasTarget {
			target = name
		}
		path, _, _ := strings.Cut(target, " (")
		if filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("ldd named no library: %q", output)
	}
	return paths, nil
}
