// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Changes is everything to send to one running member, so that knobs which differ come into force.
// Sending it twice does no more than sending it once.
type Changes struct {
	// WiredTigerString is the value for setParameter wiredTigerEngineRuntimeConfig; empty when nothing
	// of it differs. It is always the full string: what was sent last then says all that is in force,
	// and a value that is no longer declared returns to the server's default.
	WiredTigerString string
	// Parameters to set with setParameter, in the order of the table.
	Parameters []Parameter
	// SlowOperations to set with the command profile; nil when nothing of it differs.
	SlowOperations *SlowOperations
	// Oplog to set with the command replSetResizeOplog; nil when nothing of it differs.
	Oplog *Oplog
}

// Parameter is a server parameter with a value of the type the server wants: bool, int64, float64 or
// string.
type Parameter struct {
	Name  string
	Value any
}

// SlowOperations say which operations are logged as slow.
type SlowOperations struct {
	// ThresholdMilliseconds from which on an operation is slow.
	ThresholdMilliseconds int64
	// SampleRate is the share of them that is logged, 0 to 1.
	SampleRate float64
}

// Oplog says how much history the oplog keeps. The server wants doubles.
type Oplog struct {
	// SizeMB is the size in units of 2^20 bytes, 0 to leave it as it is.
	SizeMB float64
	// MinRetentionHours to keep even beyond the size; nil to leave it as it is.
	MinRetentionHours *float64
}

// IsEmpty tells that there is nothing to send.
func (c Changes) IsEmpty() bool {
	return c.WiredTigerString == "" && len(c.Parameters) == 0 && c.SlowOperations == nil && c.Oplog == nil
}

// ChangesFor is everything to send to a running member of a release line so that the named knobs, which
// were found to differ, come to the declared values or, where none is declared, to the server's
// defaults. Knobs that only a restart changes are passed over.
func ChangesFor(component v1alpha1.Component, line Line, settings Settings, differing []string) Changes {
	var changes Changes
	for _, name := range differing {
		knob, known := Lookup(name)
		if !known || !knob.AppliesTo(component) || !knob.Versions.Includes(line) {
			continue
		}
		knob = knob.On(line)
		value := settings.effectiveOn(knob)
		if value == "" {
			continue
		}
		switch knob.Online {
		case OnlineWiredTiger:
			changes.WiredTigerString = RuntimeWiredTigerString(component, line, settings)
		case OnlineParameter:
			changes.Parameters = append(changes.Parameters, Parameter{Name: knob.MongoDBName, Value: knob.server(value)})
		case OnlineProfile:
			changes.SlowOperations = slowOperations(line, settings)
		case OnlineOplog:
			changes.addOplog(knob, value, settings[OplogSize])
		case RestartOnly, WithoutEffect:
		}
	}
	return changes
}

// slowOperations are both values of the command profile, which would leave an unnamed one as it is.
func slowOperations(line Line, settings Settings) *SlowOperations {
	threshold, _ := settings.On(line, SlowOperationThreshold).AsInt()
	percent, _ := settings.On(line, SlowOperationSample).AsFloat()
	return &SlowOperations{ThresholdMilliseconds: threshold, SampleRate: percent / 100}
}

// addOplog names the declared size in any case: 4.2 takes no change without it.
func (c *Changes) addOplog(knob Knob, value, declaredSize Value) {
	if c.Oplog == nil {
		c.Oplog = &Oplog{}
	}
	c.Oplog.SizeMB, _ = declaredSize.AsFloat()
	if hours, ok := value.AsFloat(); ok && knob.Name == OplogMinRetention {
		c.Oplog.MinRetentionHours = &hours
	}
}

// RuntimeConfigParameter takes and reports the WiredTiger string of a running process.
const RuntimeConfigParameter = "wiredTigerEngineRuntimeConfig"

// FullStringInForce is a WiredTiger string that says all a process runs on, for putting it back after a
// change that was refused half-way: the one sent last, or, when none was sent, what the process was
// started with, over the server's defaults. Its Parameters and CommandLine must have been answered.
func FullStringInForce(process Process) string {
	if sent, _ := process.Parameters[RuntimeConfigParameter].(string); sent != "" {
		return sent
	}
	config := WiredTigerConfig{}
	for _, knob := range table {
		if knob.WiredTigerKey != "" && knob.Versions == always && knob.Default != "" {
			config[knob.WiredTigerKey] = string(knob.Default)
		}
	}
	sizeGB, _ := lookup(process.CommandLine, "storage/wiredTiger/engineConfig/cacheSizeGB")
	if value, ok := valueOf(sizeGB); ok {
		config["cache_size"] = cacheText(value)
	}
	started, _ := lookup(process.CommandLine, startedConfigString)
	text, _ := started.(string)
	if given, err := ParseWiredTiger(text); err == nil {
		maps.Copy(config, given)
	}
	return wiredTigerText(slices.Sorted(maps.Keys(config)), config)
}

// ParametersToRead are the server parameters that a mongod or mongos of a release line has to be asked
// for with getParameter, so that its knobs can be judged. All of them exist on that line.
func ParametersToRead(line Line) []string {
	names := []string{RuntimeConfigParameter}
	for _, knob := range table {
		if knob.Parameter && knob.Versions.Includes(line) {
			names = append(names, knob.On(line).MongoDBName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
