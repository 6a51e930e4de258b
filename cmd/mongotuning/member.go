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
		return fmt.Errorf("member needs a command: prepare, run or probe")
	}
	switch command, rest := args[0], args[1:]; command {
	case "prepare":
		return prepareMember(rest)
	case "run":
		return runServer(rest)
	case "probe":
		return probeMember(rest)
	default:
		return fmt.Errorf("unknown member command %q: prepare, run or probe", command)
	}
}

func prepareMember(args []string) error {
	flags := flag.NewFlagSet("mongotuning member prepare", flag.ContinueOnError)
	from := flags.String("key-file-from", "", "key file as it is mounted")
	to := flags.String("key-file-to", "", "where the server reads it")
	binary := flags.String("binary-to", "", "where the database container finds this binary")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := member.PrepareKeyFile(*from, *to); err != nil {
		return err
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
