// Command cluster runs a real Kubernetes control plane and node on a bare Linux
// machine, for developing and testing the operator where there is neither a
// container engine nor a network beyond the package registries.
//
// It changes nothing on the machine that down does not put back, and never
// signals a process that it has not started.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/build"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/process"
)

const usage = `usage: cluster COMMAND

  up                   build what is missing, start, wait until the node is Ready; repairs what is broken
  status               show the parts and the node; fails unless all is well
  down                 remove the cluster with all its data and put the host's settings back
  load-image FILE...   import image archives into the node
  assets               build only etcd, kube-apiserver and kubectl; print their directory (for envtest)
  kubectl-path         print where kubectl is

CLUSTER_NAME (default "` + layout.DefaultName + `") lets several clusters run side by side.
MONGOTUNING_CACHE is where the built programs are kept.
`

func main() {
	if len(os.Args) > 1 && os.Args[1] == process.LaunchCommand {
		exit(process.Launch(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, os.Args[1:]))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, machine, []string) error{
		"up": up, "status": status, "down": down,
		"load-image": loadImage, "assets": assets, "kubectl-path": kubectlPath,
	}
	if len(args) == 0 {
		return fmt.Errorf("no command given\n%s", usage)
	}
	command, known := commands[args[0]]
	if !known {
		return fmt.Errorf("unknown command %q\n%s", args[0], usage)
	}
	m, err := newMachine()
	if err != nil {
		return err
	}
	return command(ctx, m, args[1:])
}

// machine is what every command needs to know about where it runs.
type machine struct {
	roots layout.Roots
	name  string
	clone string
	boot  string
	cache build.Cache
}

func newMachine() (machine, error) {
	sources, err := sourceDirectory()
	if err != nil {
		return machine{}, err
	}
	name := os.Getenv("CLUSTER_NAME")
	if name == "" {
		name = layout.DefaultName
	}
	if err := layout.CheckName(name); err != nil {
		return machine{}, err
	}
	boot, err := process.Host().Boot()
	if err != nil {
		return machine{}, err
	}
	root, err := build.CacheRoot(os.Getenv)
	if err != nil {
		return machine{}, err
	}
	return machine{
		roots: layout.HostRoots(), name: name, boot: boot,
		clone: filepath.Dir(filepath.Dir(sources)),
		cache: build.Cache{Root: root, Sources: sources, Progress: os.Stderr},
	}, nil
}

// sourceDirectory is hack/cluster of the clone, from wherever in the clone the
// program is run. Links are resolved: the path is the owner's identity.
func sourceDirectory() (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if directory, err = filepath.EvalSymlinks(directory); err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{directory, filepath.Join(directory, "hack", "cluster")} {
			if _, err := os.Stat(filepath.Join(candidate, "parts", "kubernetes", "go.mod")); err == nil {
				return candidate, nil
			}
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return "", errors.New("not inside a clone: hack/cluster not found")
		}
		directory = parent
	}
}
