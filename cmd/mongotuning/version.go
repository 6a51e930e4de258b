// SPDX-License-Identifier: Apache-2.0

package main

import "runtime/debug"

// version is what the Go toolchain recorded of the build: a module version, or a commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return info.Main.Version
}
