// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/catalog"
)

func TestExplainIsGolden(t *testing.T) {
	d := newDesk(t)
	for file, args := range map[string][]string{
		"explain/online.txt":    {"explain", "eviction.dirtyTriggerPercent"},
		"explain/restart.txt":   {"explain", "serviceExecutor"},
		"explain/variants.txt":  {"explain", "tickets.read"},
		"explain/mongos.txt":    {"explain", "connectionPool.minSize"},
		"explain/group.txt":     {"explain", "checkpoint"},
		"explain/parameter.txt": {"explain", "setParameters.cursorTimeoutMillis"},
		"explain/online.yaml":   {"explain", "eviction.dirtyTriggerPercent", "-o", "yaml"},
	} {
		golden(t, file, d.prints(args...))
	}
}

// TestEveryKnobCanBeExplained goes through the whole catalogue.
func TestEveryKnobCanBeExplained(t *testing.T) {
	d := newDesk(t)
	for _, knob := range catalog.All() {
		if knob.Fixed {
			continue
		}
		var view knobView
		if err := yaml.UnmarshalStrict([]byte(d.prints("explain", knob.Name, "-o", "yaml")), &view); err != nil {
			t.Fatal(err)
		}
		if view.Knob != knob.Name || len(view.Fields) != len(knob.Components) || view.Proof == "" || view.Range == "" {
			t.Errorf("%s: %+v", knob.Name, view)
		}
		if text := d.prints("explain", knob.Name); !strings.HasPrefix(text, knob.Name+"\n") {
			t.Errorf("%s is explained as\n%s", knob.Name, text)
		}
	}
}

func TestKnobsAreFoundByOtherNames(t *testing.T) {
	d := newDesk(t)
	for word, want := range map[string]string{
		"EVICTION.dirtytriggerpercent": "eviction.dirtyTriggerPercent", "eviction_dirty_trigger": "eviction.dirtyTriggerPercent",
		"spec.tuning.cacheSizeGB": "cacheSizeGB", "threadsMax": "eviction.threadsMax", "eviction_threads_min": "eviction.threadsMin",
		"wiredTigerConcurrentReadTransactions": "tickets.read",
	} {
		if text := d.prints("explain", word); !strings.HasPrefix(text, want+"\n") {
			t.Errorf("%s is taken for\n%s", word, text)
		}
	}
}

func TestUnknownKnobs(t *testing.T) {
	d := newDesk(t)
	contains(t, d.fails("explain", "dirtyTrigerPercent"), `there is no knob "dirtyTrigerPercent"`, "did you mean eviction.dirtyTriggerPercent")
	contains(t, d.fails("explain", "zzzzzzzzzzzz"), "kubectl mongotuning explain lists all of them")
}

func TestExplainNeedsNoCluster(t *testing.T) {
	d := newDesk(t)
	d.offline = unconfigured(nil)
	var views []knobView
	if err := json.Unmarshal([]byte(d.prints("explain", "-o", "json")), &views); err != nil {
		t.Fatal(err)
	}
	if len(views) < 30 {
		t.Errorf("%d knobs only", len(views))
	}
}

func TestFormatsThatDoNotExist(t *testing.T) {
	contains(t, newDesk(t).fails("explain", "-o", "wide"), "must be json or yaml")
}
