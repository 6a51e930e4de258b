// Package node runs one cluster on this machine: a control plane and one node,
// all of them the real programs, each an own process.
package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/process"
)

// Cluster is a claimed cluster together with the programs it runs.
type Cluster struct {
	Layout layout.Layout
	// Programs are the built parts by name.
	Programs map[string]string
	Tools    Tools
	Progress io.Writer
}

// parts in the order in which they start; they stop in the reverse one.
var parts = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
	"containerd", "kubelet", "kube-proxy", "coredns", "storage-provisioner",
}

func (c Cluster) supervisor() process.Supervisor { return Supervisor(c.Layout) }

// Supervisor keeps the process records of a cluster.
func Supervisor(l layout.Layout) process.Supervisor {
	return process.Supervisor{Directory: l.Run("processes"), Proc: process.Host()}
}

// OwnerPID is a process that stands for the running cluster, or 0.
func OwnerPID(l layout.Layout) int {
	for _, part := range []string{"kube-apiserver", "etcd", "containerd", "kubelet"} {
		if record, running := Supervisor(l).Find(part); running {
			return record.PID
		}
	}
	return 0
}

// kubectl runs a command as the cluster's administrator and returns its output.
func (c Cluster) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Programs["kubectl"], append([]string{"--kubeconfig=" + c.Layout.Kubeconfig(userAdmin)}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// errNotReady is the answer of a node that exists but is not ready.
var errNotReady = errors.New("node is not Ready")

// checkNode asks the API server whether the node is Ready.
func (c Cluster) checkNode(ctx context.Context) error {
	const query = `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}`
	output, err := c.kubectl(ctx, "", "get", "node", c.Layout.Name, "--request-timeout=5s", "-o", query)
	if err != nil {
		return err
	}
	if state, message, _ := strings.Cut(output, " "); state != "True" {
		return fmt.Errorf("%w: %s", errNotReady, message)
	}
	return nil
}

// checkKubelet asks the kubelet itself, through the API server. The node's
// Ready condition alone is no proof: it stays for a while when a kubelet dies,
// and a fresh one says it before it knows the pods that run already.
func (c Cluster) checkKubelet(ctx context.Context) error {
	if err := c.checkNode(ctx); err != nil {
		return err
	}
	known, err := c.kubectl(ctx, "", "get", "--raw", "/api/v1/nodes/"+c.Layout.Name+"/proxy/pods")
	if err != nil {
		return err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(known), &list); err != nil {
		return fmt.Errorf("parse the kubelet's pods: %w", err)
	}
	assigned, err := c.kubectl(ctx, "", "get", "pods", "--all-namespaces", "--field-selector=spec.nodeName="+c.Layout.Name, "-o", "name")
	if err != nil {
		return err
	}
	if len(list.Items) == 0 && assigned != "" {
		return errors.New("the kubelet does not know its pods yet")
	}
	return nil
}

// await repeats a check until it succeeds. It gives up when the time is over or
// the part's process has ended, and then shows the part's last words.
func (c Cluster) await(ctx context.Context, part string, limit time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		log := c.Layout.LogFile(part)
		if _, running := c.supervisor().Find(part); !running {
			return fmt.Errorf("%s has ended: %w\n%s", part, err, process.Tail(log, 15))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer within %s: %w\n%s", part, limit, err, process.Tail(log, 15))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
