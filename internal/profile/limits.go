// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// held is a knob that keeps a gauge near its own value, so that a limit below is broken by design.
var held = map[v1alpha1.Gauge]string{
	// Eviction in the background begins only at the target.
	v1alpha1.GaugeDirtyCache: catalog.EvictionDirtyTarget,
	v1alpha1.GaugeCacheFill:  catalog.EvictionTarget,
	// History of this length is kept on purpose.
	v1alpha1.GaugePinnedHistory: catalog.SnapshotHistoryWindow,
	// Checkpoints come at this interval.
	v1alpha1.GaugeCheckpointInterval: catalog.CheckpointWait,
}

// percentGauges are shares of a whole.
var percentGauges = map[v1alpha1.Gauge]bool{
	v1alpha1.GaugeDirtyCache: true, v1alpha1.GaugeCacheFill: true,
	v1alpha1.GaugeFlowControlLagged: true, v1alpha1.GaugeConnectionsUsed: true,
}

// limitProblems are the limits that the shard members' own settings contradict, each with its path. A
// limit for config servers only is left alone: they have few settings.
func limitProblems(spec *v1alpha1.VerificationSpec, line catalog.Line, settings catalog.Settings) []string {
	if spec == nil {
		return nil
	}
	var problems []string
	for i, limit := range spec.Limits {
		if limit.Enforcement == v1alpha1.EnforcementOff {
			continue
		}
		path := fmt.Sprintf("verification.limits[%d]", i)
		if limit.Min != nil && percentGauges[limit.Gauge] && *limit.Min > 100 {
			problems = append(problems, fmt.Sprintf("%s.min: %d of %s must be at most 100: more than the whole cannot be", path, *limit.Min, limit.Gauge))
		}
		knob, isHeld := held[limit.Gauge]
		if limit.Max == nil || !isHeld || limit.Scope == v1alpha1.ScopeConfigServers {
			continue
		}
		if value, ok := declaredOrDefault(knob, line, settings); ok && float64(*limit.Max) < value {
			problems = append(problems, fmt.Sprintf("%s.max: %d of %s must not be below %s, which is %g: the members would break the limit by design",
				path, *limit.Max, limit.Gauge, knob, value))
		}
	}
	return problems
}

func declaredOrDefault(name string, line catalog.Line, settings catalog.Settings) (float64, bool) {
	if value, ok := settings[name].AsFloat(); ok {
		return value, true
	}
	knob, known := catalog.Lookup(name)
	if !known {
		return 0, false
	}
	return knob.On(line).Default.AsFloat()
}
