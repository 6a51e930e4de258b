// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// runtimeConfig is the parameter that hands a string to WiredTiger.
const runtimeConfig = "wiredTigerEngineRuntimeConfig"

// Parameters reads server parameters. Those that the server does not have are left out.
func (p process) Parameters(ctx context.Context, names ...string) (Parameters, error) {
	if len(names) == 0 {
		return Parameters{}, nil
	}
	command := bson.D{{Key: "getParameter", Value: 1}}
	for _, name := range names {
		command = append(command, bson.E{Key: name, Value: 1})
	}
	answer, err := p.ask(ctx, admin, command)
	if errors.Is(err, ErrBadValue) && strings.Contains(err.Error(), unknownOption) {
		return Parameters{}, nil
	}
	if err != nil {
		return nil, err
	}
	found := Parameters{}
	for _, name := range names {
		if value, ok := answer[name]; ok {
			found[name] = value
		}
	}
	return found, nil
}

// SetParameter sets a server parameter until the process ends. That the server accepts a value does not mean that
// it heeds it: read it back. It returns ErrBadValue for a value or name that the server refuses.
func (p process) SetParameter(ctx context.Context, name string, value any) error {
	return p.act(ctx, bson.D{{Key: "setParameter", Value: 1}, {Key: name, Value: value}})
}

// SetWiredTigerRuntimeConfig hands a string to WiredTiger, which merges it over what is in force. Send the full
// string: it is all that the server shows of it afterwards; an empty one is refused here, since it would leave nothing
// to read back. After ErrBadValue part of the string may be in force: send the last good string again.
func (m *Member) SetWiredTigerRuntimeConfig(ctx context.Context, config string) error {
	if strings.TrimSpace(config) == "" {
		return &commandError{
			command: runtimeConfig, address: m.address,
			text: "an empty string would hide what is in force", kinds: []error{ErrBadValue},
		}
	}
	return m.SetParameter(ctx, runtimeConfig, config)
}

// Profiling is how a server logs slow operations. The threshold and the rate hold for the whole process.
type Profiling struct {
	// SlowMillis is the duration in milliseconds from which an operation counts as slow.
	SlowMillis int64
	// SampleRate is the share of slow operations that is logged, 0 to 1.
	SampleRate float64
}

// Profiling reads how slow operations are logged.
func (m *Member) Profiling(ctx context.Context) (Profiling, error) {
	answer, err := m.ask(ctx, admin, bson.D{{Key: "profile", Value: -1}})
	return Profiling{SlowMillis: value(answer.number("slowms")), SampleRate: value(answer.decimal("sampleRate"))}, err
}

// SlowOperations is the raw answer to the question that Profiling decodes.
func (m *Member) SlowOperations(ctx context.Context) (map[string]any, error) {
	return m.ask(ctx, admin, bson.D{{Key: "profile", Value: -1}})
}

// SetProfiling sets how slow operations are logged until the process ends. Which databases are profiled stays as it
// is.
func (m *Member) SetProfiling(ctx context.Context, profiling Profiling) error {
	return m.act(ctx, bson.D{
		{Key: "profile", Value: -1}, // keeps the level, which is each database's own
		{Key: "slowms", Value: profiling.SlowMillis},
		{Key: "sampleRate", Value: profiling.SampleRate},
	})
}

// The logs that a server keeps in memory.
const (
	// LogGlobal is the last 1024 lines.
	LogGlobal = "global"
	// LogStartupWarnings is what the server found wrong with its host when it started.
	LogStartupWarnings = "startupWarnings"
)

// Log reads one of the logs that the server keeps in memory, oldest line first.
func (p process) Log(ctx context.Context, name string) ([]string, error) {
	answer, err := p.ask(ctx, admin, bson.D{{Key: "getLog", Value: name}})
	return answer.words("log"), err
}
