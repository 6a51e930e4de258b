// Package build compiles the cluster's programs from their Go modules and keeps
// them by version in a cache outside the clone, so that a second clone or a
// fresh checkout need not compile them again.
package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Versions of the parts; the modules below parts/ require exactly these.
const (
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.8"
	ContainerdVersion = "v2.3.0"
	CoreDNSVersion    = "v1.14.2"
)

// Part is one program to build.
type Part struct {
	Name    string
	Version string
	// Module is the directory of the build module, relative to hack/cluster.
	Module string
	// Package is what to build, as seen from that module.
	Package string
	LDFlags string
	Tags    string
	// Own is the directory with our own source, if the part has one. Its
	// content then belongs to the version: there is no release to name it.
	Own string
}

// AssetParts is what envtest needs: a control plane without a node.
func AssetParts() []Part {
	return []Part{
		{Name: "etcd", Version: EtcdVersion, Module: "parts/etcd", Package: "go.etcd.io/etcd/server/v3"},
		kubernetesPart("kubectl"),
		kubernetesPart("kube-apiserver"),
	}
}

// ClusterParts is everything a node runs, slowest first within a module because
// the later ones reuse what it compiled.
func ClusterParts() []Part {
	return append(AssetParts(),
		kubernetesPart("kubelet"),
		kubernetesPart("kube-controller-manager"),
		kubernetesPart("kube-scheduler"),
		kubernetesPart("kube-proxy"),
		Part{Name: "storage-provisioner", Version: KubernetesVersion, Module: "parts/kubernetes", Package: "./storage-provisioner", Own: "parts/kubernetes/storage-provisioner"},
		containerdPart("containerd"),
		containerdPart("containerd-shim-runc-v2"),
		containerdPart("ctr"),
		Part{Name: "coredns", Version: CoreDNSVersion, Module: "parts/coredns", Package: ".", Own: "parts/coredns"},
		Part{Name: "pause", Version: "v1", Module: ".", Package: "./parts/pause", Own: "parts/pause"},
	)
}

// kubernetesPart sets the version as a release build does: kubectl and kubelet
// compare theirs with the API server's and complain about an empty one.
func kubernetesPart(name string) Part {
	numbers := strings.Split(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	const at = "-X k8s.io/component-base/version."
	return Part{
		Name: name, Version: KubernetesVersion,
		Module: "parts/kubernetes", Package: "k8s.io/kubernetes/cmd/" + name,
		LDFlags: at + "gitVersion=" + KubernetesVersion + " " + at + "gitMajor=" + numbers[0] + " " + at + "gitMinor=" + numbers[1],
	}
}

// containerdPart leaves out the snapshotters that need libraries or kernel
// modules which a bare machine lacks.
func containerdPart(name string) Part {
	return Part{
		Name: name, Version: ContainerdVersion,
		Module: "parts/containerd", Package: "github.com/containerd/containerd/v2/cmd/" + name,
		LDFlags: "-X github.com/containerd/containerd/v2/version.Version=" + ContainerdVersion,
		Tags:    "no_btrfs,no_devmapper,no_zfs",
	}
}

// directory is the part's place in the cache, relative to it.
func (p Part) directory(sources string) (string, error) {
	version := p.Version
	if p.Own != "" {
		sum, err := hashSources(filepath.Join(sources, p.Own), filepath.Join(sources, p.Module, "go.sum"))
		if err != nil {
			return "", fmt.Errorf("hash the source of %s: %w", p.Name, err)
		}
		version += "-" + sum
	}
	return filepath.Join("bin", p.Name, version), nil
}

// hashSources covers every file of a directory and one more that may be absent.
func hashSources(directory, sums string) (string, error) {
	var files []string
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(sums); err == nil {
		files = append(files, sums)
	}
	sort.Strings(files)
	sum := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n", filepath.Base(file), len(content))
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}
