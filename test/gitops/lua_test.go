// SPDX-License-Identifier: Apache-2.0

// Package gitops asks what Argo CD will make of our objects: its scripts are run in the restricted Lua that
// Argo CD runs them in. What Flux makes of the same objects is asked in the module test/kstatus.
package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

const (
	root    = "../.."
	scripts = root + "/config/argocd/resource_customizations/mongotuning.io/MongoTuning"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var parsed T
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// run runs a script as Argo CD does: base, table, package and a harmless os are there, string and math are
// not, and a second is all the time there is.
func run(object map[string]any, script string) (any, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}, {lua.OsLibName, safeOs}} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(library.open), Protect: true}, lua.LString(library.name)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	result := state.Get(-1)
	if result.Type() != lua.LTTable {
		return nil, fmt.Errorf("the script returns a %s, Argo CD wants a table", result.Type())
	}
	return fromLua(result), nil
}

// safeOs has of os what Argo CD leaves of it.
func safeOs(state *lua.LState) int {
	state.Push(state.RegisterModule(lua.OsLibName, map[string]lua.LGFunction{
		"time": func(state *lua.LState) int { state.Push(lua.LNumber(time.Now().Unix())); return 1 },
		"date": func(state *lua.LState) int { state.Push(lua.LString(time.Now().Format(time.RFC3339))); return 1 },
	}))
	return 1
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}

// fromLua reads a table back. One without entries may have been a map or a list; Argo CD takes it for a list.
func fromLua(value lua.LValue) any {
	switch value := value.(type) {
	case lua.LBool:
		return bool(value)
	case lua.LNumber:
		return float64(value)
	case lua.LString:
		return string(value)
	case *lua.LTable:
		if value.MaxN() > 0 || value.Len() == 0 && isEmpty(value) {
			list := []any{}
			for i := 1; i <= value.MaxN(); i++ {
				list = append(list, fromLua(value.RawGetInt(i)))
			}
			return list
		}
		object := map[string]any{}
		value.ForEach(func(key, item lua.LValue) { object[key.String()] = fromLua(item) })
		return object
	default:
		return nil
	}
}

func isEmpty(table *lua.LTable) bool {
	key, _ := table.Next(lua.LNil)
	return key == lua.LNil
}

// health is what health.lua returns.
type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func healthOf(t *testing.T, script string, object map[string]any) health {
	t.Helper()
	result, err := run(object, script)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return parse[health](t, string(content))
}

// TestHealthOfEveryStatus is the table of statuses that GitOps tools tell apart.
func TestHealthOfEveryStatus(t *testing.T) {
	script := read(t, scripts, "health.lua")
	rows := parse[[]struct {
		Name   string         `json:"name"`
		Object map[string]any `json:"object"`
		ArgoCD string         `json:"argocd"`
	}](t, read(t, "statuses.yaml"))
	if len(rows) < 10 {
		t.Fatalf("found %d statuses only", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			if got := healthOf(t, script, row.Object); got.Status != row.ArgoCD || got.Message == "" {
				t.Errorf("health is %+v, want %s", got, row.ArgoCD)
			}
		})
	}
}

// TestHealthNeverFails takes an object apart: a script that raises an error makes the whole application Unknown.
func TestHealthNeverFails(t *testing.T) {
	script := read(t, scripts, "health.lua")
	for _, object := range []string{
		`{}`, `{metadata: {}}`, `{status: {}}`, `{metadata: {}, status: {}}`, `{metadata: {generation: 1}, status: {}}`,
		`{metadata: {generation: 1}, status: {observedGeneration: 1}}`, `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: []}}`,
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{}]}}`,
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Stalled, status: "True"}]}}`,
	} {
		if _, err := run(parse[map[string]any](t, object), script); err != nil {
			t.Errorf("%s: %v", object, err)
		}
	}
}

// TestTheRestrictionIsReal proves that the runner refuses what Argo CD refuses.
func TestTheRestrictionIsReal(t *testing.T) {
	for _, script := range []string{`return {status = string.format("%s", "x")}`, `return {status = math.max(1, 2)}`, `return {status = io.read()}`, `os.exit(1)`, `return "x"`} {
		if _, err := run(map[string]any{}, script); err == nil {
			t.Errorf("%s runs", script)
		}
	}
}
