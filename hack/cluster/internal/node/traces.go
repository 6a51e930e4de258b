package node

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
)

// Directories whose place is fixed in the programs that write there, and which
// other clusters and container engines of the machine may share.
const (
	cniResults      = "/var/lib/cni/results"
	containerLogs   = "/var/log/containers"
	containerdShims = "/run/containerd/s"
)

// removeSharedTraces deletes our entries from shared directories, and such a
// directory only if nothing else is in it.
func removeSharedTraces(l layout.Layout) error {
	var failures []error
	results, _ := filepath.Glob(filepath.Join(cniResults, "*"))
	for _, file := range results {
		// A result names its network namespace, which is below our directory.
		if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(`"`+l.RunDir()+"/")) {
			failures = append(failures, os.Remove(file))
		}
	}
	links, _ := filepath.Glob(filepath.Join(containerLogs, "*.log"))
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, l.StateDir()+"/") {
			failures = append(failures, os.Remove(link))
		}
	}
	for _, socket := range shimSockets(l) {
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			failures = append(failures, err)
		}
	}
	for _, directory := range []string{cniResults, filepath.Dir(cniResults), containerLogs, containerdShims, filepath.Dir(containerdShims)} {
		_ = os.Remove(directory)
	}
	return errors.Join(failures...)
}

// shimSockets reads where the killed shims listened; they are the ones that
// would have removed their sockets.
func shimSockets(l layout.Layout) []string {
	var sockets []string
	for _, name := range []string{"bootstrap.json", "address"} {
		files, _ := filepath.Glob(l.Run("containerd", "io.containerd.runtime.v2.task", "k8s.io", "*", name))
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			if _, rest, found := strings.Cut(string(content), "unix://"+containerdShims+"/"); found {
				name, _, _ := strings.Cut(rest, `"`)
				sockets = append(sockets, filepath.Join(containerdShims, filepath.Base(strings.TrimSpace(name))))
			}
		}
	}
	return sockets
}
