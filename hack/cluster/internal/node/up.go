package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/cgroup"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/image"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/network"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/process"
)

// Up starts what does not run and waits until the node takes pods. Each step
// looks first, so it also repairs a cluster of which parts are gone.
func (c Cluster) Up(ctx context.Context) error {
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"prepare certificates, control groups and network", c.prepare},
		{"start etcd", c.startEtcd},
		{"start API server", c.startAPIServer},
		{"start controllers", c.startControllers},
		{"start containerd", c.startContainerd},
		{"start node", c.startNode},
		{"wait for the node", c.awaitNode},
	}
	for _, step := range steps {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return writeAdminKubeconfig(c.Layout)
}

// ensure starts a part unless it already runs as it should.
func (c Cluster) ensure(spec process.Spec) error {
	started, err := c.supervisor().Ensure(spec)
	if started && err == nil {
		fmt.Fprintf(c.Progress, "[%d/%d] %s started\n", slices.Index(parts, spec.Part)+1, len(parts), spec.Part)
	}
	return err
}

func (c Cluster) prepare(context.Context) error {
	l := c.Layout
	for _, directory := range []string{l.StateDir(), l.RunDir(), l.Run("processes"), l.State("logs"), l.State("etcd"), l.ShimSockets()} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	if err := ensureCredentials(l); err != nil {
		return err
	}
	if err := cgroup.Ensure(l.CgroupRoot()); err != nil {
		return err
	}
	return network.Ensure(l)
}

func (c Cluster) startEtcd(ctx context.Context) error {
	if err := c.ensure(etcd(c.Layout, c.Programs)); err != nil {
		return err
	}
	return c.await(ctx, "etcd", 30*time.Second, c.dial(c.Layout.LoopbackAddress(), layout.EtcdClientPort))
}

func (c Cluster) startAPIServer(ctx context.Context) error {
	if err := c.ensure(apiServer(c.Layout, c.Programs)); err != nil {
		return err
	}
	return c.await(ctx, "kube-apiserver", 90*time.Second, func(ctx context.Context) error {
		if err := c.dial(c.Layout.HostAddress(), layout.APIServerPort)(ctx); err != nil {
			return err
		}
		_, err := c.kubectl(ctx, "", "get", "--raw", "/readyz")
		return err
	})
}

func (c Cluster) startControllers(ctx context.Context) error {
	for _, spec := range []process.Spec{controllerManager(c.Layout, c.Programs), scheduler(c.Layout, c.Programs)} {
		if err := c.ensure(spec); err != nil {
			return err
		}
	}
	_, err := c.kubectl(ctx, storageClass, "apply", "-f", "-")
	return err
}

func (c Cluster) startContainerd(ctx context.Context) error {
	spec, err := containerd(c.Layout, c.Programs, c.Tools)
	if err != nil {
		return err
	}
	if err := c.ensure(spec); err != nil {
		return err
	}
	err = c.await(ctx, "containerd", 30*time.Second, func(ctx context.Context) error {
		_, err := c.ctr(ctx, "version")
		return err
	})
	if err != nil {
		return err
	}
	return c.ensurePauseImage(ctx)
}

// ensurePauseImage also brings the image of a changed program.
func (c Cluster) ensurePauseImage(ctx context.Context) error {
	file := c.Layout.State("pause.tar")
	if err := image.Write(file, pauseImage, c.Programs["pause"]); err != nil {
		return err
	}
	return c.LoadImage(ctx, file)
}

// LoadImage imports an image archive for the node's pods.
func (c Cluster) LoadImage(ctx context.Context, file string) error {
	_, err := c.ctr(ctx, "images", "import", "--local", file)
	return err
}

func (c Cluster) ctr(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // a large image on a slow disk
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Programs["ctr"], append([]string{"--address", c.Layout.ContainerdSocket(), "--namespace", "k8s.io"}, args...)...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return string(output), nil
}

func (c Cluster) startNode(ctx context.Context) error {
	kubeletSpec, kubeletErr := kubelet(c.Layout, c.Programs)
	dnsSpec, dnsErr := dns(c.Layout, c.Programs)
	provisionerSpec, provisionerErr := provisioner(c.Layout, c.Programs)
	if err := errors.Join(kubeletErr, dnsErr, provisionerErr); err != nil {
		return err
	}
	for _, spec := range []process.Spec{kubeletSpec, proxy(c.Layout, c.Programs), dnsSpec, provisionerSpec} {
		if err := c.ensure(spec); err != nil {
			return err
		}
	}
	return nil
}

func (c Cluster) awaitNode(ctx context.Context) error {
	if err := c.await(ctx, "kubelet", 90*time.Second, c.checkKubelet); err != nil {
		return err
	}
	if err := c.await(ctx, "kube-proxy", 30*time.Second, c.dial(c.Layout.NodeAddress(), layout.ProxyHealthPort)); err != nil {
		return err
	}
	if err := c.await(ctx, "coredns", 30*time.Second, c.checkDNS); err != nil {
		return err
	}
	// The first pod of a namespace is refused while its account is missing.
	return c.await(ctx, "kube-controller-manager", 60*time.Second, func(ctx context.Context) error {
		_, err := c.kubectl(ctx, "", "get", "serviceaccount", "default")
		return err
	})
}

// checkDNS asks the server for a name that every cluster has.
func (c Cluster) checkDNS(ctx context.Context) error {
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("%s:%d", c.Layout.HostAddress(), layout.DNSPort))
	}}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
	return err
}

func (c Cluster) dial(address string, port int) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", address, port))
		if err != nil {
			return err
		}
		return connection.Close()
	}
}
