// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type healthTests struct {
	Tests []struct {
		Health health `json:"healthStatus"`
		Input  string `json:"inputPath"`
	} `json:"tests"`
}

// snippet is argocd-cm as we ship it.
func snippet(t *testing.T) (healthScript, discovery string, actions map[string]string) {
	t.Helper()
	type definition struct {
		Name   string `json:"name"`
		Script string `json:"action.lua"`
	}
	object := parse[struct {
		Data map[string]string `json:"data"`
	}](t, read(t, root, "config/argocd/argocd-cm.yaml"))
	offered := parse[struct {
		Discovery   string       `json:"discovery.lua"`
		Definitions []definition `json:"definitions"`
	}](t, object.Data["resource.customizations.actions.mongotuning.io_MongoTuning"])
	actions = map[string]string{}
	for _, one := range offered.Definitions {
		actions[one.Name] = one.Script
	}
	return object.Data["resource.customizations.health.mongotuning.io_MongoTuning"], offered.Discovery, actions
}

// TestHealthOfRealObjects runs both forms of the script over objects that a real operator wrote.
func TestHealthOfRealObjects(t *testing.T) {
	fromSnippet, _, _ := snippet(t)
	seen := map[string]bool{}
	for _, test := range parse[healthTests](t, read(t, scripts, "health_test.yaml")).Tests {
		t.Run(filepath.Base(test.Input), func(t *testing.T) {
			seen[test.Health.Status] = true
			object := parse[map[string]any](t, read(t, scripts, test.Input))
			for form, script := range map[string]string{"argocd-cm": fromSnippet, "tree": read(t, scripts, "health.lua")} {
				if diff := cmp.Diff(test.Health, healthOf(t, script, object)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", form, diff)
				}
			}
		})
	}
	for _, status := range []string{"Progressing", "Healthy", "Degraded", "Suspended"} {
		if !seen[status] {
			t.Errorf("no object is %s", status)
		}
	}
	files, err := filepath.Glob(filepath.Join(scripts, "testdata", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.Contains(read(t, scripts, "health_test.yaml"), "testdata/"+filepath.Base(file)) {
			t.Errorf("%s is in no test", file)
		}
	}
}

type actionTests struct {
	Discovery []struct {
		Input  string `json:"inputPath"`
		Result []struct {
			Name     string `json:"name"`
			Disabled bool   `json:"disabled"`
		} `json:"result"`
	} `json:"discoveryTests"`
	Actions []struct {
		Action string `json:"action"`
		Input  string `json:"inputPath"`
		Output string `json:"expectedOutputPath"`
	} `json:"actionTests"`
}

func TestActions(t *testing.T) {
	_, discovery, fromSnippet := snippet(t)
	tests := parse[actionTests](t, read(t, scripts, "actions/action_test.yaml"))
	var names []string
	for name := range fromSnippet {
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"resume", "retry", "suspend"}, names); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	for _, test := range tests.Discovery {
		t.Run("offered for "+filepath.Base(test.Input), func(t *testing.T) {
			want := map[string]any{}
			for _, action := range test.Result {
				want[action.Name] = map[string]any{"disabled": action.Disabled}
			}
			object := parse[map[string]any](t, read(t, scripts, "actions", test.Input))
			for _, script := range []string{discovery, read(t, scripts, "actions/discovery.lua")} {
				got, err := run(object, script)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("actions (-want +got):\n%s", diff)
				}
			}
		})
	}
	for _, test := range tests.Actions {
		t.Run(test.Action+" "+filepath.Base(test.Input), func(t *testing.T) {
			before := read(t, scripts, "actions", test.Input)
			want := parse[map[string]any](t, read(t, scripts, "actions", test.Output))
			for _, script := range []string{fromSnippet[test.Action], read(t, scripts, "actions", test.Action, "action.lua")} {
				got, err := run(parse[map[string]any](t, before), script)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, restored(got, parse[map[string]any](t, before))); diff != "" {
					t.Errorf("object (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// restored is an object as Argo CD patches it after an action: what came back as an empty list and was a map
// is what it was before. So an action cannot empty a map.
func restored(after, before any) any {
	switch after := after.(type) {
	case map[string]any:
		old, _ := before.(map[string]any)
		for key, value := range after {
			after[key] = restored(value, old[key])
		}
		return after
	case []any:
		if old, wasMap := before.(map[string]any); wasMap && len(after) == 0 {
			return old
		}
		old, _ := before.([]any)
		for i := range after {
			if i < len(old) {
				after[i] = restored(after[i], old[i])
			}
		}
		return after
	default:
		return after
	}
}
