// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

func TestFlatten(t *testing.T) {
	block := &v1alpha1.MongodTuning{
		CacheSizeGB: new(v1alpha1.Gigabytes(1.5)),
		Eviction:    &v1alpha1.EvictionTuning{DirtyTriggerPercent: new(int32(30))},
		FlowControl: &v1alpha1.FlowControlTuning{Enabled: new(false)},
		NetworkCompressors: []v1alpha1.NetworkCompressor{
			v1alpha1.NetworkCompressorZstd, v1alpha1.NetworkCompressorSnappy,
		},
		SetParameters: []v1alpha1.ServerParameter{{Name: "cursorTimeoutMillis", Value: "1000"}, {Name: "bogus", Value: "1"}},
	}
	got, err := Flatten(v1alpha1.ComponentShardMember, block)
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		CacheSizeGB: "1.5", EvictionDirtyTrigger: "30", FlowControlEnabled: "false", NetworkCompressors: "zstd,snappy",
		"setParameters.cursorTimeoutMillis": "1000",
		"setParameters.bogus":               "1", // Check says why it cannot be
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestFlattenOfNothing(t *testing.T) {
	got, err := Flatten(v1alpha1.ComponentMongos, (*v1alpha1.MongosTuning)(nil))
	if err != nil || len(got) != 0 {
		t.Errorf("Flatten(nil) = %v, %v, want nothing", got, err)
	}
}

func TestFlattenRefusesWhatNoRowKnows(t *testing.T) {
	tests := []struct {
		name      string
		component v1alpha1.Component
		block     any
		says      string
	}{
		{"a field without a row", v1alpha1.ComponentShardMember, map[string]any{"evictionSpeed": 9}, `no knob "evictionSpeed" for ShardMember`},
		{"a field of another component", v1alpha1.ComponentConfigServer, map[string]any{EnableMajorityReadConcern: false}, `no knob "enableMajorityReadConcern" for ConfigServer`},
		{"a row that belongs to the operator", v1alpha1.ComponentShardMember, map[string]any{"wiredTiger": map[string]any{"checkpoint": map[string]any{"wait": 5}}}, `no knob "wiredTiger.checkpoint.wait" for ShardMember`},
		{"what cannot be encoded", v1alpha1.ComponentShardMember, func() {}, "read tuning of ShardMember"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := Flatten(test.component, test.block)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Flatten = %v, %v, want an error saying %q", settings, err, test.says)
			}
		})
	}
}

const defaultsOf44 = "eviction_target=80,eviction_trigger=95,eviction_dirty_target=5,eviction_dirty_trigger=20," +
	"eviction_updates_target=0,eviction_updates_trigger=0,eviction_checkpoint_target=1,eviction=(threads_min=4,threads_max=4),checkpoint=(wait=0,log_size=0)"

func TestRuntimeWiredTigerString(t *testing.T) {
	tests := []struct {
		name      string
		component v1alpha1.Component
		line      Line
		settings  Settings
		want      string
	}{
		{"undeclared keys carry the server's defaults", v1alpha1.ComponentShardMember, v44, Settings{CacheSizeGB: "0.25"}, "cache_size=256M," + defaultsOf44},
		{"declared keys replace them", v1alpha1.ComponentShardMember, v44, Settings{CacheSizeGB: "0.25", EvictionDirtyTrigger: "30"}, strings.Replace("cache_size=256M,"+defaultsOf44, "dirty_trigger=20", "dirty_trigger=30", 1)},
		{"4.2 does not get keys that it refuses", v1alpha1.ComponentShardMember, v42, Settings{CacheSizeGB: "50"}, "cache_size=51200M," + strings.Replace(defaultsOf44, "eviction_updates_target=0,eviction_updates_trigger=0,", "", 1)},
		{"a cache that is no whole number of MiB is cut, as mongod cuts it", v1alpha1.ComponentConfigServer, v60, Settings{CacheSizeGB: "0.3"}, "cache_size=307M"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := RuntimeWiredTigerString(test.component, test.line, test.settings); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestConfigDocument(t *testing.T) {
	settings := Settings{
		CacheSizeGB: "1.5", EvictionThreadsMin: "14", EvictionThreadsMax: "18", EvictionUpdatesTarget: "0",
		CheckpointWait: "20", CheckpointLogSize: "1", EnableMajorityReadConcern: "false", ServiceExecutor: "synchronous",
		FlowControlThresholdLag: "30", SnapshotHistoryWindow: "60", ReadTickets: "64", SlowOperationSample: "25",
		NetworkCompressors: "zstd,snappy", JournalCommitInterval: "50", TTLMonitorEnabled: "false",
		"setParameters.cursorTimeoutMillis": "1000",
	}
	want := map[string]any{
		"storage": map[string]any{
			"syncPeriodSecs": int64(20),
			"journal":        map[string]any{"commitIntervalMs": int64(50)},
			"wiredTiger": map[string]any{"engineConfig": map[string]any{
				"cacheSizeGB": 1.5, "configString": "eviction_updates_target=0,eviction=(threads_min=14,threads_max=18)",
			}},
		},
		"replication":        map[string]any{"enableMajorityReadConcern": false},
		"net":                map[string]any{"compression": map[string]any{"compressors": "zstd,snappy"}},
		"operationProfiling": map[string]any{"slowOpSampleRate": 0.25},
		"setParameter": map[string]any{
			"flowControlThresholdLagPercentage": 0.3, "maxTargetSnapshotHistoryWindowInSeconds": int64(60),
			"wiredTigerConcurrentReadTransactions": int64(64), "ttlMonitorEnabled": false, "cursorTimeoutMillis": int64(1000),
		},
	}
	if diff := cmp.Diff(want, ConfigDocument(v1alpha1.ComponentShardMember, v44, settings)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestConfigDocumentUsesTheNamesOfTheLine(t *testing.T) {
	settings := Settings{SnapshotHistoryWindow: "60", ReadTickets: "64"}
	want := map[string]any{"setParameter": map[string]any{
		"minSnapshotHistoryWindowInSeconds": int64(60), "storageEngineConcurrentReadTransactions": int64(64),
	}}
	if diff := cmp.Diff(want, ConfigDocument(v1alpha1.ComponentShardMember, v60, settings)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestChangesFor(t *testing.T) {
	hours := 0.0
	tests := []struct {
		name      string
		line      Line
		settings  Settings
		differing []string
		want      Changes
	}{
		{"nothing differs, nothing is sent", v44, Settings{CacheSizeGB: "1"}, nil, Changes{}},
		{"one WiredTiger key sends the full string", v44, Settings{CacheSizeGB: "0.25"}, []string{EvictionTarget}, Changes{WiredTigerString: "cache_size=256M," + defaultsOf44}},
		{
			"parameters are sent in the server's names and types", v60,
			Settings{FlowControlThresholdLag: "30", SnapshotHistoryWindow: "60", TTLMonitorEnabled: "false"},
			[]string{SnapshotHistoryWindow, FlowControlThresholdLag, TTLMonitorEnabled, WriteTickets},
			Changes{Parameters: []Parameter{
				{"minSnapshotHistoryWindowInSeconds", int64(60)}, {"flowControlThresholdLagPercentage", 0.3},
				{"ttlMonitorEnabled", false}, {"storageEngineConcurrentWriteTransactions", int64(128)},
			}},
		},
		{"the threshold goes with the sample rate", v44, Settings{SlowOperationThreshold: "50"}, []string{SlowOperationThreshold}, Changes{SlowOperations: &SlowOperations{50, 1}}},
		{"the sample rate goes with the threshold", v44, Settings{SlowOperationSample: "25"}, []string{SlowOperationSample}, Changes{SlowOperations: &SlowOperations{100, 0.25}}},
		{"the retention time goes with a declared oplog size, since some servers want both", v44, Settings{OplogSize: "2000"}, []string{OplogMinRetention}, Changes{Oplog: &Oplog{SizeMB: 2000, MinRetentionHours: &hours}}},
		{"the oplog size alone leaves the retention time", v44, Settings{OplogSize: "2000"}, []string{OplogSize}, Changes{Oplog: &Oplog{SizeMB: 2000}}},
		{"what takes a restart is passed over", v44, Settings{CheckpointWait: "20", ServiceExecutor: "adaptive"}, []string{CheckpointWait, ServiceExecutor}, Changes{}},
		{"what has no known default is passed over", v70, Settings{}, []string{ReadTickets, "setParameters.notablescan", "noSuchKnob"}, Changes{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ChangesFor(v1alpha1.ComponentShardMember, test.line, test.settings, test.differing)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if got.IsEmpty() != cmp.Equal(test.want, Changes{}) {
				t.Errorf("IsEmpty is %v", got.IsEmpty())
			}
		})
	}
}

func TestFullStringInForce(t *testing.T) {
	commandLine := map[string]any{"storage": map[string]any{"wiredTiger": map[string]any{"engineConfig": map[string]any{
		"cacheSizeGB": 0.5, "configString": "eviction_target=75,eviction=(threads_min=8,threads_max=12)",
	}}}}
	tests := []struct {
		name, sent, want string
	}{
		{"what was sent last is in force", "cache_size=1G", "cache_size=1G"},
		{"otherwise what the process was started with, over the defaults", "", "cache_size=512M,checkpoint=(log_size=0,wait=0),eviction=(threads_max=12,threads_min=8),eviction_checkpoint_target=1,eviction_dirty_target=5,eviction_dirty_trigger=20,eviction_target=75,eviction_trigger=95"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			process := Process{Parameters: map[string]any{RuntimeConfigParameter: test.sent}, CommandLine: commandLine}
			if got := FullStringInForce(process); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestParametersToReadExistOnTheLine(t *testing.T) {
	for line, list := range map[Line][2]string{
		v42: {"maxTargetSnapshotHistoryWindowInSeconds", "minSnapshotHistoryWindowInSeconds"},
		v50: {"minSnapshotHistoryWindowInSeconds", "maxTargetSnapshotHistoryWindowInSeconds"},
	} {
		names := strings.Join(ParametersToRead(line), " ") + " "
		if !strings.Contains(names, list[0]+" ") || strings.Contains(names, list[1]+" ") || !strings.Contains(names, RuntimeConfigParameter+" ") {
			t.Errorf("parameters of %s: %s", line, names)
		}
	}
}
