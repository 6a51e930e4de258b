// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Files of the machine that these stories change.
const (
	swappiness = "/proc/sys/vm/swappiness"
	hugePages  = "/sys/kernel/mm/transparent_hugepage/enabled"
	somaxconn  = "/proc/sys/net/core/somaxconn"
)

// TestHostTuning tunes the node that the tests themselves run on, reads every value back from it, and
// finds it at the end as it was.
func TestHostTuning(t *testing.T) {
	if os.Getenv("CLUSTER") == "existing" {
		t.Fatal("these stories read the node's own files, so they need the local cluster: make e2e without CLUSTER=existing, or leave them out with -skip TestHostTuning")
	}
	c := newCluster(t, "mongotuning-e2e-host", "host")
	c.enforces(t, "baseline")
	before := machine(t)
	for _, story := range []struct {
		sentence string
		happens  func(t *testing.T)
	}{
		{"a namespace without privileged pods is told what to do, and goes on by itself", func(t *testing.T) { c.asksForPrivileges(t, before) }},
		{"the node and the pod have the declared values", func(t *testing.T) { c.tunesItsNode(t, before) }},
		{"a value that somebody else writes is put back", c.correctsItsNode},
		{"another value restarts nobody", c.changesItsNode},
		{"a mask that is too wide is cut and told, or refused, as chosen", c.cutsItsMask},
		{"a deleted object leaves the node as it was", func(t *testing.T) { c.leavesItsNode(t, before) }},
		{"a deleted namespace does not hang, and the node can be put back by hand", func(t *testing.T) { c.losesItsNamespace(t, before) }},
	} {
		if !t.Run(story.sentence, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					c.explain(t)
				}
			})
			story.happens(t)
		}) {
			return
		}
	}
}

// enforces lets the namespace take pods up to a level of Pod Security.
func (c *cluster) enforces(t *testing.T, level string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	patch := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"` + level + `"}}}`
	if err := c.kube.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType, []byte(patch)), fieldOwner); err != nil {
		t.Fatal(err)
	}
}

// content of a file of the machine, in one line.
func content(t *testing.T, path string) string {
	t.Helper()
	read, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(read))
}

// steering are the files of the default route's device that say which CPUs share its packets.
func steering(t *testing.T) []string {
	t.Helper()
	for _, line := range strings.Split(content(t, "/proc/net/route"), "\n")[1:] {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[1] == "00000000" {
			files, err := filepath.Glob("/sys/class/net/" + fields[0] + "/queues/rx-*/rps_cpus")
			if err != nil || len(files) == 0 {
				t.Fatalf("%s has no receive queues: %v", fields[0], err)
			}
			return files
		}
	}
	t.Fatal("the machine has no default route")
	return nil
}

// machine is what these stories change.
func machine(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, path := range append(steering(t), swappiness, hugePages, somaxconn) {
		values[path] = content(t, path)
	}
	return values
}

// small is the least cluster with host tuning.
func (c *cluster) small(t *testing.T) *v1alpha1.MongoTuning {
	t.Helper()
	tuning := c.sample(t)
	tuning.Spec.Shards.Count, tuning.Spec.Shards.Members, tuning.Spec.ConfigServers.Members = 1, 1, 1
	tuning.Spec.DataRetention = v1alpha1.DataRetentionDelete
	tuning.Spec.HostTuning = &v1alpha1.HostTuningSpec{
		Mode: v1alpha1.HostTuningInitContainer,
		Sysctls: []v1alpha1.Sysctl{
			{Name: "vm.swappiness", Value: "1"},
			{Name: "net.core.somaxconn", Value: "2048"},
		},
		TransparentHugePages:  v1alpha1.TransparentHugePagesNever,
		ReceivePacketSteering: &v1alpha1.ReceivePacketSteering{CPUs: v1alpha1.CPUSelection{Mode: v1alpha1.CPUsAllButFirst}},
	}
	return tuning
}

func (c *cluster) asksForPrivileges(t *testing.T, before map[string]string) {
	g := gomega.NewWithT(t)
	c.create(t, c.small(t))
	command := "kubectl label namespace " + c.namespace + " pod-security.kubernetes.io/enforce=privileged --overwrite"
	await(t, promptly, "the object does not stall", func(g gomega.Gomega) {
		tuning := c.tuning(t)
		g.Expect(reasonOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(v1alpha1.ReasonPodRefused))
		g.Expect(messageOf(tuning, v1alpha1.ConditionStalled)).To(gomega.ContainSubstring(command))
	})
	g.Consistently(func() (map[string]corev1.Pod, error) { return c.pods(t.Context()) }).
		WithTimeout(promptly/4).WithPolling(polling*4).Should(gomega.BeEmpty(), "no pod is made that would be missed")
	g.Expect(machine(t)).To(gomega.Equal(before))
	c.kubectl(t, strings.Fields(command)[1:]...)
	c.settle(t)
}

func (c *cluster) tunesItsNode(t *testing.T, before map[string]string) {
	g := gomega.NewWithT(t)
	await(t, promptly, "the node is not tuned", func(g gomega.Gomega) {
		g.Expect(statusOf(c.tuning(t), v1alpha1.ConditionHostTuned)).To(gomega.Equal(metav1.ConditionTrue), messageOf(c.tuning(t), v1alpha1.ConditionHostTuned))
	})
	g.Expect(content(t, swappiness)).To(gomega.Equal("1"))
	g.Expect(content(t, hugePages)).To(gomega.ContainSubstring("[never]"))
	for _, file := range steering(t) {
		g.Expect(mask(t, file)).To(gomega.Equal(uint64(1)<<runtime.NumCPU()-2), "all CPUs but the first: %s", file)
	}
	// The network of the pod is its own.
	g.Expect(content(t, somaxconn)).To(gomega.Equal(before[somaxconn]))
	for _, name := range c.allMembers(t) {
		inPod := c.kubectl(t, "exec", name, "-c", "mongodb", "--", "cat", somaxconn)
		g.Expect(strings.TrimSpace(inPod)).To(gomega.Equal("2048"), name)
	}
	status := c.tuning(t).Status.HostTuning
	g.Expect(status.Nodes).To(gomega.HaveLen(1))
	g.Expect(status.NodesTouched).To(gomega.Equal([]string{status.Nodes[0].Name}))
	found := c.setting(t, "vm.swappiness")
	g.Expect(found.Found).To(gomega.Equal(before[swappiness]), "the value found first")
	g.Expect(found.Result).To(gomega.Equal(v1alpha1.HostApplied))
}

func mask(t *testing.T, file string) uint64 {
	t.Helper()
	value, err := strconv.ParseUint(strings.ReplaceAll(content(t, file), ",", ""), 16, 64)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return value
}

// setting is the report of the first setting whose name begins so.
func (c *cluster) setting(t *testing.T, name string) v1alpha1.HostSettingStatus {
	t.Helper()
	for _, node := range c.tuning(t).Status.HostTuning.Nodes {
		for _, setting := range node.Settings {
			if strings.HasPrefix(setting.Name, name) {
				return setting
			}
		}
	}
	return v1alpha1.HostSettingStatus{}
}

func (c *cluster) correctsItsNode(t *testing.T) {
	if err := os.WriteFile(swappiness, []byte("33"), 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, settling, "the value is not put back", func(g gomega.Gomega) {
		g.Expect(content(t, swappiness)).To(gomega.Equal("1"))
	})
	c.settle(t)
}

func (c *cluster) changesItsNode(t *testing.T) {
	g := gomega.NewWithT(t)
	before := c.podsNow(t)
	c.patch(t, `{"spec":{"hostTuning":{"sysctls":[{"name":"vm.swappiness","value":"10"},{"name":"net.core.somaxconn","value":"1024"}]}}}`)
	await(t, settling, "the node does not follow", func(g gomega.Gomega) {
		g.Expect(content(t, swappiness)).To(gomega.Equal("10"))
	})
	c.settle(t)
	after := c.podsNow(t)
	g.Expect(uids(after)).To(gomega.Equal(uids(before)), "a change of host settings restarts nothing")
	g.Expect(restarts(after)).To(gomega.Equal(restarts(before)))
	for _, name := range c.allMembers(t) {
		inPod := c.kubectl(t, "exec", name, "-c", "mongodb", "--", "cat", somaxconn)
		g.Expect(strings.TrimSpace(inPod)).To(gomega.Equal("1024"), name)
	}
}

func (c *cluster) cutsItsMask(t *testing.T) {
	c.patch(t, `{"spec":{"hostTuning":{"receivePacketSteering":{"cpus":{"mode":"Mask","mask":"fffffffe"}}}}}`)
	await(t, settling, "the mask is not cut", func(g gomega.Gomega) {
		setting := c.setting(t, "rps_cpus")
		g.Expect(setting.Wanted).To(gomega.ContainSubstring("fffffffe"))
		g.Expect(setting.Result).NotTo(gomega.Equal(v1alpha1.HostRefused))
		g.Expect(setting.Detail).NotTo(gomega.BeEmpty(), "what was set instead is told: %+v", setting)
	})
	c.patch(t, `{"spec":{"hostTuning":{"receivePacketSteering":{"cpus":{"beyondNode":"Refuse"}}}}}`)
	await(t, settling, "the mask is not refused", func(g gomega.Gomega) {
		g.Expect(c.setting(t, "rps_cpus").Result).To(gomega.Equal(v1alpha1.HostRefused))
		g.Expect(reasonOf(c.tuning(t), v1alpha1.ConditionHostTuned)).To(gomega.Equal(v1alpha1.ReasonHostTuningFailed))
	})
	c.settle(t)
}

func (c *cluster) leavesItsNode(t *testing.T, before map[string]string) {
	c.deleteForGood(t, c.tuning(t))
	gomega.NewWithT(t).Expect(machine(t)).To(gomega.Equal(before))
}

func (c *cluster) losesItsNamespace(t *testing.T, before map[string]string) {
	g := gomega.NewWithT(t)
	await(t, settling, "the pods of before do not go", func(g gomega.Gomega) {
		pods, err := c.pods(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(pods).To(gomega.BeEmpty())
	})
	c.create(t, c.small(t))
	c.settle(t)
	await(t, promptly, "the node is not tuned", func(g gomega.Gomega) { g.Expect(content(t, swappiness)).To(gomega.Equal("1")) })
	tuning := c.tuning(t)
	g.Expect(meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionHostTuned)).NotTo(gomega.BeNil())
	ctx, cancel := context.WithTimeout(t.Context(), settling)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	g.Expect(c.kube.Delete(ctx, namespace)).To(gomega.Succeed())
	await(t, settling, "the namespace does not go away", func(g gomega.Gomega) {
		g.Expect(apierrors.IsNotFound(c.kube.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))).To(gomega.BeTrue())
	})
	command := exec.CommandContext(ctx, filepath.Join("..", "..", "bin", "mongotuning-linux-"+runtime.GOARCH),
		"host-tune", "restore", "--root=/", "--state=/var/lib/mongotuning", "--owner="+string(tuning.UID))
	output, err := command.CombinedOutput()
	t.Logf("%s", output)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(machine(t)).To(gomega.Equal(before))
}
