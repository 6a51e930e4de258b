// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

const (
	// fieldOwner is who the tests write as.
	fieldOwner = client.FieldOwner("e2e")
	// operatorNamespace is where the operator is deployed, operatorName its Deployment.
	operatorNamespace = "mongotuning-system"
	operatorName      = "mongotuning-operator"

	// settling is how long a cluster may take to come back from anything; it is a bound, not a measure.
	settling = 6 * time.Minute
	// promptly bounds what needs no restart.
	promptly = time.Minute
	// soakSeconds is how long a canary is watched in these stories.
	soakSeconds = 5
	// polling is how often conditions are looked at.
	polling = 250 * time.Millisecond
)

// cluster is one MongoTuning under test and the ways to it.
type cluster struct {
	kube      client.WithWatch
	clientset kubernetes.Interface
	rest      *rest.Config

	namespace, name string
	version         string

	ledgers map[string]*ledger
	// unsettled is the story that has not come to its end; abandoned tells that the cluster did not come
	// back from it.
	unsettled string
	abandoned bool
	// secrets are all passwords and keys there ever were, with what they are.
	secrets map[string]string
	// operatorLogs are those of operator pods that are gone.
	operatorLogs string
}

// newCluster connects to Kubernetes and makes an empty namespace, which takes restricted pods only.
func newCluster(t *testing.T, namespace, name string) *cluster {
	t.Helper()
	config, err := ctrl.GetConfig()
	if err != nil {
		t.Fatalf("find the cluster, is KUBECONFIG set? %v", err)
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	config.QPS, config.Burst = 100, 200
	// Deprecated kinds are listed like all others when the tests look at everything.
	config.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kube, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		kube: kube, clientset: clientset, rest: config, namespace: namespace, name: name,
		version: mongodbVersion(), ledgers: map[string]*ledger{}, secrets: map[string]string{},
	}
	c.clean(t)
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
	t.Cleanup(func() { c.clean(t) })
	return c
}

func mongodbVersion() string {
	if version := os.Getenv("MONGODB_VERSION"); version != "" {
		return version
	}
	return "4.4.2"
}

// isModern tells that the servers have lost the settings that 5.0 took away.
func (c *cluster) isModern() bool {
	return !strings.HasPrefix(c.version, "4.")
}

// image of the servers: the one built for tests, or elsewhere the official one.
func (c *cluster) image() string {
	if os.Getenv("CLUSTER") == "existing" {
		return "docker.io/library/mongo:" + c.version
	}
	return "docker.io/mongotuning/mongodb-test:" + c.version
}

// sample is the demo of the repository for the version under test, under this cluster's name.
func (c *cluster) sample(t *testing.T) *v1alpha1.MongoTuning {
	t.Helper()
	file := "demo.yaml"
	if c.isModern() {
		file = "demo-modern.yaml"
	}
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", file))
	if err != nil {
		t.Fatal(err)
	}
	tuning := &v1alpha1.MongoTuning{}
	if err := yaml.UnmarshalStrict(content, tuning); err != nil {
		t.Fatalf("read sample %s: %v", file, err)
	}
	tuning.Name, tuning.Namespace = c.name, c.namespace
	tuning.Spec.MongoDB.Version, tuning.Spec.MongoDB.Image = c.version, c.image()
	// Long enough to be a step of its own, short enough for a story.
	tuning.Spec.Rollout = &v1alpha1.RolloutSpec{
		Canary: &v1alpha1.CanarySpec{SoakSeconds: new(int32(soakSeconds))}, LeadSoakSeconds: new(int32(soakSeconds)),
	}
	return tuning
}

// clean removes the namespace and all that is in it.
func (c *cluster) clean(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	err := c.kube.DeleteAllOf(ctx, &v1alpha1.MongoTuning{}, client.InNamespace(c.namespace))
	if err != nil {
		t.Fatalf("delete the MongoTunings of an earlier run: %v", err)
	}
	if err := c.kube.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete namespace %s: %v", c.namespace, err)
	}
	gomega.NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(c.kube.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
	}).WithTimeout(settling).WithPolling(polling).Should(gomega.BeTrue(), "the namespace of the test does not go away")
}

func (c *cluster) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: c.namespace, Name: name}
}

func (c *cluster) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := c.kube.Create(t.Context(), object, fieldOwner); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// get reads an object of the namespace into the given one.
func get[T client.Object](t *testing.T, c *cluster, name string, object T) T {
	t.Helper()
	if err := c.kube.Get(t.Context(), c.key(name), object); err != nil {
		t.Fatalf("get %T %s: %v", object, name, err)
	}
	return object
}

func (c *cluster) tuning(t *testing.T) *v1alpha1.MongoTuning {
	t.Helper()
	return get(t, c, c.name, &v1alpha1.MongoTuning{})
}

// patch changes the MongoTuning as a user does with kubectl patch.
func (c *cluster) patch(t *testing.T, merge string) {
	t.Helper()
	tuning := &v1alpha1.MongoTuning{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name}}
	if err := c.kube.Patch(t.Context(), tuning, client.RawPatch(types.MergePatchType, []byte(merge)), fieldOwner); err != nil {
		t.Fatalf("patch %s: %v", merge, err)
	}
}

// shards are the names of the shards that are declared.
func (c *cluster) shards(t *testing.T) []string {
	t.Helper()
	var names []string
	for index := range c.tuning(t).Spec.Shards.Count {
		names = append(names, naming.Shard(c.name, index))
	}
	return names
}

// sets are the replica sets that are declared, the config servers last.
func (c *cluster) sets(t *testing.T) []string {
	t.Helper()
	return append(c.shards(t), naming.ConfigServers(c.name))
}

// members are the pods that a replica set should have.
func (c *cluster) members(t *testing.T, set string) []string {
	t.Helper()
	count := c.tuning(t).Spec.Shards.Members
	if set == naming.ConfigServers(c.name) {
		count = c.tuning(t).Spec.ConfigServers.Members
	}
	var names []string
	for ordinal := range count {
		names = append(names, naming.Member(set, ordinal))
	}
	return names
}

// allMembers are all mongod pods that are declared.
func (c *cluster) allMembers(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, set := range c.sets(t) {
		names = append(names, c.members(t, set)...)
	}
	return names
}

// pods are all pods of servers by name, the routers among them.
func (c *cluster) pods(ctx context.Context) (map[string]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := c.kube.List(ctx, list, client.InNamespace(c.namespace), client.MatchingLabels(naming.Labels(c.name))); err != nil {
		return nil, err
	}
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		// A Job is over when it is over.
		if pod.Labels[naming.LabelTrial] == "" && pod.Labels[naming.LabelHostJob] == "" {
			pods[pod.Name] = pod
		}
	}
	return pods, nil
}

func (c *cluster) podsNow(t *testing.T) map[string]corev1.Pod {
	t.Helper()
	pods, err := c.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pods
}

// mongosPods are the routers' pods.
func (c *cluster) mongosPods(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := c.pods(ctx)
	if err != nil {
		return nil, err
	}
	var routers []corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if pods[name].Labels[naming.LabelComponent] == naming.ComponentLabel(v1alpha1.ComponentMongos) {
			routers = append(routers, pods[name])
		}
	}
	return routers, nil
}

// primary is the pod that leads a replica set, as status says.
func (c *cluster) primary(t *testing.T, set string) string {
	t.Helper()
	for _, status := range c.tuning(t).Status.ReplicaSets {
		if status.Name == set && status.Primary != "" {
			return status.Primary
		}
	}
	t.Fatalf("status names no primary of %s", set)
	return ""
}

// secondary is a pod of a replica set that does not lead.
func (c *cluster) secondary(t *testing.T, set string) string {
	t.Helper()
	primary := c.primary(t, set)
	for _, name := range c.members(t, set) {
		if name != primary {
			return name
		}
	}
	t.Fatalf("%s has no secondary", set)
	return ""
}

func isReady(pod corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// settle waits until the declared tuning is in force and proved on every member, and every pod is ready.
func (c *cluster) settle(t *testing.T) {
	t.Helper()
	members := c.allMembers(t)
	await(t, settling, "the cluster does not come to be proved", func(g gomega.Gomega) {
		c.expectProved(t, g, len(members))
		pods, err := c.pods(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, name := range members {
			g.Expect(pods).To(gomega.HaveKey(name))
		}
		for name, pod := range pods {
			g.Expect(pod.DeletionTimestamp).To(gomega.BeNil(), "pod %s is being deleted", name)
			g.Expect(isReady(pod)).To(gomega.BeTrue(), "pod %s is not ready", name)
		}
	})
}

// expectProved is the sentence that every story ends with.
func (c *cluster) expectProved(t *testing.T, g gomega.Gomega, members int) {
	t.Helper()
	tuning := &v1alpha1.MongoTuning{}
	g.Expect(c.kube.Get(t.Context(), c.key(c.name), tuning)).To(gomega.Succeed())
	g.Expect(tuning.Status.ObservedGeneration).To(gomega.Equal(tuning.Generation))
	for _, name := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionVerified, v1alpha1.ConditionApplied} {
		g.Expect(statusOf(tuning, name)).To(gomega.Equal(metav1.ConditionTrue), "%s: %s", name, messageOf(tuning, name))
	}
	for _, name := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionSuspended} {
		g.Expect(statusOf(tuning, name)).To(gomega.BeEmpty(), "%s: %s", name, messageOf(tuning, name))
	}
	g.Expect(tuning.Status.ProvedMembers).To(gomega.Equal(fmt.Sprintf("%d/%d", members, members)))
}

// statusOf is the status of a condition, empty when there is none of that name.
func statusOf(tuning *v1alpha1.MongoTuning, condition string) metav1.ConditionStatus {
	if found := meta.FindStatusCondition(tuning.Status.Conditions, condition); found != nil {
		return found.Status
	}
	return ""
}

func reasonOf(tuning *v1alpha1.MongoTuning, condition string) string {
	if found := meta.FindStatusCondition(tuning.Status.Conditions, condition); found != nil {
		return found.Reason
	}
	return ""
}

func messageOf(tuning *v1alpha1.MongoTuning, condition string) string {
	if found := meta.FindStatusCondition(tuning.Status.Conditions, condition); found != nil {
		return found.Message
	}
	return ""
}

// await looks at a condition until it holds, and fails the test when it does not in time.
func await(t *testing.T, within time.Duration, otherwise string, holds func(g gomega.Gomega)) {
	t.Helper()
	gomega.NewWithT(t).Eventually(holds).WithTimeout(within).WithPolling(polling).Should(gomega.Succeed(), otherwise)
}
