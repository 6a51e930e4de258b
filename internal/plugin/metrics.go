// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Names of what is installed with the operator; config/rbac and config/manager have them.
const (
	operatorNamespace = "mongotuning-system"
	operatorSelector  = "app.kubernetes.io/name=mongotuning-operator"
	// figuresAccount may do nothing but read the metrics. The plugin asks for a short token of it, so that
	// the caller's own credentials never leave for the operator.
	figuresAccount = "mongotuning-figures"
	metricsPort    = 8443
)

const (
	// tokenSeconds is the shortest life of a token that an API server gives.
	tokenSeconds = 600
	// metricsDeadline is how long the page may take.
	metricsDeadline = 3 * time.Second
)

// tunnel reads the operator's metrics through the API server: a port of its pod is forwarded, and a token of
// the figures account is asked for. Both are kept as long as they serve.
type tunnel struct {
	config *rest.Config
	way    *access
	clock  clock.PassiveClock

	token   string
	expires time.Time
	address string
	stop    chan struct{}
}

// metrics is the way to the operator's metrics; nil without a real cluster.
func (a *access) metrics(now clock.PassiveClock) metricsSource {
	if a.served != nil || a.config == nil {
		return a.served
	}
	return &tunnel{config: a.config, way: a, clock: now}
}

func (t *tunnel) close() {
	if t.stop != nil {
		close(t.stop)
		t.stop, t.address = nil, ""
	}
}

func (t *tunnel) page(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsDeadline)
	defer cancel()
	if err := t.ensureToken(ctx); err != nil {
		return "", err
	}
	if err := t.ensureOpen(ctx); err != nil {
		return "", err
	}
	page, err := t.get(ctx)
	if err != nil {
		t.close() // the pod may be another one by now
	}
	return page, err
}

func (t *tunnel) ensureToken(ctx context.Context) error {
	if t.token != "" && t.expires.Sub(t.clock.Now()) > time.Minute {
		return nil
	}
	asked := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))}}
	given, err := t.way.kubernetes.CoreV1().ServiceAccounts(operatorNamespace).CreateToken(ctx, figuresAccount, asked, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask for a token of ServiceAccount %s: %w", figuresAccount, err)
	}
	t.token, t.expires = given.Status.Token, given.Status.ExpirationTimestamp.Time
	return nil
}

// ensureOpen forwards a port of this machine, for this program alone, to the operator that leads or to any.
func (t *tunnel) ensureOpen(ctx context.Context) error {
	if t.address != "" {
		return nil
	}
	pods, err := t.way.kubernetes.CoreV1().Pods(operatorNamespace).List(ctx, metav1.ListOptions{LabelSelector: operatorSelector})
	if err != nil {
		return fmt.Errorf("find the operator: %w", err)
	}
	name := ""
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp.IsZero() {
			name = pods.Items[i].Name
		}
	}
	if name == "" {
		return fmt.Errorf("no pod of the operator runs in namespace %s", operatorNamespace)
	}
	transport, upgrader, err := spdy.RoundTripperFor(t.config)
	if err != nil {
		return fmt.Errorf("forward a port: %w", err)
	}
	address := t.way.kubernetes.CoreV1().RESTClient().Post().Resource("pods").Namespace(operatorNamespace).Name(name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	ready, stop := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", metricsPort)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return fmt.Errorf("forward a port: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return forwardError(name, err)
	case <-ctx.Done():
		close(stop)
		return fmt.Errorf("forward a port of pod %s: %w", name, ctx.Err())
	}
	ports, err := forwarder.GetPorts()
	if err != nil || len(ports) != 1 {
		close(stop)
		return fmt.Errorf("forward a port of pod %s: %w", name, err)
	}
	t.address, t.stop = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))), stop
	return nil
}

// forwardError tells a missing right, which the dialer only has in words.
func forwardError(pod string, err error) error {
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "forbidden") {
		return apierrors.NewForbidden(corev1.Resource("pods/portforward"), pod, err)
	}
	return fmt.Errorf("forward a port of pod %s: %w", pod, err)
}

func (t *tunnel) get(ctx context.Context) (string, error) {
	address := url.URL{Scheme: "https", Host: t.address, Path: "/metrics"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return "", fmt.Errorf("read metrics: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+t.token)
	client := http.Client{Transport: &http.Transport{
		// The operator makes its certificate itself. The API server has led us to its pod, and the token
		// that is sent reads metrics and nothing else.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
		// Each connection is a stream of the tunnel; one that is kept would hold it open.
		DisableKeepAlives: true,
	}}
	answer, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read metrics: the operator answers %s", answer.Status)
	}
	const largest = 64 << 20
	page, err := io.ReadAll(io.LimitReader(answer.Body, largest))
	if err != nil {
		return "", fmt.Errorf("read metrics: %w", err)
	}
	return string(page), nil
}

// Metrics that status shows, and how many of them make one of the figure's unit.
const (
	dirtyCacheMetric = "mongotuning_dirty_cache_ratio"
	lagMetric        = "mongotuning_replication_lag_seconds"
	percents         = 100
)

// fromMetrics puts the figures of the operator's page of metrics into a view. It returns an error when the
// page has nothing of the object: an operator that waits for the lease looks at nothing.
func fromMetrics(page string, tuning *v1alpha1.MongoTuning, view *statusView) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	found := false
	each := func(metric string, factor float64, put func(*memberView, *float64)) {
		for _, series := range families[metric].GetMetric() {
			labels := map[string]string{}
			for _, label := range series.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["namespace"] != tuning.Namespace || labels["name"] != tuning.Name {
				continue
			}
			for i := range view.Members {
				if view.Members[i].Name == labels["member"] {
					value := math.Round(series.GetGauge().GetValue()*factor*1000) / 1000
					put(&view.Members[i], &value)
					found = true
				}
			}
		}
	}
	each(dirtyCacheMetric, percents, func(member *memberView, value *float64) { member.DirtyCachePercent = value })
	each(lagMetric, 1, func(member *memberView, value *float64) { member.ReplicationLagSeconds = value })
	if !found {
		return fmt.Errorf("the operator's metrics have nothing of %s yet", tuning.Name)
	}
	return nil
}
