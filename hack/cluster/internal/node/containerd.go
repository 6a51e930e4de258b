package node

import (
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/process"
)

// pauseImage has the full name because containerd compares it as written.
const pauseImage = "localhost/pause:1"

// containerdConfig keeps every file below our own directories; the defaults
// would mix with another container engine on the same machine.
var containerdConfig = template.Must(template.New("containerd").Parse(`version = 3
root = "{{.Root}}"
state = "{{.State}}"
# erofs needs a tool that most machines lack; without these two lines its
# absence takes the whole CRI service away.
disabled_plugins = ["io.containerd.differ.v1.erofs", "io.containerd.snapshotter.v1.erofs"]

[grpc]
  address = "{{.Socket}}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{{.Root}}/opt"

[plugins."io.containerd.shim.v1.manager"]
  socket_dir = "{{.ShimSockets}}"

[plugins."io.containerd.nri.v1.nri"]
  disable = true

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{{.PauseImage}}"

[plugins."io.containerd.cri.v1.runtime"]
  # A root user without CAP_SYS_RESOURCE may not lower the score, and the
  # runtime would end every sandbox over it.
  restrict_oom_score_adj = true
  # A profile would stay loaded in the kernel after the cluster is gone.
  disable_apparmor = true
  netns_mounts_under_state_dir = true

[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["{{.CNIOwn}}", "{{.CNIPlugins}}"]
  conf_dir = "{{.CNIConfig}}"
  use_internal_loopback = true

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  runtime_path = "{{.Shim}}"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "{{.Runc}}"
  Root = "{{.State}}/runc"
  SystemdCgroup = false
`))

// cniConfig routes each pod over a device of its own instead of a bridge:
// then a packet between two pods passes the node's rules without the bridge
// netfilter module, which would be one more setting of the host to change.
const cniConfig = `{
  "cniVersion": "1.0.0",
  "name": %q,
  "plugins": [{
    "type": %q,
    "ipam": {
      "type": "host-local",
      "dataDir": %q,
      "ranges": [[{"subnet": %q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// cniWrapper is the plugin's name; containerd runs on the host's side, while
// the pods' devices belong into the node's network namespace.
const cniWrapper = "ptp-in-node"

// containerd is the part and its configuration.
func containerd(l layout.Layout, programs map[string]string, tools Tools) (process.Spec, error) {
	config := l.State("config", "containerd.toml")
	err := writeTemplate(config, containerdConfig, map[string]string{
		"Root": l.State("containerd"), "State": l.Run("containerd"), "Socket": l.ContainerdSocket(), "ShimSockets": l.ShimSockets(),
		"PauseImage": pauseImage, "Shim": programs["containerd-shim-runc-v2"], "Runc": tools.Runc,
		"CNIOwn": l.State("cni", "bin"), "CNIPlugins": tools.CNIPlugins, "CNIConfig": l.State("cni", "conf"),
	})
	if err != nil {
		return process.Spec{}, err
	}
	if err := writeCNI(l, tools); err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Part: "containerd", Program: programs["containerd"], Log: l.LogFile("containerd"),
		Args:  []string{"--config", config},
		Path:  filepath.Dir(programs["containerd-shim-runc-v2"]),
		Files: []string{config},
	}, nil
}

func writeCNI(l layout.Layout, tools Tools) error {
	wrapper := fmt.Sprintf("#!/bin/sh\nexec %s --net=%s -- %s\n", tools.Nsenter, l.Netns(), filepath.Join(tools.CNIPlugins, "ptp"))
	if err := writeFile(l.State("cni", "bin", cniWrapper), wrapper, 0o755); err != nil {
		return err
	}
	conf := fmt.Sprintf(cniConfig, cniNetwork(l), cniWrapper, l.State("cni", "ipam"), l.PodCIDR())
	return writeFile(l.State("cni", "conf", "10-node.conflist"), conf, 0o644)
}

// cniNetwork names the network; the CNI library uses it in file names of a
// directory that all networks of the machine share.
func cniNetwork(l layout.Layout) string { return "mongotuning-cluster-" + l.Name }

func writeTemplate(path string, text *template.Template, values any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make configuration directory: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	defer file.Close()
	if err := text.Execute(file, values); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Close()
}

func writeFile(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make configuration directory: %w", err)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(content), mode); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return os.Rename(temporary, path)
}
