// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// verdict is the part of a judgement that the tables compare.
type verdict struct {
	Knob     string
	Verdict  v1alpha1.KnobVerdict
	Cure     Cure
	Found    catalog.Value
	Declared bool
}

// process44 is a healthy 4.4 that was started with a cache of 0.25 GB and nothing else.
func process44(change ...func(*catalog.Process)) catalog.Process {
	process := catalog.Process{
		Version: catalog.Version{Major: 4, Minor: 4, Patch: 2},
		CommandLine: map[string]any{"storage": map[string]any{"wiredTiger": map[string]any{"engineConfig": map[string]any{
			"cacheSizeGB": 0.25,
		}}}},
		Parameters: map[string]any{catalog.RuntimeConfigParameter: ""},
		ServerStatus: map[string]any{
			"wiredTiger": map[string]any{
				"cache":                  map[string]any{"maximum bytes configured": 268435456.0, "eviction worker thread active": int64(4)},
				"concurrentTransactions": map[string]any{"read": map[string]any{"totalTickets": int64(128)}, "write": map[string]any{"totalTickets": int64(128)}},
			},
			"storageEngine":   map[string]any{"supportsCommittedReads": true},
			"connections":     map[string]any{"current": int64(5), "available": int64(15995)},
			"network":         map[string]any{"serviceExecutorTaskStats": map[string]any{"executor": "passthrough"}},
			"oplogTruncation": map[string]any{"truncateCount": int64(0)},
		},
		SlowOperations: map[string]any{"was": int64(0), "slowms": int64(100), "sampleRate": 1.0},
		OplogStats:     map[string]any{"maxSize": int64(1048576000)},
	}
	maps.Copy(process.Parameters, map[string]any{
		"enableFlowControl": true, "flowControlTargetLagSeconds": int64(10), "flowControlThresholdLagPercentage": 0.5,
		"flowControlMinTicketsPerSecond": int64(100), "maxTargetSnapshotHistoryWindowInSeconds": int64(5),
		"journalCommitInterval": int64(100), "ttlMonitorEnabled": true, "ttlMonitorSleepSecs": int64(60),
	})
	for _, apply := range change {
		apply(&process)
	}
	return process
}

func sent(text string) func(*catalog.Process) {
	return func(p *catalog.Process) { p.Parameters[catalog.RuntimeConfigParameter] = text }
}

func startedWith(section string, value any) func(*catalog.Process) {
	return func(p *catalog.Process) { p.CommandLine[section] = value }
}

const fullString = "cache_size=256M,eviction_target=80,eviction_trigger=95,eviction_dirty_target=5,eviction_dirty_trigger=30," +
	"eviction_updates_target=0,eviction_updates_trigger=0,eviction_checkpoint_target=1,eviction=(threads_min=4,threads_max=4),checkpoint=(wait=0,log_size=0)"

const mismatch, pending, proved = v1alpha1.KnobMismatched, v1alpha1.KnobPendingRestart, v1alpha1.KnobProved

// knobRows holds a row for each way a knob can stand.
var knobRows = []struct {
	name     string
	settings catalog.Settings
	process  catalog.Process
	stale    bool
	want     []verdict
}{
	{name: "an untouched server has nothing to report", process: process44()},
	{
		name: "the cache is proved by what the engine reports", settings: catalog.Settings{catalog.CacheSizeGB: "0.25"}, process: process44(),
		want: []verdict{{catalog.CacheSizeGB, proved, NoCure, "0.25", true}},
	},
	{
		name: "a string sent last proves eviction settings", settings: catalog.Settings{catalog.EvictionDirtyTrigger: "30"}, process: process44(sent(fullString)),
		want: []verdict{{catalog.EvictionDirtyTrigger, proved, NoCure, "30", true}},
	},
	{
		name: "an equal value spelled otherwise is proved", settings: catalog.Settings{catalog.EvictionDirtyTrigger: "30"},
		process: process44(sent("eviction_dirty_trigger=030," + fullString[:len("cache_size=256M,eviction_target=80,eviction_trigger=95,eviction_dirty_target=5")] + ",eviction_updates_target=0,eviction_updates_trigger=0,eviction_checkpoint_target=1,eviction=(threads_max=4,threads_min=4),checkpoint=(wait=0,log_size=0)")),
		want:    []verdict{{catalog.EvictionDirtyTrigger, proved, NoCure, "030", true}},
	},
	{
		name: "a declared value that is not in force is set online", settings: catalog.Settings{catalog.EvictionDirtyTrigger: "30"}, process: process44(),
		want: []verdict{{catalog.EvictionDirtyTrigger, mismatch, Setting, "20", true}},
	},
	{
		name: "a value that nobody declares any more is set back", process: process44(sent(fullString)),
		want: []verdict{{catalog.EvictionDirtyTrigger, mismatch, Setting, "30", false}},
	},
	{
		name: "a partial string sent by hand leaves all other keys unknown", settings: catalog.Settings{catalog.EvictionTarget: "80"},
		process: process44(sent("cache_size=256M")),
		want: []verdict{
			{catalog.EvictionTarget, mismatch, Setting, "", true}, {catalog.EvictionTrigger, mismatch, Setting, "", false},
			{catalog.EvictionDirtyTarget, mismatch, Setting, "", false}, {catalog.EvictionDirtyTrigger, mismatch, Setting, "", false},
			{catalog.EvictionUpdatesTarget, mismatch, Setting, "", false}, {catalog.EvictionUpdatesTrigger, mismatch, Setting, "", false},
			{catalog.EvictionCheckpoint, mismatch, Setting, "", false},
			{catalog.EvictionThreadsMin, mismatch, Setting, "", false}, {catalog.EvictionThreadsMax, mismatch, Setting, "", false},
			{"wiredTiger.checkpoint.wait", mismatch, Setting, "", false}, {"wiredTiger.checkpoint.log_size", mismatch, Setting, "", false},
		},
	},
	{
		name: "a checkpoint server that somebody started is stopped",
		process: process44(sent("checkpoint=(wait=5,log_size=0)," +
			"eviction_target=80,eviction_trigger=95,eviction_dirty_target=5,eviction_dirty_trigger=20,eviction_updates_target=0,eviction_updates_trigger=0,eviction_checkpoint_target=1,eviction=(threads_min=4,threads_max=4)")),
		want: []verdict{{"wiredTiger.checkpoint.wait", mismatch, Setting, "5", false}},
	},
	{
		name: "threads that run outside of the declared bounds are doubted", settings: catalog.Settings{catalog.EvictionThreadsMin: "8", catalog.EvictionThreadsMax: "8"},
		process: process44(startedWith("storage", map[string]any{"wiredTiger": map[string]any{"engineConfig": map[string]any{
			"configString": "eviction=(threads_min=8,threads_max=8)",
		}}})),
		want: []verdict{{catalog.EvictionThreadsMin, mismatch, Setting, "4", true}, {catalog.EvictionThreadsMax, proved, NoCure, "8", true}},
	},
	{
		name: "the checkpoint interval waits for a restart", settings: catalog.Settings{catalog.CheckpointWait: "20"}, process: process44(),
		want: []verdict{{catalog.CheckpointWait, pending, Restarting, "60", true}},
	},
	{
		name: "while the file is not right a restart would not help yet", settings: catalog.Settings{catalog.CheckpointWait: "20"}, process: process44(), stale: true,
		want: []verdict{{catalog.CheckpointWait, mismatch, Restarting, "60", true}},
	},
	{
		name: "syncdelay at run time proves nothing", settings: catalog.Settings{catalog.CheckpointWait: "20"},
		process: process44(func(p *catalog.Process) { p.Parameters["syncdelay"] = 20.0 }),
		want:    []verdict{{catalog.CheckpointWait, pending, Restarting, "60", true}},
	},
	{
		name: "a log size has no effect, which is no fault", settings: catalog.Settings{catalog.CheckpointLogSize: "1"}, process: process44(),
		want: []verdict{{catalog.CheckpointLogSize, v1alpha1.KnobNotApplicable, NoCure, "", true}},
	},
	{
		name: "connections cut by the limit of open files are stuck", settings: catalog.Settings{catalog.MaxIncomingConnections: "50000"},
		process: process44(startedWith("net", map[string]any{"maxIncomingConnections": int64(50000)})),
		want:    []verdict{{catalog.MaxIncomingConnections, mismatch, NoCure, "16000", true}},
	},
	{
		name:    "a left-over without a known default goes with a restart",
		process: process44(startedWith("net", map[string]any{"maxIncomingConnections": int64(16000)})),
		want:    []verdict{{catalog.MaxIncomingConnections, pending, Restarting, "16000", false}},
	},
	{
		name:     "the size of the oplog is what the collection reports, and is not undone",
		settings: catalog.Settings{catalog.OplogSize: "1000", catalog.OplogMinRetention: "2"},
		process:  process44(startedWith("replication", map[string]any{"oplogSizeMB": int64(50)})),
		want:     []verdict{{catalog.OplogSize, proved, NoCure, "1000", true}, {catalog.OplogMinRetention, mismatch, Setting, "0", true}},
	},
	{
		name:     "shares are compared in percent",
		settings: catalog.Settings{catalog.FlowControlThresholdLag: "50", catalog.SlowOperationSample: "99"}, process: process44(),
		want: []verdict{{catalog.FlowControlThresholdLag, proved, NoCure, "50", true}, {catalog.SlowOperationSample, mismatch, Setting, "100", true}},
	},
	{
		name:     "what was not answered is unknown",
		settings: catalog.Settings{catalog.CacheSizeGB: "0.25", catalog.EvictionTarget: "75", catalog.CheckpointWait: "20", catalog.SlowOperationThreshold: "50", catalog.OplogSize: "1000"},
		process:  catalog.Process{Version: catalog.Version{Major: 4, Minor: 4}},
		want: []verdict{
			{catalog.CacheSizeGB, v1alpha1.KnobUnknown, NoCure, "", true}, {catalog.EvictionTarget, v1alpha1.KnobUnknown, NoCure, "", true},
			{catalog.CheckpointWait, v1alpha1.KnobUnknown, NoCure, "", true}, {catalog.OplogSize, v1alpha1.KnobUnknown, NoCure, "", true},
			{catalog.SlowOperationThreshold, v1alpha1.KnobUnknown, NoCure, "", true},
		},
	},
	{
		name: "what a version does not show is unverifiable", settings: catalog.Settings{catalog.ReadTickets: "64"},
		process: process44(func(p *catalog.Process) {
			delete(p.ServerStatus["wiredTiger"].(map[string]any), "concurrentTransactions")
		}),
		want: []verdict{{catalog.ReadTickets, v1alpha1.KnobUnverifiable, NoCure, "", true}},
	},
	{
		name: "a listed parameter is held to its declared value", settings: catalog.Settings{"setParameters.cursorTimeoutMillis": "1000"},
		process: process44(func(p *catalog.Process) { p.Parameters["cursorTimeoutMillis"] = int64(600000) }),
		want:    []verdict{{"setParameters.cursorTimeoutMillis", mismatch, Setting, "600000", true}},
	},
	{
		name:    "a listed parameter that nobody declares any more is set back",
		process: process44(func(p *catalog.Process) { p.Parameters["cursorTimeoutMillis"] = int64(1000) }),
		want:    []verdict{{"setParameters.cursorTimeoutMillis", mismatch, Setting, "1000", false}},
	},
	{
		name:    "what people set while they search for a fault is left alone",
		process: process44(func(p *catalog.Process) { p.Parameters["logLevel"] = int64(2) }),
	},
}

func TestKnobs(t *testing.T) {
	for _, test := range knobRows {
		t.Run(test.name, func(t *testing.T) {
			var got []verdict
			for _, knob := range Knobs(v1alpha1.ComponentShardMember, test.settings, !test.stale, test.process) {
				got = append(got, verdict{knob.Name, knob.Verdict, knob.Cure, knob.Found, knob.Declared})
				if knob.Evidence == "" {
					t.Errorf("%s has no evidence", knob.Name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMember(t *testing.T) {
	member := Member{Knobs: Knobs(v1alpha1.ComponentShardMember, catalog.Settings{
		catalog.CacheSizeGB: "0.25", catalog.CheckpointLogSize: "1", catalog.EvictionTarget: "75", catalog.CheckpointWait: "20",
	}, true, process44())}
	proved, declared := member.Proved()
	if proved != 1 || declared != 3 {
		t.Errorf("proved %d of %d, want 1 of 3: a value without effect counts neither way", proved, declared)
	}
	if diff := cmp.Diff([]string{catalog.EvictionTarget}, member.Settable()); diff != "" {
		t.Errorf("settable (-want +got):\n%s", diff)
	}
	if !member.NeedsSetting() || !member.NeedsRestart() || member.InForce() || member.Stuck() != nil {
		t.Error("the member needs a setting and a restart, is not in force and not stuck")
	}
	whole := Member{Knobs: Knobs(v1alpha1.ComponentShardMember, catalog.Settings{catalog.CacheSizeGB: "0.25", catalog.CheckpointLogSize: "1"}, true, process44())}
	if !whole.InForce() || whole.NeedsSetting() || whole.NeedsRestart() {
		t.Error("a member on which everything with an effect is proved is in force")
	}
	if (Member{Unknown: "no answer"}).InForce() {
		t.Error("a member that did not answer is not in force")
	}
}
