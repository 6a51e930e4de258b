package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
)

func testLayout(t *testing.T, name string, slot int) layout.Layout {
	t.Helper()
	base := t.TempDir()
	return layout.Layout{
		Name: name, Slot: slot, Clone: base, AdminKubeconfig: filepath.Join(base, ".cluster", "kubeconfig"),
		Roots: layout.Roots{State: filepath.Join(base, "state"), Run: filepath.Join(base, "run")},
	}
}

func TestParseMounts(t *testing.T) {
	const mountinfo = `24 1 8:1 / / rw - ext4 /dev/sda rw
40 24 0:40 / /state/x/kubelet/pods/1/volumes/a rw - tmpfs tmpfs rw
41 24 8:1 /data /state/x/kubelet/a\040b rw - ext4 /dev/sda rw
42 24 8:1 / /state/xy/kubelet rw - ext4 /dev/sda rw
43 24 0:4 net:[1] /run/x/net rw - nsfs nsfs rw
`
	got := parseMounts(mountinfo, []string{"/state/x", "/run/x"})
	want := []string{"/state/x/kubelet/pods/1/volumes/a", "/state/x/kubelet/a b", "/run/x/net"}
	if !slices.Equal(got, want) {
		t.Errorf("parseMounts() = %q, want %q", got, want)
	}
}

// Down goes on after a failure, so whatever it removes must be its own.
func TestRemoveFilesKeepsTheClaimAndOthersFiles(t *testing.T) {
	l := testLayout(t, "x", 1)
	write := func(path string) {
		t.Helper()
		if err := writeFile(path, "content", 0o600); err != nil {
			t.Fatal(err)
		}
	}
	claim, foreign := l.State("cluster.json"), filepath.Join(l.Clone, ".cluster", "other.kubeconfig")
	gone := []string{l.State("etcd", "db"), l.Run("containerd.sock"), l.AdminKubeconfig}
	for _, path := range append(gone, claim, foreign) {
		write(path)
	}
	if err := removeFiles(l); err != nil {
		t.Fatal(err)
	}
	for _, path := range gone {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range []string{claim, foreign} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := removeFiles(l); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestAdminKubeconfigIsPrivateAndIgnored(t *testing.T) {
	l := testLayout(t, "x", 1)
	if err := ensureCredentials(l); err != nil {
		t.Fatal(err)
	}
	if err := writeAdminKubeconfig(l); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(l.AdminKubeconfig)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig has mode %v, %v", info.Mode(), err)
	}
	if content, err := os.ReadFile(ignoreFile(l)); err != nil || string(content) != "*\n" {
		t.Errorf("ignore file = %q, %v", content, err)
	}
	if err := removeAdminKubeconfig(l); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(l.AdminKubeconfig)); !os.IsNotExist(err) {
		t.Error("the directory stays behind")
	}
}

// A path or address of one cluster in the configuration of another would make
// them share what down then removes.
func TestConfigurationsOfTwoClustersShareNothing(t *testing.T) {
	a, b := testLayout(t, "a", 1), testLayout(t, "b", 2)
	tools := Tools{Runc: "/usr/sbin/runc", Nsenter: "/usr/bin/nsenter", CNIPlugins: "/usr/lib/cni"}
	programs := map[string]string{"containerd-shim-runc-v2": "/bin/shim"}
	if _, err := containerd(a, programs, tools); err != nil {
		t.Fatal(err)
	}
	if _, err := kubelet(a, programs); err != nil {
		t.Fatal(err)
	}
	if _, err := dns(a, programs); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{a.State("config", "containerd.toml"), a.State("config", "kubelet.yaml"), a.State("config", "Corefile"), a.State("cni", "conf", "10-node.conflist"), a.State("cni", "bin", cniWrapper)} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, foreign := range []string{b.StateDir(), b.RunDir(), b.HostAddress(), b.PodCIDR(), "<no value>", "/run/containerd", "/opt/"} {
			if strings.Contains(string(content), foreign) {
				t.Errorf("%s mentions %s", filepath.Base(path), foreign)
			}
		}
	}
}
