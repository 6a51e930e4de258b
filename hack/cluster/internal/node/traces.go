package node

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
)

// Places that are fixed in the programs that write there, and which other
// clusters and container engines of the machine may share.
const (
	cniResults    = "/var/lib/cni/results"
	containerLogs = "/var/log/containers"
	pluginSocket  = "/var/lib/kubelet/device-plugins/kubelet.sock"
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
	failures = append(failures, removeDeadSocket(pluginSocket))
	plugins := filepath.Dir(pluginSocket)
	for _, directory := range []string{cniResults, filepath.Dir(cniResults), containerLogs, plugins, filepath.Dir(plugins)} {
		_ = os.Remove(directory)
	}
	return errors.Join(failures...)
}

// removeDeadSocket leaves a socket alone that somebody answers on: the kubelet
// of another cluster has then taken the place.
func removeDeadSocket(path string) error {
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return connection.Close()
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
