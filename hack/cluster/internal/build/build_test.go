package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheRoot(t *testing.T) {
	tests := []struct {
		name    string
		env     map[string]string
		want    string
		wantErr bool
	}{
		{"own variable first", map[string]string{"MONGOTUNING_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a", false},
		{"then the convention", map[string]string{"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/mongotuning", false},
		{"then the home directory", map[string]string{"HOME": "/c"}, "/c/.cache/mongotuning", false},
		{"nothing to go by", nil, "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := CacheRoot(func(name string) string { return test.env[name] })
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("CacheRoot() = %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestPathCarriesTheVersion(t *testing.T) {
	cache := Cache{Root: "/cache", Sources: t.TempDir()}
	got, err := cache.Path(kubernetesPart("kubelet"))
	if want := "/cache/bin/kubelet/" + KubernetesVersion + "/kubelet"; err != nil || got != want {
		t.Errorf("Path() = %q, %v, want %q", got, err, want)
	}
}

func TestPathOfOwnSourceChangesWithIt(t *testing.T) {
	sources := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(sources, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cache := Cache{Root: "/cache", Sources: sources}
	part := Part{Name: "own", Version: "v1", Module: "m", Own: "m/own"}
	path := func() string {
		t.Helper()
		path, err := cache.Path(part)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("m/own/main.go", "a")
	write("m/go.sum", "a")
	first := path()
	write("m/own/main_test.go", "a")
	if path() != first {
		t.Error("a test changed the program's version")
	}
	write("m/own/main.go", "b")
	second := path()
	write("m/go.sum", "b")
	if third := path(); first == second || second == third {
		t.Errorf("versions %s, %s, %s do not follow source and dependencies", first, second, third)
	}
}

func TestEveryPartHasItsModule(t *testing.T) {
	for _, part := range ClusterParts() {
		if _, err := os.Stat(filepath.Join("..", "..", part.Module, "go.mod")); err != nil {
			t.Errorf("%s: %v", part.Name, err)
		}
	}
}

// The version in the path must be the one that is built.
func TestModulesRequireTheNamedVersions(t *testing.T) {
	for module, want := range map[string]string{
		"kubernetes": "k8s.io/kubernetes " + KubernetesVersion,
		"etcd":       "go.etcd.io/etcd/server/v3 " + EtcdVersion,
		"containerd": "github.com/containerd/containerd/v2 " + ContainerdVersion,
		"coredns":    "github.com/coredns/coredns " + CoreDNSVersion,
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", "parts", module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), want) {
			t.Errorf("parts/%s/go.mod does not require %s", module, want)
		}
	}
}
