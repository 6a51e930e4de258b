// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

func TestRefusedHostTuneCommandLines(t *testing.T) {
	t.Setenv(hosttune.NodeVariable, "")
	for _, row := range []struct {
		name string
		args []string
		says string
	}{
		{"a command is needed", nil, "apply, restore or serve"},
		{"an unknown command names the others", []string{"reset"}, `unknown host-tune command "reset"`},
		{"settings are needed", []string{"apply"}, "NODE_NAME"},
		{"an owner is needed", []string{"restore"}, "--owner"},
		{"a pod has a name and a UID", []string{"apply", "--settings=x", "--pod=demo-shard-0-0"}, "is not NAME=UID"},
		{"a UID is no path", []string{"apply", "--settings=x", "--own-pod=demo=../1"}, "is not NAME=UID"},
		{"an address is needed to serve", []string{"serve", "--settings=x", "--listen=nowhere:no"}, "listen"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := run(append([]string{"host-tune"}, row.args...))
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, wanted %q in it", err, row.says)
			}
		})
	}
}

// fakeNode is a root with one setting.
func fakeNode(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for path, content := range map[string]string{
		"proc/sys/vm/swappiness": "60\n", "proc/sys/kernel/osrelease": "6.1.0\n", "proc/self/mountinfo": "", "sys/kernel/mm/transparent_hugepage/enabled": "[always] never\n",
	} {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func settingsFile(t *testing.T, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), hosttune.SettingsKey("worker"))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const swappinessSettings = `{"revision":"r1","owner":{"namespace":"a","name":"b","uid":"c","created":"2026-01-01T00:00:00Z"},"sysctls":[{"name":"vm.swappiness","value":"1"}]%s}`

// What apply leaves behind: the setting, a report, and an exit code that follows the policy of the
// settings, or where those cannot be had that of the arguments.
func TestApplyHost(t *testing.T) {
	for _, row := range []struct {
		name, content, policy string
		fails                 bool
		swappiness, says      string
	}{
		{"settings that are right", strings.ReplaceAll(swappinessSettings, "%s", ""), "Block", false, "1", "Applied vm.swappiness Node found=60 wanted=1"},
		{"a failure is reported", strings.ReplaceAll(swappinessSettings, "%s", `,"scheduler":{"minGranularityNanoseconds":1}`), "Report", false, "60", "Refused scheduler"},
		{"a failure blocks where the settings say so", strings.ReplaceAll(swappinessSettings, "%s", `,"onFailure":"Block","scheduler":{"minGranularityNanoseconds":1}`), "Report", true, "60", "Refused scheduler"},
		{"a field that is not known refuses all", strings.ReplaceAll(swappinessSettings, "%s", `,"numa":{}`), "Report", false, "60", `unknown field \"numa\"`},
		{"and blocks where that was said", strings.ReplaceAll(swappinessSettings, "%s", `,"numa":{},"onFailure":"Block"`), "Report", true, "60", "revision=r1"},
		{"what is no JSON follows the arguments", `{`, "Block", true, "60", "Refused settings"},
	} {
		t.Run(row.name, func(t *testing.T) {
			root, message := fakeNode(t), filepath.Join(t.TempDir(), "message")
			if err := os.WriteFile(message, []byte("of before"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := run([]string{
				"host-tune", "apply", "--root=" + root, "--state=" + filepath.Join(t.TempDir(), "state"), "--message=" + message,
				"--settings=" + settingsFile(t, row.content), "--on-failure=" + row.policy,
			})
			var code exitCode
			if errors.As(err, &code) != row.fails || row.fails && code != hosttune.ExitRefused {
				t.Errorf("ended with %v", err)
			}
			if value := content(t, filepath.Join(root, "proc/sys/vm/swappiness")); value != row.swappiness {
				t.Errorf("vm.swappiness is %s", value)
			}
			if text := content(t, message); !strings.Contains(text, row.says) || strings.Contains(text, "of before") {
				t.Errorf("the report is %q, wanted %q in it", text, row.says)
			}
		})
	}
}

// The file of the node is found by the node's name, and restore gives back what apply set.
func TestRestoreHost(t *testing.T) {
	root, state := fakeNode(t), filepath.Join(t.TempDir(), "state")
	settings := settingsFile(t, strings.ReplaceAll(swappinessSettings, "%s", ""))
	acting := []string{"--root=" + root, "--state=" + state, "--message="}
	if err := run(append([]string{"host-tune", "apply", "--settings=" + settings}, acting...)); err != nil {
		t.Fatal(err)
	}
	for _, given := range []struct {
		args []string
		want string
	}{
		{[]string{"--owner=somebody-else"}, "1"}, {[]string{"--owner=c", "--setting=vm.dirty_ratio"}, "1"}, {[]string{"--owner=c", "--setting=vm.swappiness"}, "60"},
	} {
		if err := run(append(append([]string{"host-tune", "restore"}, given.args...), acting...)); err != nil {
			t.Fatal(err)
		}
		if value := content(t, filepath.Join(root, "proc/sys/vm/swappiness")); value != given.want {
			t.Errorf("%v: vm.swappiness is %s", given.args, value)
		}
	}
	// A state that cannot be read can give nothing back, and says so by its exit code.
	if err := os.WriteFile(filepath.Join(state, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var code exitCode
	if err := run(append([]string{"host-tune", "restore", "--owner=c"}, acting...)); !errors.As(err, &code) {
		t.Errorf("ended with %v", err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// The reader answers one path, reads anew each time, and tells of settings it does not understand.
func TestReadings(t *testing.T) {
	given := hostFlags{root: fakeNode(t), settings: settingsFile(t, strings.ReplaceAll(swappinessSettings, "%s", ""))}
	server := httptest.NewServer(readings(given))
	defer server.Close()
	for _, step := range []struct {
		value  string
		result hosttune.Result
	}{{"60", hosttune.Differs}, {"1", hosttune.AlreadySet}} {
		if err := os.WriteFile(filepath.Join(given.root, "proc/sys/vm/swappiness"), []byte(step.value), 0o600); err != nil {
			t.Fatal(err)
		}
		if reading := askReader(t, server.URL); reading.Revision != "r1" || len(reading.Lines) != 1 || reading.Lines[0].Result != step.result {
			t.Errorf("%+v", reading)
		}
	}
	if err := os.WriteFile(given.settings, []byte(`{"revision":"r2","numa":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if reading := askReader(t, server.URL); reading.Revision != "r2" || reading.Lines[0].Result != hosttune.Refused {
		t.Errorf("%+v", reading)
	}
	for method, path := range map[string]string{http.MethodPost: hosttune.ReadingPath, http.MethodGet: "/../../etc/passwd"} {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode < http.StatusBadRequest {
			t.Errorf("%s %s: %s", method, path, response.Status)
		}
	}
}

func askReader(t *testing.T, address string) hosttune.Reading {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+hosttune.ReadingPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var reading hosttune.Reading
	if err := json.NewDecoder(response.Body).Decode(&reading); err != nil {
		t.Fatal(err)
	}
	return reading
}
