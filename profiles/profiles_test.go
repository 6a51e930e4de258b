// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/profile"
)

// TestProfilesResolveWhereTheySay also proves that nobody is left in doubt where a profile with knobs of
// old servers is not meant for.
func TestProfilesResolveWhereTheySay(t *testing.T) {
	for _, p := range all(t) {
		said := Lines(p)
		if len(said) == 0 {
			t.Errorf("%s says no version", p.Name)
		}
		for _, line := range catalog.Lines() {
			_, err := profile.Resolve(clusterOn(line), &p.Spec)
			says := slices.Contains(said, line.String())
			if says && err != nil {
				t.Errorf("%s says that it can be declared on %s: %v", p.Name, line, err)
			}
			if !says && err == nil && strings.HasPrefix(p.Name, "million-tps") {
				t.Errorf("%s is not meant for %s and is not refused there", p.Name, line)
			}
		}
	}
}

// TestStagesOfTheReport holds the stages to the figures of OPPO's report.
func TestStagesOfTheReport(t *testing.T) {
	eviction := func(settings catalog.Settings, dirtyTrigger, least, most, wait catalog.Value) catalog.Settings {
		maps.Copy(settings, catalog.Settings{
			catalog.CacheSizeGB:    "49.3994140625", // 26 % of 190 GB: the report's 50 GB of 190, in whole percent and MiB
			catalog.EvictionTarget: "75", catalog.EvictionTrigger: "97", catalog.EvictionDirtyTarget: "3",
			catalog.EvictionDirtyTrigger: dirtyTrigger, catalog.EvictionThreadsMin: least, catalog.EvictionThreadsMax: most,
			catalog.CheckpointWait: wait, catalog.CheckpointLogSize: "1", catalog.ServiceExecutor: "adaptive",
		})
		return settings
	}
	want := map[string]catalog.Settings{
		"million-tps-v1": eviction(catalog.Settings{}, "25", "8", "12", "25"),
		"million-tps-v2": eviction(catalog.Settings{catalog.EnableMajorityReadConcern: "false"}, "30", "8", "12", "25"),
		"million-tps-v3": eviction(catalog.Settings{catalog.EnableMajorityReadConcern: "false"}, "30", "14", "18", "20"),
	}
	for _, p := range all(t) {
		settings, isStage := want[p.Name]
		if !isStage {
			continue
		}
		delete(want, p.Name)
		resolved, err := profile.Resolve(clusterOn(catalog.Line{Major: 4, Minor: 4}), &p.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(settings, resolved.Settings[v1alpha1.ComponentShardMember]); diff != "" {
			t.Errorf("%s (-report +profile):\n%s", p.Name, diff)
		}
	}
	for name := range want {
		t.Errorf("there is no profile %s", name)
	}
}

func all(t *testing.T) []v1alpha1.TuningProfile {
	t.Helper()
	profiles, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) == 0 {
		t.Fatal("there are no profiles")
	}
	return profiles
}

// clusterOn is a cluster on the report's machines.
func clusterOn(line catalog.Line) v1alpha1.MongoTuningSpec {
	memory := resource.MustParse("190Gi")
	resources := v1alpha1.Resources{Limits: v1alpha1.ComputeQuantities{Memory: &memory}}
	return v1alpha1.MongoTuningSpec{
		MongoDB:       v1alpha1.MongoDBSpec{Version: line.String() + ".1"},
		Shards:        v1alpha1.ShardsSpec{Resources: resources},
		ConfigServers: v1alpha1.ConfigServersSpec{Resources: resources},
	}
}
