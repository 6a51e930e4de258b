// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package matrix

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/servers"
)

// look asks the server everything that rows are judged by.
func (s *subject) look(t *testing.T) catalog.Process {
	t.Helper()
	version, err := catalog.ParseVersion(s.server.Options.Version)
	if err != nil {
		t.Fatal(err)
	}
	parameters := bson.D{{Key: "getParameter", Value: 1}}
	for _, name := range catalog.ParametersToRead(s.line) {
		parameters = append(parameters, bson.E{Key: name, Value: 1})
	}
	parsed, _ := s.ask(t, "admin", bson.D{{Key: "getCmdLineOpts", Value: 1}})["parsed"].(map[string]any)
	return catalog.Process{
		Version:        version,
		CommandLine:    parsed,
		Parameters:     s.ask(t, "admin", parameters),
		ServerStatus:   s.ask(t, "admin", bson.D{{Key: "serverStatus", Value: 1}}),
		SlowOperations: s.ask(t, "admin", bson.D{{Key: "profile", Value: -1}}),
		OplogStats:     s.ask(t, "local", bson.D{{Key: "collStats", Value: "oplog.rs"}}),
	}
}

func (s *subject) ask(t *testing.T, database string, command bson.D) map[string]any {
	t.Helper()
	var answer bson.M
	err := s.client.Database(database).RunCommand(t.Context(), command).Decode(&answer)
	if mongo.IsNetworkError(err) {
		// The connection is from before a restart; every command here may be sent twice.
		err = s.client.Database(database).RunCommand(t.Context(), command).Decode(&answer)
	}
	if err != nil {
		t.Fatalf("%s: %v", command[0].Key, err)
	}
	return plain(answer).(map[string]any)
}

// plain turns the driver's documents into maps, which is what rows are read from.
func plain(value any) any {
	switch x := value.(type) {
	case bson.M:
		document := map[string]any{}
		for key, inner := range x {
			document[key] = plain(inner)
		}
		return document
	case bson.D:
		document := map[string]any{}
		for _, element := range x {
			document[element.Key] = plain(element.Value)
		}
		return document
	default:
		return value
	}
}

// send sends changes to the running server, each in the server's own command.
func (s *subject) send(t *testing.T, changes catalog.Changes) {
	t.Helper()
	if changes.WiredTigerString != "" {
		s.set(t, catalog.RuntimeConfigParameter, changes.WiredTigerString)
	}
	for _, parameter := range changes.Parameters {
		s.set(t, parameter.Name, parameter.Value)
	}
	if slow := changes.SlowOperations; slow != nil {
		s.ask(t, "admin", bson.D{{Key: "profile", Value: -1},
			{Key: "slowms", Value: slow.ThresholdMilliseconds}, {Key: "sampleRate", Value: slow.SampleRate}})
	}
	if oplog := changes.Oplog; oplog != nil {
		command := bson.D{{Key: "replSetResizeOplog", Value: 1}}
		if oplog.SizeMB > 0 {
			command = append(command, bson.E{Key: "size", Value: oplog.SizeMB})
		}
		if oplog.MinRetentionHours != nil {
			command = append(command, bson.E{Key: "minRetentionHours", Value: *oplog.MinRetentionHours})
		}
		s.ask(t, "admin", command)
	}
}

func (s *subject) set(t *testing.T, name string, value any) {
	t.Helper()
	s.ask(t, "admin", bson.D{{Key: "setParameter", Value: 1}, {Key: name, Value: value}})
}

// awaitSet waits until nothing is left to be set online: the number of eviction threads follows within
// a second or two.
func (s *subject) awaitSet(t *testing.T, settings catalog.Settings) {
	t.Helper()
	servers.Await(t, "the values that were sent", func(context.Context) error {
		judged := verify.Member{Knobs: s.knobs(t, settings)} //nolint:contextcheck // a look has the test's own context
		if left := judged.Settable(); len(left) > 0 {
			return fmt.Errorf("still different: %v", left)
		}
		return nil
	})
}

func (s *subject) awaitPrimary(t *testing.T) {
	t.Helper()
	servers.Await(t, "a primary", func(ctx context.Context) error {
		hello, err := s.server.Member().Hello(ctx) //nolint:contextcheck // the connection ends with the test
		if err == nil && !hello.IsPrimary {
			err = errors.New("it is not the primary yet")
		}
		return err
	})
}

// samples are two values for every row of the line, none of them the default: 0 is the first, 1 the
// second, and -1 declares only what cannot be undeclared.
func samples(t *testing.T, line catalog.Line, which int) catalog.Settings {
	t.Helper()
	settings := catalog.Settings{}
	if which < 0 {
		settings[catalog.CacheSizeGB] = "0.25"
		return settings
	}
	for _, knob := range catalog.KnobsOn(member, line) {
		if pair, listed := sampleValues[knob.Name]; listed {
			settings[knob.Name] = pair[which]
		}
		if _, listed := sampleValues[knob.Name]; !listed && knob.DerivedInto == "" && !knob.Fixed && !knob.IsListed() {
			t.Errorf("%s has no sample values", knob.Name)
		}
	}
	if problems := catalog.Check(v1alpha1.ComponentShardMember, line, settings, 0); len(problems) > 0 {
		t.Fatalf("samples are refused: %v", problems)
	}
	return settings
}

var sampleValues = map[string][2]catalog.Value{
	catalog.CacheSizeGB:               {"0.3", "0.35"},
	catalog.EvictionTarget:            {"75", "70"},
	catalog.EvictionTrigger:           {"97", "90"},
	catalog.EvictionDirtyTarget:       {"3", "4"},
	catalog.EvictionDirtyTrigger:      {"25", "30"},
	catalog.EvictionUpdatesTarget:     {"2", "3"},
	catalog.EvictionUpdatesTrigger:    {"12", "15"},
	catalog.EvictionCheckpoint:        {"10", "20"},
	catalog.EvictionThreadsMin:        {"8", "14"},
	catalog.EvictionThreadsMax:        {"12", "18"},
	catalog.CheckpointWait:            {"25", "20"},
	catalog.CheckpointLogSize:         {"2", "1"},
	catalog.EnableMajorityReadConcern: {"false", "true"},
	catalog.SnapshotHistoryWindow:     {"60", "30"},
	catalog.FlowControlEnabled:        {"false", "true"},
	catalog.FlowControlTargetLag:      {"5", "20"},
	catalog.FlowControlThresholdLag:   {"29", "70"},
	catalog.FlowControlMinTickets:     {"200", "300"},
	catalog.OplogSize:                 {"1000", "1200"},
	catalog.OplogMinRetention:         {"1", "2"},
	catalog.ReadTickets:               {"64", "100"},
	catalog.WriteTickets:              {"65", "101"},
	catalog.JournalCommitInterval:     {"50", "200"},
	catalog.BlockCompressor:           {"zstd", "zlib"},
	catalog.ServiceExecutor:           {"adaptive", "synchronous"},
	catalog.ThreadingModel:            {"borrowed", "dedicated"},
	catalog.MaxIncomingConnections:    {"500", "600"},
	catalog.NetworkCompressors:        {"zstd,snappy", "disabled"},
	catalog.SlowOperationThreshold:    {"50", "200"},
	catalog.SlowOperationSample:       {"29", "50"},
	catalog.Profiler:                  {"slowOp", "all"},
	catalog.TTLMonitorEnabled:         {"false", "true"},
	catalog.TTLMonitorSleep:           {"30", "120"},

	"setParameters.cursorTimeoutMillis":       {"500000", "400000"},
	"setParameters.writePeriodicNoops":        {"false", "true"},
	"setParameters.flowControlFudgeFactor":    {"0.9", "0.85"},
	"setParameters.replWriterThreadCount":     {"8", "4"},
	"setParameters.minOplogEntriesPerThread":  {"32", "8"},
	"setParameters.wiredTigerCursorCacheSize": {"-50", "-20"},
}
