// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// story is one thing that happens to a settled cluster while applications write to every shard. It ends
// with the cluster settled, the declared values read back from every process, and all data present.
func (c *cluster) story(t *testing.T, sentence string, happens func(t *testing.T)) {
	t.Helper()
	t.Run(sentence, func(t *testing.T) {
		c.expectSettled(t)
		c.unsettled = sentence
		t.Cleanup(func() {
			if t.Failed() {
				c.explain(t)
			}
		})
		started := time.Now()
		writers := c.startWriters(t)
		happens(t)
		c.settle(t)
		c.unsettled = ""
		writers.stop(t)
		c.readBack(t)
		for _, ledger := range c.ledgers {
			ledger.expectComplete(t)
		}
		t.Logf("%s proved, Ready, Available and Verified after %s; all acknowledged data present", c.tuning(t).Status.ProvedMembers, time.Since(started).Round(time.Second))
		writers.report(t)
	})
}

// expectSettled gives a story that failed the time to settle, so that the next one can be told.
func (c *cluster) expectSettled(t *testing.T) {
	t.Helper()
	if c.unsettled == "" {
		return
	}
	tuning := &v1alpha1.MongoTuning{}
	if err := c.kube.Get(t.Context(), c.key(c.name), tuning); err != nil || c.abandoned {
		t.Fatalf("the cluster did not come back from: %s", c.unsettled)
	}
	c.abandoned = true
	c.settle(t)
	c.abandoned = false
}

// explain shows how things stand when a story has failed.
func (c *cluster) explain(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), promptly)
	defer cancel()
	tuning := &v1alpha1.MongoTuning{}
	if err := c.kube.Get(ctx, c.key(c.name), tuning); err != nil {
		t.Logf("the MongoTuning cannot be read: %v", err)
	}
	status, _ := yaml.Marshal(tuning.Status.Conditions)
	t.Logf("generation %d, observed %d, proved %s\n%s", tuning.Generation, tuning.Status.ObservedGeneration, tuning.Status.ProvedMembers, status)
	for _, member := range tuning.Status.Members {
		t.Logf("%s %s %d/%d %v", member.Name, member.Role, member.Proved, member.Declared, member.Mismatches)
	}
	pods, err := c.pods(ctx)
	if err != nil {
		t.Logf("the pods cannot be listed: %v", err)
	}
	for name, pod := range pods {
		t.Logf("pod %s %s ready=%v terminating=%v", name, pod.Status.Phase, isReady(pod), pod.DeletionTimestamp != nil)
	}
	lines := strings.Split(c.operatorLog(ctx), "\n")
	t.Logf("end of the operator's log:\n%s", strings.Join(lines[max(0, len(lines)-40):], "\n"))
}

// operatorPods are the pods of the operator.
func (c *cluster) operatorPods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := c.kube.List(ctx, list, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": operatorName})
	return list.Items, err
}

// operatorLog is the log of the operator's pods that run now.
func (c *cluster) operatorLog(ctx context.Context) string {
	pods, err := c.operatorPods(ctx)
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, pod := range pods {
		all.WriteString(c.log(ctx, pod.Namespace, pod.Name, ""))
	}
	return all.String()
}

// log of a pod's container; the error when it cannot be had.
func (c *cluster) log(ctx context.Context, namespace, pod, container string) string {
	stream, err := c.clientset.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container}).Stream(ctx)
	if err != nil {
		return fmt.Sprintf("log of %s: %v\n", pod, err)
	}
	defer func() { _ = stream.Close() }()
	content, err := io.ReadAll(stream)
	if err != nil {
		return fmt.Sprintf("log of %s: %v\n", pod, err)
	}
	return string(content)
}

// kubectl runs kubectl in the namespace of the test and returns what it prints.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), kubectlPath(t), append([]string{"--namespace", c.namespace}, args...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// kubectlPath is the kubectl of the local cluster, or the one on the PATH where the cluster is another.
func kubectlPath(t *testing.T) string {
	t.Helper()
	if os.Getenv("CLUSTER") == "existing" {
		return "kubectl"
	}
	output, err := exec.CommandContext(t.Context(), "go", "run", "-C", filepath.Join("..", "..", "hack", "cluster"), ".", "kubectl-path").Output()
	if err != nil {
		t.Fatalf("find the local cluster's kubectl: %v", err)
	}
	return strings.TrimSpace(string(output))
}
