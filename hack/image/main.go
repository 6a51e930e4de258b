// SPDX-License-Identifier: Apache-2.0

// Image builds the project's container images without a container engine, and fetches the MongoDB servers the tests run against.
//
// It owns two images: the operator's, which is shipped, and the MongoDB test image, which never is. Both are reproducible: the same
// inputs give a byte-identical archive, so a changed tag always means a changed content. It never pushes anything anywhere.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

const usage = `usage:
  image mongodb-binaries VERSION                  fetch a MongoDB server for tests and print its directory (run DIR/bin/mongod)
  image mongodb VERSION OUT.tar [MONGOS_BINARY]   build the MongoDB test image and print its reference
  image operator BINARY... OUT.tar                build the operator image, one static binary per platform, and print its reference

Archives are OCI layouts for "ctr images import" and "kind load image-archive". Paths are absolute, because "go run -C" changes the
directory. Fetched files are kept below MONGOTUNING_CACHE (default: mongotuning in the user's cache directory).
`

// errUsage is a wrong command line: the answer is the usage text, not the error alone.
var errUsage = errors.New("wrong arguments")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if errors.Is(err, errUsage) {
		fmt.Fprint(os.Stderr, usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run performs one command. Only the result goes to out, so that a Makefile can take it as it is; progress goes to standard error.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	command, args := args[0], args[1:]
	switch {
	case command == "mongodb-binaries" && len(args) == 1:
		return printed(out)(ensureServer(ctx, args[0]))
	case command == "mongodb" && (len(args) == 2 || len(args) == 3):
		mongos := strings.Join(args[2:], "")
		if err := requireAbsolute(args[1:]...); err != nil {
			return err
		}
		return printed(out)(buildMongoDB(ctx, args[0], args[1], mongos))
	case command == "operator" && len(args) >= 2:
		if err := requireAbsolute(args...); err != nil {
			return err
		}
		last := len(args) - 1
		return printed(out)(buildOperator(args[:last], args[last]))
	default:
		return fmt.Errorf("%w: %s", errUsage, command)
	}
}

// printed writes a command's one result on a line of its own, unless the command returned an error.
func printed(out io.Writer) func(string, error) error {
	return func(result string, err error) error {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, result)
		return err
	}
}

// requireAbsolute refuses relative paths: they would be taken relative to this module, not to where the caller stands.
func requireAbsolute(paths ...string) error {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%w: %s is not an absolute path", errUsage, path)
		}
	}
	return nil
}

// progress tells a waiting person what takes time; it never goes to standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
