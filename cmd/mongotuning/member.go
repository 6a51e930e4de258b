// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/mongotuning/mongotuning/internal/member"
)

// probeDeadline is below the kubelet's own, so that the reason is told rather than a timeout.
const probeDeadline = 4 * time.Second

// runMember does what the database pods need; its commands are written by the operator into the pods.
func runMember(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("member needs a command: prepare, run, probe or trial")
	}
	switch command, rest := args[0], args[1:]; command {
	case "prepare":
		return prepareMember(rest)
	case "run":
		return runServer(rest)
	case "probe":
		return probeMember(rest)
	case "trial":
		return tryServer(rest)
	default:
		return fmt.Errorf("unknown member command %q: prepare, run, probe or trial", command)
	}
}

func prepareMember(args []string) error {
	flags := flag.NewFlagSet("mongotuning member prepare", flag.ContinueOnError)
	from := flags.String("key-file-from", "", "key file as it is mounted; none for a server without one")
	to := flags.String("key-file-to", "", "where the server reads it")
	binary := flags.String("binary-to", "", "where the database container finds this binary")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *from != "" {
		if err := member.PrepareKeyFile(*from, *to); err != nil {
			return err
		}
	}
	return member.CopySelf(*binary)
}

// runServer becomes the server. Limits that cannot be raised are told and are no reason not to start.
func runServer(args []string) error {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if err := member.RaiseLimits(); err != nil {
		fmt.Fprintln(os.Stderr, "mongotuning:", err)
	}
	return member.Exec(args)
}

func probeMember(args []string) error {
	flags := flag.NewFlagSet("mongotuning member probe", flag.ContinueOnError)
	question := flags.String("question", string(member.Ready), "started or ready")
	address := flags.String("address", "127.0.0.1:27017", "server to ask")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeDeadline)
	defer cancel()
	return member.Probe(ctx, *address, member.Question(*question))
}

// trialDeadline is how long a server may take to come up on an empty directory.
const trialDeadline = 90 * time.Second

// terminationLog is where Kubernetes reads a container's last words.
const terminationLog = "/dev/termination-log"

// tryServer starts the server once and tells in the container's last words why it did not come up.
func tryServer(args []string) error {
	flags := flag.NewFlagSet("mongotuning member trial", flag.ContinueOnError)
	address := flags.String("address", "127.0.0.1:27017", "where the server has to answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), trialDeadline)
	defer cancel()
	err := member.Trial(ctx, flags.Args(), *address)
	if err != nil {
		// Without last words the message of the object only says that the trial failed.
		_ = os.WriteFile(terminationLog, []byte(err.Error()), 0o600)
	}
	return err
}
