package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/cgroup"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/network"
)

// Down removes every trace of a cluster but its claim. It needs nothing that
// was built, goes on after a failure, and may be repeated.
func Down(ctx context.Context, l layout.Layout, progress io.Writer) error {
	steps := []struct {
		name string
		run  func(layout.Layout) error
	}{
		// The kubelet goes before its pods, or it would start them again.
		{"stop node services", stopParts("storage-provisioner", "coredns", "kube-proxy", "kubelet")},
		{"kill pods", func(l layout.Layout) error { return cgroup.Remove(l.CgroupRoot()) }},
		{"end container shims", endShims},
		{"stop containerd and control plane", stopParts("containerd", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")},
		{"unmount", unmountAll},
		{"remove network", network.Remove},
		{"remove shared traces", removeSharedTraces},
		{"remove files", removeFiles},
	}
	var failures []error
	for _, step := range steps {
		if ctx.Err() != nil {
			return errors.Join(append(failures, ctx.Err())...)
		}
		if err := step.run(l); err != nil {
			fmt.Fprintf(progress, "%s: %v\n", step.name, err)
			failures = append(failures, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return errors.Join(failures...)
}

func stopParts(names ...string) func(layout.Layout) error {
	return func(l layout.Layout) error {
		var failures []error
		for _, name := range names {
			failures = append(failures, Supervisor(l).Stop(name))
		}
		return errors.Join(failures...)
	}
}

// endShims kills the shims of this cluster. They are started by containerd and
// outlive it; their command line names the socket, which no other cluster has.
func endShims(l layout.Layout) error {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		shims := findShims(l.ContainerdSocket())
		if len(shims) == 0 {
			return nil
		}
		for _, pid := range shims {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("shims %v do not end", findShims(l.ContainerdSocket()))
}

func findShims(socket string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		arguments := strings.Split(string(content), "\x00")
		if !strings.HasPrefix(filepath.Base(arguments[0]), "containerd-shim") {
			continue
		}
		for _, argument := range arguments[1:] {
			if argument != socket {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// unmountAll detaches what kubelet and containerd have mounted below our
// directories, innermost first.
func unmountAll(l layout.Layout) error {
	mounts, err := mountsBelow(l.StateDir(), l.RunDir())
	if err != nil {
		return err
	}
	var failures []error
	for i := len(mounts) - 1; i >= 0; i-- {
		if mounts[i] == l.Netns() {
			continue // goes with the network
		}
		if err := syscall.Unmount(mounts[i], syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			failures = append(failures, fmt.Errorf("%s: %w", mounts[i], err))
		}
	}
	return errors.Join(failures...)
}

// mountsBelow lists mount points in the order they were mounted.
func mountsBelow(directories ...string) ([]string, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return parseMounts(string(content), directories), nil
}

func parseMounts(mountinfo string, directories []string) []string {
	var found []string
	for _, line := range strings.Split(mountinfo, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescape.Replace(fields[4])
		for _, directory := range directories {
			if strings.HasPrefix(point, directory+"/") {
				found = append(found, point)
				break
			}
		}
	}
	return found
}

// unescape undoes what the kernel does to names in its mount table.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// removeFiles deletes the directories, all but the claim. It refuses while
// anything is mounted below: a volume mounted from elsewhere would be emptied
// through its mount.
func removeFiles(l layout.Layout) error {
	mounts, err := mountsBelow(l.StateDir(), l.RunDir())
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("still mounted: %s", strings.Join(mounts, ", "))
	}
	if err := errors.Join(os.RemoveAll(l.RunDir()), os.RemoveAll(l.ShimSockets())); err != nil {
		return err
	}
	entries, err := os.ReadDir(l.StateDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var failures []error
	for _, entry := range entries {
		if entry.Type().IsRegular() && strings.HasSuffix(entry.Name(), "cluster.json") {
			continue
		}
		failures = append(failures, os.RemoveAll(l.State(entry.Name())))
	}
	return errors.Join(append(failures, removeAdminKubeconfig(l))...)
}
