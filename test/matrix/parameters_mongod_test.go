// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/test/servers"
)

// parameterList is the embedded list of parameters that setParameters may name.
const parameterList = "../../internal/catalog/parameters.json"

// TestParameterListIsWhatServersSay asks each server for its parameters, sets every one of them to the
// value it has, starts a server with all of them in its file, and compares with the embedded list.
func TestParameterListIsWhatServersSay(t *testing.T) {
	measured := map[string]map[string]catalog.Measured{}
	for _, version := range servers.Versions() {
		parsed, err := catalog.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		measured[parsed.Line().String()] = measureParameters(t, version)
	}
	encoded, err := json.MarshalIndent(measured, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compareOrUpdate(t, parameterList, append(encoded, '\n'))
}

// compareOrUpdate compares a generated file with the one in the tree, or writes it when UPDATE is set.
func compareOrUpdate(t *testing.T, path string, content []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(filepath.Clean(path), content, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	existing, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(existing), string(content)); diff != "" {
		t.Errorf("%s is not what was measured; run the test with UPDATE=1 (-file +measured):\n%s", path, diff)
	}
}

func measureParameters(t *testing.T, version string) map[string]catalog.Measured {
	t.Helper()
	server := servers.StartReplicaSet(t, servers.Options{Version: version, Role: "shardsvr"}, 1).Servers[0]
	client := connect(t, server)
	var all bson.M
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "getParameter", Value: "*"}}).Decode(&all); err != nil {
		t.Fatal(err)
	}
	list := map[string]catalog.Measured{}
	for name, value := range all {
		kind, text, scalar := scalarOf(value)
		if !scalar || catalog.Owner(name) != "" || name == "ok" {
			continue
		}
		set := bson.D{{Key: "setParameter", Value: 1}, {Key: name, Value: value}}
		online := client.Database("admin").RunCommand(t.Context(), set).Err() == nil
		list[name] = catalog.Measured{Kind: kind, Default: text, Online: online}
	}
	for _, refused := range refusedAtStart(t, version, list) {
		// Some only contradict others.
		alone := map[string]catalog.Measured{refused: list[refused]}
		if started, _ := tryStart(t, version, parametersConfig(t, alone)); !started {
			delete(list, refused)
		}
	}
	return list
}

func scalarOf(value any) (kind, text string, scalar bool) {
	switch x := value.(type) {
	case bool:
		return "boolean", fmt.Sprint(x), true
	case int32, int64:
		return "integer", fmt.Sprint(x), true
	case float64:
		return "decimal", string(catalog.Decimal(x)), true
	case string:
		return "text", x, x != ""
	default:
		return "", "", false
	}
}

var quoted = regexp.MustCompile(`'?([A-Za-z]+[A-Za-z0-9_.]*)'?`)

// refusedAtStart are the parameters that a server does not take in its file, each at its own default.
func refusedAtStart(t *testing.T, version string, list map[string]catalog.Measured) []string {
	t.Helper()
	given := maps.Clone(list)
	var refused []string
	for {
		started, log := tryStart(t, version, parametersConfig(t, given))
		if started {
			return refused
		}
		bad := namedIn(log, given)
		if len(bad) == 0 {
			t.Fatalf("mongod %s does not start and names no parameter:\n%s", version, log)
		}
		for _, name := range bad {
			delete(given, name)
		}
		refused = append(refused, bad...)
	}
}

// parametersConfig is a file that sets parameters to their defaults.
func parametersConfig(t *testing.T, given map[string]catalog.Measured) string {
	t.Helper()
	parameters := map[string]any{}
	for name, measured := range given {
		parameters[name] = measured.Default
	}
	config, err := yaml.Marshal(map[string]any{"setParameter": parameters})
	if err != nil {
		t.Fatal(err)
	}
	return string(config)
}

// startPatience is longer than any server takes to refuse a parameter.
const startPatience = 5 * time.Second

// tryStart tells whether a server is still up after its parameters were read; it is killed either way.
func tryStart(t *testing.T, version, config string) (started bool, log string) {
	t.Helper()
	directory := t.TempDir()
	file := filepath.Join(directory, "mongod.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	output, _ := exec.CommandContext(ctx, servers.Binary(t, version), "--config", file, "--dbpath", directory,
		"--wiredTigerCacheSizeGB", "0.25", "--bind_ip", "127.0.0.1", "--port", "0", "--nounixsocket").CombinedOutput()
	return ctx.Err() != nil, string(output)
}

// namedIn are the parameters that the complaint of a server names.
func namedIn(log string, given map[string]catalog.Measured) []string {
	var named []string
	for line := range strings.SplitSeq(log, "\n") {
		if !strings.Contains(line, "arameter") {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(line, -1) {
			if _, known := given[match[1]]; known && !slices.Contains(named, match[1]) {
				named = append(named, match[1])
			}
		}
	}
	return named
}
