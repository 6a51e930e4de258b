// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// prometheus is a real Prometheus server that scrapes the operator and has its alerts.
type prometheus struct {
	address string
}

// alert is one alert as Prometheus' API tells it.
type alert struct {
	State       string            `json:"state"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// waiting is how long an alert has to be true before it fires.
var waiting = regexp.MustCompile(`(?m)^(\s+for: )\S+$`)

const prometheusConfig = `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: mongotuning-operator
  scheme: https
  honor_labels: true
  authorization: {credentials_file: token}
  tls_config: {insecure_skip_verify: true}
  static_configs:
  - targets: [%q]
`

// startPrometheus starts the server that PROMETHEUS names, with the token of somebody who may read metrics.
// The alerts are the shipped ones but for the time they wait, which is a second: a story cannot wait a day.
func (c *cluster) startPrometheus(t *testing.T) *prometheus {
	t.Helper()
	program := os.Getenv("PROMETHEUS")
	if program == "" {
		t.Fatal("PROMETHEUS does not say where the server is; make e2e-load sets it")
	}
	pods, err := c.operatorPods(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("find the operator's pod: %v", err)
	}
	rules, err := os.ReadFile(filepath.Join("..", "..", "config", "prometheus", "rules", "mongotuning.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	token := c.readerToken(t)
	c.grantMetrics(t)
	directory := t.TempDir()
	for name, content := range map[string]string{
		"prometheus.yaml": fmt.Sprintf(prometheusConfig, net.JoinHostPort(pods[0].Status.PodIP, "8443")),
		"rules.yaml":      waiting.ReplaceAllString(string(rules), "${1}1s"),
		"token":           token,
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := &prometheus{address: unusedAddress(t)}
	var log strings.Builder
	command := exec.CommandContext(context.Background(), program, "--config.file", filepath.Join(directory, "prometheus.yaml"),
		"--storage.tsdb.path", filepath.Join(directory, "data"), "--web.listen-address", server.address)
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			t.Logf("log of Prometheus:\n%s", log.String())
		}
	})
	await(t, promptly, "Prometheus does not scrape the operator", func(g gomega.Gomega) {
		var up []struct {
			Value []any `json:"value"`
		}
		g.Expect(server.ask(t, "query", url.Values{"query": {"up == 1"}}, &up)).To(gomega.Succeed())
		g.Expect(up).To(gomega.HaveLen(1))
	})
	return server
}

func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// ask asks Prometheus' API and reads the result, or its alerts.
func (p *prometheus) ask(t *testing.T, what string, parameters url.Values, result any) error {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+p.address+"/api/v1/"+what+"?"+parameters.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          struct {
			Result json.RawMessage `json:"result"`
			Alerts json.RawMessage `json:"alerts"`
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		return fmt.Errorf("ask Prometheus for %s: %s %w", what, answer.Error, err)
	}
	if what == "alerts" {
		return json.Unmarshal(answer.Data.Alerts, result)
	}
	return json.Unmarshal(answer.Data.Result, result)
}

// firing are the alerts of a name that fire now.
func (p *prometheus) firing(t *testing.T, g gomega.Gomega, name string) []alert {
	t.Helper()
	var all, found []alert
	g.Expect(p.ask(t, "alerts", nil, &all)).To(gomega.Succeed())
	for _, one := range all {
		if one.Labels["alertname"] == name && one.State == "firing" {
			found = append(found, one)
		}
	}
	return found
}

// has tells that a metric, or any query, has series now.
func (p *prometheus) has(t *testing.T, metric string) bool {
	t.Helper()
	var series []any
	if err := p.ask(t, "query", url.Values{"query": {"count(" + metric + ")"}}, &series); err != nil {
		t.Fatal(err)
	}
	return len(series) > 0
}

// recording is where a run is to leave what it saw, for the pictures of the documentation and for tests that
// want real objects; empty in a run that is only a test.
func recording() string { return os.Getenv("RECORDING") }

// recordedQueries are the series that pictures are made of.
var recordedQueries = map[string]string{
	"dirty":   "mongotuning_dirty_cache_ratio",
	"limit":   `mongotuning_limit{gauge="DirtyCachePercent"}`,
	"trigger": "mongotuning_dirty_cache_trigger_ratio",
	"lag":     "mongotuning_replication_lag_seconds",
	"step":    "mongotuning_rollout_step",
	"proved":  "mongotuning_knobs_proved",
	"wanted":  "mongotuning_knobs_declared",
	// Of the others the time is cut that they wait as shipped, so that they fire here as they never would.
	"alerts": `ALERTS{alertstate="firing",alertname=~"MongoTuningDirtyCacheAboveLimit|MongoTuningRolledBack"}`,
}

// record leaves the series between two times, one sample each two seconds, when the run is recorded.
func (p *prometheus) record(t *testing.T, c *cluster, name string, from, to time.Time) {
	t.Helper()
	if recording() == "" {
		return
	}
	type series struct {
		Labels map[string]string `json:"labels"`
		Values [][2]float64      `json:"values"`
	}
	all := map[string][]series{}
	for key, query := range recordedQueries {
		var found []struct {
			Metric map[string]string `json:"metric"`
			Values [][2]any          `json:"values"`
		}
		parameters := url.Values{"query": {query}, "step": {"2"}, "start": {fmt.Sprint(from.Unix())}, "end": {fmt.Sprint(to.Unix())}}
		if err := p.ask(t, "query_range", parameters, &found); err != nil {
			t.Error(err)
			return
		}
		for _, one := range found {
			kept := series{Labels: map[string]string{}}
			for _, label := range []string{"member", "step", "alertname", "limit"} {
				if value := one.Metric[label]; value != "" {
					kept.Labels[label] = value
				}
			}
			for _, value := range one.Values {
				var figure float64
				if _, err := fmt.Sscan(value[1].(string), &figure); err != nil {
					t.Fatal(err)
				}
				kept.Values = append(kept.Values, [2]float64{value[0].(float64) - float64(from.Unix()), figure})
			}
			all[key] = append(all[key], kept)
		}
	}
	content, err := json.Marshal(map[string]any{"server": "MongoDB " + c.version, "series": all})
	if err != nil {
		t.Fatal(err)
	}
	leave(t, name+".json", content)
}

// keep leaves the object as kubectl shows it, when the run is recorded.
func (c *cluster) keep(t *testing.T, name string) {
	t.Helper()
	if recording() != "" {
		leave(t, name+".yaml", []byte(c.kubectl(t, "get", "mtune", c.name, "-o", "yaml")))
	}
}

func leave(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(recording(), name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
