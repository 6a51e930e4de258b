// SPDX-License-Identifier: Apache-2.0

// Command kubectl-mongotuning is the kubectl plugin: kubectl mongotuning status NAME.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/mongotuning/mongotuning/internal/plugin"
)

// version is set by the build of a release.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	out := int(os.Stdout.Fd())
	isTerminal := term.IsTerminal(out)
	width := 0
	if columns, _, err := term.GetSize(out); err == nil {
		width = columns
	}
	command := plugin.New(plugin.Environment{ //nolint:contextcheck // cobra hands the context to the command that runs
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Clock:     clock.RealClock{},
		Terminal:  isTerminal,
		// https://no-color.org: any value that is not empty.
		Colours: isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Width:   width,
		Version: versionOf(),
	})
	err := command.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
	}
	return plugin.ExitCode(err)
}

// versionOf is the release, or the commit it was built from.
func versionOf() string {
	if version != "" {
		return version
	}
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
