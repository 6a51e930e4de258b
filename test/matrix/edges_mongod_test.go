// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package matrix

import (
	"testing"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/test/servers"
)

// Values that stand for an edge which would keep the test itself from working.
var (
	insteadOfLeast = map[string]catalog.Value{
		catalog.MaxIncomingConnections: "50", // with 5 there is no room for the test's own connections
	}
	insteadOfGreatest = map[string]catalog.Value{
		catalog.CacheSizeGB:            "2",       // the machine has less than 10 TB
		catalog.OplogSize:              "1048576", // and less than 1 PB of disk; the oplog is not allocated at once
		catalog.MaxIncomingConnections: "1000",    // the limit of open files cuts what is more
	}
)

// TestEdges proves that servers take what the rows call the least and the greatest value, all at once:
// from the file, and brought from one to the other online or by a restart.
func TestEdges(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		parsed, err := catalog.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		line := parsed.Line()
		least := edges(line, insteadOfLeast, func(knob catalog.Knob) float64 { return knob.Min })
		least[catalog.EvictionTrigger], least[catalog.EvictionDirtyTrigger] = "11", "2"
		greatest := edges(line, insteadOfGreatest, func(knob catalog.Knob) float64 { return knob.Max })
		for name, settings := range map[string]catalog.Settings{"least": least, "greatest": greatest} {
			if problems := catalog.Check(member, line, settings, 0); len(problems) > 0 {
				t.Fatalf("the %s values are refused: %v", name, problems)
			}
		}
		subject := newSubject(t, version, line, least)
		t.Run("least", func(t *testing.T) { subject.allProved(t, least) })
		t.Run("to the greatest", func(t *testing.T) { subject.change(t, greatest) })
		subject = newSubject(t, version, line, greatest)
		t.Run("greatest", func(t *testing.T) { subject.allProved(t, greatest) })
		t.Run("to the least", func(t *testing.T) { subject.change(t, least) })
	})
}

func edges(line catalog.Line, instead map[string]catalog.Value, edge func(catalog.Knob) float64) catalog.Settings {
	settings := catalog.Settings{}
	for _, knob := range catalog.KnobsOn(member, line) {
		isNumber := knob.Kind == catalog.KindInteger || knob.Kind == catalog.KindDecimal
		if !isNumber || knob.IsListed() || knob.Fixed || knob.DerivedInto != "" {
			continue
		}
		settings[knob.Name] = catalog.Decimal(edge(knob))
		if value, ok := instead[knob.Name]; ok {
			settings[knob.Name] = value
		}
	}
	return settings
}
