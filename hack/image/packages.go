// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// installPackage installs a Debian package where that needs no question asked: as root on a machine with apt. Elsewhere its error
// says what is missing and which package has it.
func installPackage(ctx context.Context, name, purpose string) error {
	missing := fmt.Errorf("missing on this machine: %s; install the package %s (Debian's and Ubuntu's name)", purpose, name)
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return missing
	}
	progress("installing %s", name)
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", name}} {
		command := exec.CommandContext(ctx, "apt-get", args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		command.Stdout, command.Stderr = os.Stderr, os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("%w: apt-get %s: %w", missing, args[0], err)
		}
	}
	return nil
}
