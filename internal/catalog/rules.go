// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"
)

// rule judges knobs that depend on one another.
type rule func(Line, Settings) (Problem, bool)

var rules = []rule{
	less(EvictionTarget, EvictionTrigger, "mongod does not start otherwise"),
	less(EvictionDirtyTarget, EvictionDirtyTrigger, "background eviction would start after the clients were drafted"),
	atMostKnob(EvictionDirtyTrigger, EvictionTrigger, "WiredTiger cuts it to that without saying so"),
	atMostKnob(EvictionDirtyTarget, EvictionTarget, "WiredTiger cuts it to that without saying so"),
	less(EvictionUpdatesTarget, EvictionUpdatesTrigger, "background eviction would start after the clients were drafted"),
	atMostKnob(EvictionUpdatesTrigger, EvictionTrigger, "WiredTiger cuts it to that without saying so"),
	atMostKnob(EvictionUpdatesTarget, EvictionTarget, "WiredTiger cuts it to that without saying so"),
	atMostKnob(EvictionThreadsMin, EvictionThreadsMax, "mongod does not start otherwise"),
	together(EvictionThreadsMin, EvictionThreadsMax, "one alone stops mongod from starting"),
	atMostKnob(poolMinSize, poolMaxSize, "a pool cannot keep more connections than it may have"),
	poolTimes,
	checkpointTarget,
}

// derived are knobs whose value 0 means half of another one.
var derived = map[string]string{
	EvictionUpdatesTarget:  EvictionDirtyTarget,
	EvictionUpdatesTrigger: EvictionDirtyTrigger,
}

// inForce is the number that holds for a knob, derived ones worked out; ok is false when it is not known
// or the line does not have the knob.
func (s Settings) inForce(line Line, name string) (number float64, ok bool) {
	knob, known := Lookup(name)
	if !known || !knob.Versions.Includes(line) {
		return 0, false
	}
	number, ok = s.effectiveOn(knob.On(line)).AsFloat()
	if from, isDerived := derived[name]; ok && isDerived && number == 0 {
		number, ok = s.inForce(line, from)
		return number / 2, ok
	}
	return number, ok
}

// less is the rule that one knob stays below another; an undeclared one counts with its default.
func less(low, high, reason string) rule {
	return compared(low, high, "must be less than", reason, func(a, b float64) bool { return a < b })
}

// atMostKnob is the rule that one knob does not exceed another.
func atMostKnob(low, high, reason string) rule {
	return compared(low, high, "must be at most", reason, func(a, b float64) bool { return a <= b })
}

func compared(low, high, words, reason string, holds func(a, b float64) bool) rule {
	return func(line Line, settings Settings) (Problem, bool) {
		a, okA := settings.inForce(line, low)
		b, okB := settings.inForce(line, high)
		if !settings.names(low, high, derived[low], derived[high]) || !okA || !okB || holds(a, b) {
			return Problem{}, false
		}
		return Problem{
			Knob: low, Value: Decimal(a),
			Allowed: fmt.Sprintf("%s %s, which is %s: %s", words, high, Decimal(b), reason),
		}, true
	}
}

// names tells whether one of the knobs is declared: defaults among themselves are not our business.
func (s Settings) names(knobs ...string) bool {
	for _, name := range knobs {
		if _, declared := s[name]; declared {
			return true
		}
	}
	return false
}

func together(a, b, reason string) rule {
	return func(_ Line, settings Settings) (Problem, bool) {
		valueA, hasA := settings[a]
		valueB, hasB := settings[b]
		switch {
		case hasA && !hasB:
			return Problem{Knob: a, Value: valueA, Allowed: "must be set together with " + b + ": " + reason}, true
		case hasB && !hasA:
			return Problem{Knob: b, Value: valueB, Allowed: "must be set together with " + a + ": " + reason}, true
		default:
			return Problem{}, false
		}
	}
}

// checkpointTarget is the rule that a declared share to write before a checkpoint is none, or no less
// than what the background writes anyway. The server's own default is below it, and means that.
func checkpointTarget(line Line, settings Settings) (Problem, bool) {
	value, declared := settings[EvictionCheckpoint]
	target, okTarget := value.AsFloat()
	dirty, okDirty := settings.inForce(line, EvictionDirtyTarget)
	knob, _ := Lookup(EvictionCheckpoint)
	if !declared || value == knob.Default || !okTarget || !okDirty || target == 0 || target >= dirty {
		return Problem{}, false
	}
	return Problem{
		Knob: EvictionCheckpoint, Value: value,
		Allowed: fmt.Sprintf("must be 0, or at least %s, which is %s: WiredTiger raises it to that without saying so", EvictionDirtyTarget, Decimal(dirty)),
	}, true
}

// poolTimes is the rule of the connection pools of mongos, whose pools of idle hosts would otherwise be
// dropped while their connections are refreshed.
func poolTimes(line Line, settings Settings) (Problem, bool) {
	timeout, _ := settings.inForce(line, poolHostTimeout)
	requirement, _ := settings.inForce(line, poolRefreshRequirement)
	refresh, _ := settings.inForce(line, poolRefreshTimeout)
	if !settings.names(poolHostTimeout, poolRefreshRequirement, poolRefreshTimeout) || timeout > requirement+refresh {
		return Problem{}, false
	}
	return Problem{
		Knob: poolHostTimeout, Value: Decimal(timeout),
		Allowed: fmt.Sprintf("must be greater than the sum of %s and %s, which is %s: a pool would be dropped while its connections are refreshed",
			poolRefreshRequirement, poolRefreshTimeout, Decimal(requirement+refresh)),
	}, true
}

func joined(values []Value) string {
	words := make([]string, 0, len(values))
	for _, value := range values {
		words = append(words, string(value))
	}
	return strings.Join(words, ", ")
}
