// SPDX-License-Identifier: Apache-2.0

// Command mongotuning is the one binary of the operator's image: the operator itself, and what it puts
// into the database pods.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

const usage = `Usage: mongotuning COMMAND [flags]

Commands:
  manager   run the operator
  member    prepare, run and probe a database pod
  load      put a measured load on a cluster
  host-tune apply, restore and serve settings of a node
  version   print the version

Each command lists its flags with --help.
`

func main() {
	err := run(os.Args[1:])
	if code, ok := errors.AsType[exitCode](err); ok {
		os.Exit(int(code))
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mongotuning:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command given\n\n%s", usage)
	}
	switch command, rest := args[0], args[1:]; command {
	case "manager":
		return runManager(rest)
	case "member":
		return runMember(rest)
	case "load":
		return runLoad(rest)
	case "host-tune":
		return runHostTune(rest)
	case "version":
		fmt.Println(version())
		return nil
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	default:
		return fmt.Errorf("unknown command %q\n\n%s", command, usage)
	}
}
