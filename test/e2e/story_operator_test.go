// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settledFor is how long a settled cluster is watched: several looks of the operator.
const settledFor = time.Minute

// guardsMetrics asks the metrics endpoint as nobody, as somebody, and as somebody with the right.
func (c *cluster) guardsMetrics(t *testing.T) {
	token := c.readerToken(t)
	for _, asked := range []struct {
		token, otherwise string
		status           int
	}{
		{"", "nobody is let in", http.StatusUnauthorized},
		{token, "somebody without the right is let in", http.StatusForbidden},
	} {
		await(t, promptly, asked.otherwise, func(g gomega.Gomega) {
			status, page, err := c.metrics(t, asked.token)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(status).To(gomega.Equal(asked.status))
			g.Expect(page).NotTo(gomega.ContainSubstring("controller_runtime"))
		})
	}
	gomega.NewWithT(t).Expect(c.allMetrics(t)).To(gomega.ContainSubstring("controller_runtime_reconcile_total"))
}

// metricsReader is the identity that asks for metrics, as Prometheus would.
const metricsReader = "metrics-reader"

func (c *cluster) readerToken(t *testing.T) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: metricsReader}}
	if err := c.kube.Create(t.Context(), account); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	request, err := c.clientset.CoreV1().ServiceAccounts(c.namespace).
		CreateToken(t.Context(), metricsReader, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// grantMetrics gives that identity the right, for the rest of the story.
func (c *cluster) grantMetrics(t *testing.T) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mongotuning-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.namespace, Name: metricsReader}},
	}
	c.deleteForGood(t, binding)
	c.create(t, binding)
	t.Cleanup(func() { c.deleteForGood(t, binding) })
}

// metrics asks the operator's pod for its metrics.
func (c *cluster) metrics(t *testing.T, token string) (status int, page string, err error) {
	t.Helper()
	pods, err := c.operatorPods(t.Context())
	if err != nil || len(pods) == 0 {
		return 0, "", fmt.Errorf("find the operator's pod among %d: %w", len(pods), err)
	}
	url := "https://" + net.JoinHostPort(pods[0].Status.PodIP, "8443") + "/metrics"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The certificate is made by the operator for itself; what is tested here is who gets in.
	browser := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := browser.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// quietWindows is how often a settled cluster is watched before it is called restless. A machine that is
// short of processors can keep a member from answering in time, which is news and is written; what writes
// without a reason writes in every window.
const quietWindows = 3

// writtenDuring are the objects that were written while the cluster was watched.
func (c *cluster) writtenDuring(t *testing.T, span time.Duration) []string {
	t.Helper()
	before := c.versions(t)
	look := time.NewTicker(5 * time.Second)
	defer look.Stop()
	over := time.After(span)
	for watching := true; watching; {
		select {
		case <-look.C:
			if written := changed(before, c.versions(t)); len(written) > 0 {
				return written
			}
		case <-over:
			watching = false
		}
	}
	t.Logf("%d objects kept their resourceVersion for %s", len(before), span)
	return nil
}

// isQuiet watches a settled cluster: nothing is written, by nobody, and of what the user wrote nothing
// is the operator's.
func (c *cluster) isQuiet(t *testing.T) {
	g := gomega.NewWithT(t)
	var written []string
	for range quietWindows {
		c.settle(t)
		if written = c.writtenDuring(t, settledFor); len(written) == 0 {
			break
		}
		t.Logf("written during %s: %v", settledFor, written)
	}
	g.Expect(written).To(gomega.BeEmpty(), "these are written again and again although the cluster is settled")
	for _, entry := range c.tuning(t).ManagedFields {
		if entry.Manager != string(fieldOwner) && entry.FieldsV1 != nil {
			g.Expect(string(entry.FieldsV1.GetRawBytes())).NotTo(gomega.ContainSubstring(`"f:spec"`), "%s writes into what the user declares", entry.Manager)
		}
	}
}

// versions are the resourceVersions of everything in the namespace but leases and events.
func (c *cluster) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for name, object := range c.everything(t) {
		if kind := object.GetKind(); kind != "Lease" && kind != "Event" {
			versions[name] = object.GetResourceVersion()
		}
	}
	return versions
}

// changed are the objects that came, went or were written.
func changed(before, after map[string]string) []string {
	var names []string
	for name := range after {
		if after[name] != before[name] {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, exists := after[name]; !exists {
			names = append(names, name)
		}
	}
	return names
}

// everything are all objects of the namespace, of every kind that can be listed.
func (c *cluster) everything(t *testing.T) map[string]unstructured.Unstructured {
	t.Helper()
	kinds, err := discovery.NewDiscoveryClientForConfigOrDie(c.rest).ServerPreferredNamespacedResources()
	if err != nil {
		t.Fatalf("find the kinds of objects: %v", err)
	}
	all := map[string]unstructured.Unstructured{}
	for _, group := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, kinds) {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range group.APIResources {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(version.WithKind(kind.Kind + "List"))
			if err := c.kube.List(t.Context(), list, client.InNamespace(c.namespace)); err != nil {
				t.Fatalf("list %s: %v", kind.Name, err)
			}
			for _, object := range list.Items {
				all[fmt.Sprintf("%s.%s %s", kind.Name, version.Group, object.GetName())] = object
			}
		}
	}
	return all
}

// keepsSecrets looks for every password and key there ever was in all that people and programs can read
// without the right to read Secrets.
func (c *cluster) keepsSecrets(t *testing.T) {
	places := map[string]string{
		"log of the operator":           c.operatorLog(t.Context()),
		"log of the operator of before": c.operatorLogs,
		"metrics of the operator":       c.allMetrics(t),
	}
	for name, object := range c.everything(t) {
		if object.GetKind() == "Secret" {
			continue
		}
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		places[name] = string(content)
	}
	for name, pod := range c.podsNow(t) {
		for _, container := range pod.Spec.Containers {
			places["log of "+name] = c.log(t.Context(), c.namespace, name, container.Name)
		}
	}
	for place, content := range places {
		for secret, what := range c.secrets {
			for _, form := range forms(secret) {
				if strings.Contains(content, form) {
					t.Errorf("%s holds the %s", place, what)
				}
			}
		}
	}
	for _, bad := range []string{"Observed a panic", `"level":"dpanic"`, "panic:"} {
		if strings.Contains(c.operatorLogs+places["log of the operator"], bad) {
			t.Errorf("the operator's log says %q", bad)
		}
	}
	t.Logf("%d secrets in none of %d places", len(c.secrets), len(places))
}

// forms are the ways in which a secret can show: as it is, in base64, and a long one in part.
func forms(secret string) []string {
	const enough = 40
	secret = strings.TrimSpace(secret)
	if len(secret) > 2*enough {
		return []string{secret[:enough], secret[len(secret)-enough:], base64.StdEncoding.EncodeToString([]byte(secret[:3*enough/4]))}
	}
	return []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))}
}

// allMetrics is the whole page of metrics, as somebody with the right reads it.
func (c *cluster) allMetrics(t *testing.T) string {
	t.Helper()
	token, page := c.readerToken(t), ""
	c.grantMetrics(t)
	await(t, promptly, "the metrics cannot be read", func(g gomega.Gomega) {
		status, body, err := c.metrics(t, token)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(status).To(gomega.Equal(http.StatusOK))
		page = body
	})
	return page
}
