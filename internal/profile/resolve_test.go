// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

func limited(memory string) v1alpha1.Resources {
	if memory == "" {
		return v1alpha1.Resources{}
	}
	quantity := resource.MustParse(memory)
	return v1alpha1.Resources{Limits: v1alpha1.ComputeQuantities{Memory: &quantity}}
}

// specOn is a spec whose shard members and config servers have 4 GiB.
func specOn(version string, tuning *v1alpha1.MongodTuning) v1alpha1.MongoTuningSpec {
	return v1alpha1.MongoTuningSpec{
		MongoDB:       v1alpha1.MongoDBSpec{Version: version},
		Shards:        v1alpha1.ShardsSpec{Resources: limited("4Gi")},
		ConfigServers: v1alpha1.ConfigServersSpec{Resources: limited("4Gi")},
		Tuning:        tuning,
	}
}

func TestCacheOfShardMembers(t *testing.T) {
	gigabytes := func(size v1alpha1.Gigabytes) *v1alpha1.MongodTuning {
		return &v1alpha1.MongodTuning{CacheSizeGB: &size}
	}
	percent := func(share int32) *v1alpha1.MongodTuning {
		return &v1alpha1.MongodTuning{CacheSizePercent: &share}
	}
	tests := []struct {
		name             string
		memory           string
		profile, tuning  *v1alpha1.MongodTuning
		want             catalog.Value
		source           v1alpha1.ValueSource
		wantRefusalAlone string
	}{
		{name: "nothing declared is mongod's own formula over the limit", memory: "4Gi", want: "1.5", source: v1alpha1.SourceDerived},
		{name: "the formula has a floor", memory: "512Mi", want: "0.25", source: v1alpha1.SourceDerived},
		{name: "a size of the profile is taken", memory: "4Gi", profile: gigabytes(2), want: "2", source: v1alpha1.SourceProfile},
		{name: "a size here wins over a size of the profile", memory: "4Gi", profile: gigabytes(2), tuning: gigabytes(1), want: "1", source: v1alpha1.SourceOverride},
		{name: "a share here replaces a size of the profile", memory: "4Gi", profile: gigabytes(2), tuning: percent(50), want: "2", source: v1alpha1.SourceDerived},
		{name: "a size here replaces a share of the profile", memory: "4Gi", profile: percent(50), tuning: gigabytes(1), want: "1", source: v1alpha1.SourceOverride},
		{name: "a share is cut to whole MiB", memory: "1000Mi", profile: percent(33), want: "0.322265625", source: v1alpha1.SourceDerived},
		{name: "a share has the same floor", memory: "1Gi", tuning: percent(5), want: "0.25", source: v1alpha1.SourceDerived},
		{name: "a size without a limit is taken", tuning: gigabytes(50), want: "50", source: v1alpha1.SourceOverride},
		{name: "a share without a limit is refused", tuning: percent(50), wantRefusalAlone: "tuning.cacheSizePercent: 50 needs resources.limits.memory to be set, since it is a share of it"},
		{name: "nothing without a limit is refused", wantRefusalAlone: "tuning.cacheSizeGB: must be set when resources.limits.memory is not: the server would size its cache from the whole node"},
		{name: "more than 80 % is refused", memory: "4Gi", tuning: gigabytes(3.3), wantRefusalAlone: "tuning.cacheSizeGB: 3.3 GB must be at most 80 % of the memory limit, which is 3.20 GB: connections, sorts and the file system cache need the rest"},
		{name: "a limit that the smallest cache does not fit is refused", memory: "256Mi", wantRefusalAlone: "tuning.cacheSizeGB: 0.25 GB must be at most 80 % of the memory limit, which is 0.20 GB: connections, sorts and the file system cache need the rest"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := specOn("4.4.2", test.tuning)
			spec.Shards.Resources = limited(test.memory)
			resolved, err := Resolve(spec, &v1alpha1.TuningProfileSpec{Tuning: test.profile})
			if test.wantRefusalAlone != "" {
				wantRefusal(t, err, v1alpha1.ReasonInvalidTuning, test.wantRefusalAlone)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(catalog.Settings{catalog.CacheSizeGB: test.want}, resolved.Settings[v1alpha1.ComponentShardMember]); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if got := resolved.Sources[v1alpha1.ComponentShardMember][catalog.CacheSizeGB]; got != test.source {
				t.Errorf("source is %s, want %s", got, test.source)
			}
		})
	}
}

func wantRefusal(t *testing.T, err error, reason string, problems ...string) {
	t.Helper()
	refused, ok := AsRefused(err)
	if !ok {
		t.Fatalf("error is %v, want a refusal", err)
	}
	if refused.Reason != reason {
		t.Errorf("reason is %s, want %s", refused.Reason, reason)
	}
	if diff := cmp.Diff(problems, refused.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	adaptive := v1alpha1.ServiceExecutorAdaptive
	tests := []struct {
		name     string
		version  string
		profile  *v1alpha1.MongodTuning
		tuning   *v1alpha1.MongodTuning
		reason   string
		problems []string
	}{
		{
			"what the version cannot do is refused with what can be used instead", "6.0.27", nil, &v1alpha1.MongodTuning{ServiceExecutor: &adaptive},
			v1alpha1.ReasonKnobUnsupported, []string{"tuning.serviceExecutor: adaptive is not supported by MongoDB 6.0 (only 4.2-4.4): it has one thread per connection: use initialServiceExecutorThreadingModel borrowed (5.0 and 6.0, not the same thing), maxIncomingConnections, and smaller pools in the application"},
		},
		{
			"values that contradict each other only together are refused", "4.4.2",
			&v1alpha1.MongodTuning{Eviction: &v1alpha1.EvictionTuning{DirtyTargetPercent: new(int32(15))}},
			&v1alpha1.MongodTuning{Eviction: &v1alpha1.EvictionTuning{DirtyTriggerPercent: new(int32(10))}},
			v1alpha1.ReasonInvalidTuning, []string{
				"tuning.eviction.dirtyTargetPercent: 15 must be less than eviction.dirtyTriggerPercent, which is 10: background eviction would start after the clients were drafted",
				"tuning.eviction.updatesTargetPercent: 7.5 must be less than eviction.updatesTriggerPercent, which is 5: background eviction would start after the clients were drafted",
			},
		},
		{
			"a version that cannot be read is refused", "6.0", nil, nil,
			v1alpha1.ReasonInvalidTuning, []string{`mongodb.version: version "6.0" is not of the form major.minor.patch`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Resolve(specOn(test.version, test.tuning), &v1alpha1.TuningProfileSpec{Tuning: test.profile})
			wantRefusal(t, err, test.reason, test.problems...)
		})
	}
}

func TestAnOverrideUndoesAProfileOnEveryVersion(t *testing.T) {
	adaptive, synchronous := v1alpha1.ServiceExecutorAdaptive, v1alpha1.ServiceExecutorSynchronous
	borrowed, dedicated := v1alpha1.ThreadingModelBorrowed, v1alpha1.ThreadingModelDedicated
	base := &v1alpha1.TuningProfileSpec{Tuning: &v1alpha1.MongodTuning{
		EnableMajorityReadConcern: new(false), ServiceExecutor: &adaptive, InitialServiceExecutorThreadingModel: &borrowed,
		Eviction: &v1alpha1.EvictionTuning{UpdatesTargetPercent: new(int32(3)), UpdatesTriggerPercent: new(int32(9))},
		Oplog:    &v1alpha1.OplogTuning{MinRetentionHours: new(int32(2))},
	}}
	undone := &v1alpha1.MongodTuning{
		EnableMajorityReadConcern: new(true), ServiceExecutor: &synchronous, InitialServiceExecutorThreadingModel: &dedicated,
		Eviction: &v1alpha1.EvictionTuning{UpdatesTargetPercent: new(int32(0)), UpdatesTriggerPercent: new(int32(0))},
		Oplog:    &v1alpha1.OplogTuning{MinRetentionHours: new(int32(0))},
	}
	for _, line := range catalog.Lines() {
		resolved, err := Resolve(specOn(line.String()+".1", undone), base)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for name := range resolved.Settings[v1alpha1.ComponentShardMember] {
			if knob, _ := catalog.Lookup(name); !knob.Versions.Includes(line) {
				t.Errorf("%s on %s is still there", name, line)
			}
		}
	}
}

func TestEffectiveSaysWhereValuesCameFromAndWhatToKnow(t *testing.T) {
	base := &v1alpha1.TuningProfileSpec{Tuning: &v1alpha1.MongodTuning{Checkpoint: &v1alpha1.CheckpointTuning{LogSizeGB: new(int32(1))}}}
	spec := specOn("4.4.2", &v1alpha1.MongodTuning{Checkpoint: &v1alpha1.CheckpointTuning{WaitSeconds: new(int32(20))}})
	spec.Mongos.Tuning = &v1alpha1.MongosTuning{ServiceExecutor: new(v1alpha1.ServiceExecutorAdaptive)}
	resolved, err := Resolve(spec, base)
	if err != nil {
		t.Fatal(err)
	}
	const note = "MongoDB since 3.6 drives checkpoints by time only (SERVER-29210): the value is not applied; checkpoint.waitSeconds is what counts"
	want := []v1alpha1.EffectiveValue{
		{Component: "ShardMember", Knob: "cacheSizeGB", Value: "1.5", Source: "Derived"},
		{Component: "ShardMember", Knob: "checkpoint.waitSeconds", Value: "20", Source: "Override"},
		{Component: "ShardMember", Knob: "checkpoint.logSizeGB", Value: "1", Source: "Profile", Note: note},
		{Component: "ConfigServer", Knob: "cacheSizeGB", Value: "1.5", Source: "Derived"},
		{Component: "Mongos", Knob: "serviceExecutor", Value: "adaptive", Source: "Override", Note: mongosNote},
	}
	if diff := cmp.Diff(want, resolved.Effective()); diff != "" {
		t.Errorf("effective values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tuning.checkpoint.logSizeGB: 1 is declared: " + note}, resolved.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestWarningsKnowTheContainers proves that shard members and config servers are held to their own limits.
func TestWarningsKnowTheContainers(t *testing.T) {
	spec := specOn("6.0.27", &v1alpha1.MongodTuning{Eviction: &v1alpha1.EvictionTuning{ThreadsMin: new(int32(8)), ThreadsMax: new(int32(12))}})
	shardCPUs, configCPUs := resource.MustParse("8"), resource.MustParse("12")
	spec.Shards.Resources.Limits.CPU, spec.ConfigServers.Resources.Limits.CPU = &shardCPUs, &configCPUs
	spec.ConfigServers.Tuning = &v1alpha1.ConfigServerTuning{CacheSizePercent: new(int32(75))}
	resolved, err := Resolve(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tuning.eviction.threadsMax: 12 is more than the CPU limit, which is 8: past the number of CPUs more threads did not help, and they take CPU time from clients; declare at most 8 or raise the CPU limit",
		"configServers.tuning.cacheSizeGB: 3 GB is more than 60 % of the memory limit, which is 2.40 GB: connections, sorts and the file system cache have to share the rest; declare a smaller cache or raise the memory limit",
	}
	if diff := cmp.Diff(want, resolved.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestHash proves that the name of a tuning depends on its values and its line, and on nothing else.
func TestHash(t *testing.T) {
	hash := func(version string, base, override *v1alpha1.MongodTuning) string {
		t.Helper()
		resolved, err := Resolve(specOn(version, override), &v1alpha1.TuningProfileSpec{Tuning: base})
		if err != nil {
			t.Fatal(err)
		}
		return resolved.Hash()
	}
	wait := &v1alpha1.MongodTuning{Checkpoint: &v1alpha1.CheckpointTuning{WaitSeconds: new(int32(20))}}
	if hash("4.4.2", wait, nil) != hash("4.4.29", nil, wait) {
		t.Error("the same values on another patch release, from elsewhere, have another name")
	}
	if hash("4.4.2", wait, nil) == hash("5.0.4", wait, nil) || hash("4.4.2", wait, nil) == hash("4.4.2", nil, nil) {
		t.Error("another line or another value has the same name")
	}
}

// TestResolvedCacheAlwaysFits proves for any share and limit that what is resolved is no more than 80 %
// of the limit, and a whole number of MiB.
func TestResolvedCacheAlwaysFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mebibytes := rapid.Int64Range(320, 4<<20).Draw(t, "limit in MiB")
		share := rapid.Int32Range(5, 80).Draw(t, "percent")
		spec := specOn("6.0.27", &v1alpha1.MongodTuning{CacheSizePercent: &share})
		spec.Shards.Resources.Limits.Memory = resource.NewQuantity(mebibytes<<20, resource.BinarySI)
		resolved, err := Resolve(spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		sizeGB, _ := resolved.Settings[v1alpha1.ComponentShardMember][catalog.CacheSizeGB].AsFloat()
		if whole := sizeGB * 1024; whole != float64(int64(whole)) || sizeGB*(1<<30) > 0.8*float64(mebibytes<<20) {
			t.Errorf("%d %% of %d MiB is %v GB", share, mebibytes, sizeGB)
		}
	})
}
