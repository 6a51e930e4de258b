// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// endpoint is one place to scrape, as ServiceMonitor and PodMonitor both have it.
type endpoint struct {
	Port            string `json:"port"`
	Path            string `json:"path"`
	Scheme          string `json:"scheme"`
	Interval        string `json:"interval"`
	ScrapeTimeout   string `json:"scrapeTimeout"`
	HonorLabels     bool   `json:"honorLabels"`
	BearerTokenFile string `json:"bearerTokenFile"`
	Authorization   struct {
		Type        string `json:"type"`
		Credentials struct {
			Name string `json:"name"`
			Key  string `json:"key"`
		} `json:"credentials"`
	} `json:"authorization"`
	TLSConfig struct {
		InsecureSkipVerify bool `json:"insecureSkipVerify"`
	} `json:"tlsConfig"`
}

// monitor is a ServiceMonitor or a PodMonitor. Its Go types are of a module that would lift many others.
type monitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector            metav1.LabelSelector `json:"selector"`
		Endpoints           []endpoint           `json:"endpoints"`
		PodMetricsEndpoints []endpoint           `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

func prometheusManifest[T any](t *testing.T, name string) T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "prometheus", name))
	if err != nil {
		t.Fatal(err)
	}
	var object T
	if err := sigsyaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

// TestMonitorsFindTheOperator follows labels and port from the monitors to the Service and the pod.
func TestMonitorsFindTheOperator(t *testing.T) {
	all := objects(t)
	template := operator(t, all).Spec.Template
	service := kinds[*corev1.Service](t, all)[0]
	byService, byPod := prometheusManifest[monitor](t, "service_monitor.yaml"), prometheusManifest[monitor](t, "pod_monitor.yaml")
	if diff := cmp.Diff(service.Labels, byService.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("the ServiceMonitor selects other Services (-Service +selector):\n%s", diff)
	}
	if diff := cmp.Diff(template.Labels, byPod.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("the PodMonitor selects other pods (-pod +selector):\n%s", diff)
	}
	if len(byService.Spec.Endpoints) != 1 || byService.Spec.Endpoints[0].Port != service.Spec.Ports[0].Name {
		t.Errorf("the ServiceMonitor scrapes %+v, the Service has %s", byService.Spec.Endpoints, service.Spec.Ports[0].Name)
	}
	isMetrics := func(port corev1.ContainerPort) bool { return port.Name == byPod.Spec.PodMetricsEndpoints[0].Port }
	if len(byPod.Spec.PodMetricsEndpoints) != 1 || !slices.ContainsFunc(template.Spec.Containers[0].Ports, isMetrics) {
		t.Errorf("the PodMonitor scrapes %+v, which the pod does not have", byPod.Spec.PodMetricsEndpoints)
	}
	for _, one := range slices.Concat(byService.Spec.Endpoints, byPod.Spec.PodMetricsEndpoints) {
		hasToken := one.BearerTokenFile != "" || one.Authorization.Credentials.Name != ""
		if one.Path != "/metrics" || one.Scheme != "https" || !one.TLSConfig.InsecureSkipVerify || !hasToken {
			t.Errorf("%+v does not get in: HTTPS with a certificate of its own, and a token, are wanted", one)
		}
		if !one.HonorLabels {
			t.Error("without honorLabels Prometheus puts the operator's namespace in the place of the cluster's")
		}
	}
}

// TestPrometheusIsLetIn proves that the role which is bound opens what the monitors ask for.
func TestPrometheusIsLetIn(t *testing.T) {
	binding := prometheusManifest[rbacv1.ClusterRoleBinding](t, "metrics_reader_binding.yaml")
	if len(binding.Subjects) != 1 || binding.Subjects[0].Kind != rbacv1.ServiceAccountKind {
		t.Errorf("subjects are %v, want one account", binding.Subjects)
	}
	for _, role := range kinds[*rbacv1.ClusterRole](t, objects(t)) {
		if role.Name != binding.RoleRef.Name {
			continue
		}
		want := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
		if diff := cmp.Diff(want, role.Rules); diff != "" {
			t.Errorf("rules of %s (-want +got):\n%s", role.Name, diff)
		}
		return
	}
	t.Errorf("there is no ClusterRole %s", binding.RoleRef.Name)
}

// TestDocsNameTheLabelThatThePolicyWants holds docs/monitoring.md to the network policy.
func TestDocsNameTheLabelThatThePolicyWants(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range kinds[*networkingv1.NetworkPolicy](t, objects(t)) {
		for key, value := range policy.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels {
			if want := "kubectl label namespace monitoring " + key + "=" + value; !slices.Contains(lines(string(page)), "    "+want) {
				t.Errorf("docs/monitoring.md does not say: %s", want)
			}
		}
	}
}

func lines(text string) []string { return slices.Collect(strings.SplitSeq(text, "\n")) }
