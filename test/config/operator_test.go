// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

const operatorNamespace = "mongotuning-system"

func operator(t *testing.T, all []runtime.Object) *appsv1.Deployment {
	t.Helper()
	deployments := kinds[*appsv1.Deployment](t, all)
	if len(deployments) != 1 || len(deployments[0].Spec.Template.Spec.Containers) != 1 {
		t.Fatal("want one Deployment with one container")
	}
	return deployments[0]
}

// TestOperatorPodIsRestricted asks the evaluator that API servers use.
func TestOperatorPodIsRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	template := operator(t, objects(t)).Spec.Template
	for _, result := range evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec) {
		if !result.Allowed {
			t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
}

// TestOperatorPodIsHardened covers what the standard does not ask for.
func TestOperatorPodIsHardened(t *testing.T) {
	pod := operator(t, objects(t)).Spec.Template.Spec
	container := pod.Containers[0]
	security := container.SecurityContext
	checks := []struct {
		name string
		ok   bool
	}{
		{"the root file system is read-only", security.ReadOnlyRootFilesystem != nil && *security.ReadOnlyRootFilesystem},
		{"the user is fixed and not root", pod.SecurityContext.RunAsUser != nil && *pod.SecurityContext.RunAsUser > 0},
		{"the account is the operator's own", pod.ServiceAccountName == "mongotuning-operator"},
		{"no environment is filled with the addresses of Services", pod.EnableServiceLinks != nil && !*pod.EnableServiceLinks},
		{"CPU and memory are reserved", len(container.Resources.Requests) == 2},
		{"memory is limited", !container.Resources.Limits.Memory().IsZero()},
		{"a frozen operator is restarted", container.LivenessProbe != nil},
		{"an operator that is not up is not ready", container.ReadinessProbe != nil},
		{"no volume reaches the node", len(pod.Volumes) == 0},
		{"no secret is in the environment", !slices.ContainsFunc(container.Env, isFromSecret) && len(container.EnvFrom) == 0},
	}
	for _, check := range checks {
		if !check.ok {
			t.Errorf("is not so: %s", check.name)
		}
	}
}

func isFromSecret(env corev1.EnvVar) bool {
	return env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil
}

func TestAccountsDoNotHandOutTokensUnasked(t *testing.T) {
	for _, account := range kinds[*corev1.ServiceAccount](t, objects(t)) {
		if account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
			t.Errorf("ServiceAccount %s mounts its token into every pod", account.Name)
		}
	}
}

// TestPartsFitTogether follows the ports and labels from the arguments to the Service and the policy.
func TestPartsFitTogether(t *testing.T) {
	all := objects(t)
	deployment := operator(t, all)
	labels := deployment.Spec.Template.Labels
	container := deployment.Spec.Template.Spec.Containers[0]
	wantArgs := []string{
		"manager", "--leader-elect", "--metrics-bind-address=:8443", "--health-probe-bind-address=:8081",
		"--operator-image=$(OPERATOR_IMAGE)",
	}
	if diff := cmp.Diff(wantArgs, container.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
	}
	if diff := cmp.Diff(map[string]int32{"metrics": 8443, "probes": 8081}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	for _, service := range kinds[*corev1.Service](t, all) {
		if diff := cmp.Diff(labels, service.Spec.Selector); diff != "" {
			t.Errorf("Service %s selects other pods (-pod +selector):\n%s", service.Name, diff)
		}
		if got := service.Spec.Ports[0].TargetPort.StrVal; got != "metrics" {
			t.Errorf("Service %s leads to port %q, want metrics", service.Name, got)
		}
	}
	for _, policy := range kinds[*networkingv1.NetworkPolicy](t, all) {
		if diff := cmp.Diff(labels, policy.Spec.PodSelector.MatchLabels); diff != "" {
			t.Errorf("NetworkPolicy %s selects other pods (-pod +selector):\n%s", policy.Name, diff)
		}
		if len(policy.Spec.Ingress) != 1 || len(policy.Spec.Ingress[0].From) != 1 {
			t.Fatalf("NetworkPolicy %s lets in others than Prometheus", policy.Name)
		}
		if got := policy.Spec.Ingress[0].Ports; len(got) != 1 || got[0].Port.IntVal != ports["metrics"] {
			t.Errorf("NetworkPolicy %s lets in to other ports than metrics: %v", policy.Name, got)
		}
	}
}

func TestEverythingIsInOneNamespace(t *testing.T) {
	clusterWide := sets.New("Namespace", "ClusterRole", "ClusterRoleBinding")
	for _, object := range objects(t) {
		accessor, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		kind := object.GetObjectKind().GroupVersionKind().Kind
		want := operatorNamespace
		if clusterWide.Has(kind) {
			want = ""
		}
		if got := accessor.GetNamespace(); got != want {
			t.Errorf("%s %s is in namespace %q, want %q", kind, accessor.GetName(), got, want)
		}
	}
}

func TestImageIsPinned(t *testing.T) {
	images := readKustomization(t, "manager").Images
	if len(images) != 1 || images[0].NewTag == "" || images[0].NewTag == "latest" {
		t.Fatalf("images are %v, want one with a tag other than latest", images)
	}
	if got := operator(t, objects(t)).Spec.Template.Spec.Containers[0].Image; got != images[0].Name {
		t.Errorf("the Deployment has image %q, which kustomization.yaml does not set", got)
	}
}

// TestInstallerHasOneImage reads the one-file installer: an image that is set has to reach the container
// and the argument that managed pods take theirs from. make verify keeps the file up to date.
func TestInstallerHasOneImage(t *testing.T) {
	rendered, err := os.ReadFile(filepath.Join("..", "..", "dist", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	image := readKustomization(t, "manager").Images[0]
	container := operator(t, decode(t, "dist/install.yaml", rendered)).Spec.Template.Spec.Containers[0]
	if want := image.Name + ":" + image.NewTag; container.Image != want {
		t.Errorf("image is %q, want %q", container.Image, want)
	}
	want := corev1.EnvVar{Name: "OPERATOR_IMAGE", Value: container.Image}
	if !slices.Contains(container.Env, want) {
		t.Errorf("environment is %v, want %v in it", container.Env, want)
	}
}
