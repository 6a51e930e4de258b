// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// busyboxPaths are where an installed busybox is, seen from the root it was installed to.
var busyboxPaths = []string{"bin/busybox", "usr/bin/busybox"}

// ensureBusybox returns a statically linked busybox, the test image's shell: this machine's own or the one of Debian's package,
// which is unpacked into the cache and not installed. It has no pin in the table because apt checks it against Debian's signed
// index, and because mirrors drop a version when the next one comes.
func ensureBusybox(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	target := filepath.Join(cache, "downloads", "busybox-static")
	err = fillOnce(ctx, target, func(temporary string) error {
		if installed := staticBusybox("/"); installed != "" {
			return copyFile(installed, temporary)
		}
		directory, err := os.MkdirTemp("", "busybox-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(directory)
		if err := downloadBusybox(ctx, directory); err != nil {
			return fmt.Errorf("missing on this machine: a statically linked busybox; "+
				"install the package busybox-static (Debian's and Ubuntu's name): %w", err)
		}
		return copyFile(staticBusybox(directory), temporary)
	})
	return target, err
}

// downloadBusybox unpacks Debian's package below directory.
func downloadBusybox(ctx context.Context, directory string) error {
	progress("downloading busybox-static with apt")
	download := func() error { return runIn(ctx, directory, "apt-get", "download", "-qq", "busybox-static") }
	err := download()
	if err != nil && os.Geteuid() == 0 {
		// A fresh container image has no package lists.
		err = errors.Join(runIn(ctx, directory, "apt-get", "update", "-qq"), download())
	}
	if err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(directory, "busybox-static_*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("apt-get download left %d packages, wanted one", len(packages))
	}
	if err := runIn(ctx, directory, "dpkg-deb", "--extract", packages[0], directory); err != nil {
		return err
	}
	if staticBusybox(directory) == "" {
		return fmt.Errorf("%s holds no statically linked busybox", filepath.Base(packages[0]))
	}
	return nil
}

// runIn runs a quiet command and shows its words only if it fails.
func runIn(ctx context.Context, directory, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, output)
	}
	return nil
}

// staticBusybox returns the statically linked busybox below root, or nothing.
func staticBusybox(root string) string {
	for _, path := range busyboxPaths {
		path = filepath.Join(root, path)
		if _, err := staticPlatform(path); err == nil {
			return path
		}
	}
	return ""
}

func copyFile(source, target string) error {
	content, err := os.Open(source)
	if err != nil {
		return err
	}
	defer content.Close()
	return writeFile(target, content, 0o755)
}
