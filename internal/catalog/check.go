// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Problem is one reason why settings cannot be declared.
type Problem struct {
	// Knob is the name of the knob.
	Knob string
	// Value that was declared.
	Value Value
	// Allowed says in a sentence what is allowed, and why.
	Allowed string
	// Unsupported tells that this server version does not have the knob.
	Unsupported bool
}

// String is the problem in one sentence.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s %s", p.Knob, p.Value, p.Allowed)
}

// Check judges resolved settings of one kind of process against the rows, the version and the memory
// limit in bytes (0 when there is none). The rules repeat those of the API for values that came
// together from a profile and overrides, and add those that need the server's own defaults.
func Check(component v1alpha1.Component, line Line, settings Settings, memoryLimit int64) []Problem {
	var problems []Problem
	for _, knob := range Knobs(component) {
		value, declared := settings[knob.Name]
		if !declared {
			continue
		}
		if problem, bad := checkRow(knob, line, value); bad {
			problems = append(problems, problem)
		}
	}
	for _, rule := range rules {
		if problem, bad := rule(line, settings); bad {
			problems = append(problems, problem)
		}
	}
	if problem, bad := checkCache(settings, memoryLimit); bad {
		problems = append(problems, problem)
	}
	return problems
}

func checkRow(knob Knob, line Line, value Value) (Problem, bool) {
	problem := Problem{Knob: knob.Name, Value: value}
	if !knob.Versions.Includes(line) && (knob.Inert == "" || value != knob.Inert) {
		problem.Unsupported = true
		problem.Allowed = fmt.Sprintf("is not supported by MongoDB %s (only %s); %s", line, knob.Versions, knob.Nearest)
		return problem, true
	}
	switch knob.Kind {
	case KindInteger, KindDecimal:
		number, ok := value.AsFloat()
		if _, whole := value.AsInt(); !ok || knob.Kind == KindInteger && !whole || number < knob.Min || number > knob.Max {
			problem.Allowed = fmt.Sprintf("must be a number from %s to %s", Decimal(knob.Min), Decimal(knob.Max))
			return problem, true
		}
	case KindBoolean:
		problem.Allowed = "must be true or false"
		return problem, value != "true" && value != "false"
	case KindEnum:
		for _, allowed := range knob.Enum {
			if value == allowed {
				return problem, false
			}
		}
		problem.Allowed = fmt.Sprintf("must be one of %v", knob.Enum)
		return problem, true
	case KindList, KindText:
	}
	return problem, false
}

type rule func(Line, Settings) (Problem, bool)

var rules = []rule{
	less(EvictionTarget, EvictionTrigger, "mongod does not start otherwise"),
	less(EvictionDirtyTarget, EvictionDirtyTrigger, "background eviction would start after the clients were drafted"),
	atMostKnob(EvictionDirtyTrigger, EvictionTrigger, "WiredTiger cuts it to that without saying so"),
	atMostKnob(EvictionDirtyTarget, EvictionTarget, "WiredTiger cuts it to that without saying so"),
	atMostKnob(EvictionThreadsMin, EvictionThreadsMax, "mongod does not start otherwise"),
	together(EvictionThreadsMin, EvictionThreadsMax, "one alone stops mongod from starting"),
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
		_, lowDeclared := settings[low]
		_, highDeclared := settings[high]
		a, okA := settings.On(line, low).AsFloat()
		b, okB := settings.On(line, high).AsFloat()
		if !lowDeclared && !highDeclared || !okA || !okB || holds(a, b) {
			return Problem{}, false
		}
		return Problem{
			Knob: low, Value: settings.On(line, low),
			Allowed: fmt.Sprintf("%s %s, which is %s: %s", words, high, settings.On(line, high), reason),
		}, true
	}
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

// maxCacheShare is the largest share of the memory limit a cache may take; the rest is needed by
// connections (about 1 MB each), sorts, index builds and the file system cache.
const maxCacheShare = 0.8

// LargestCacheGB is the largest cache that a memory limit in bytes may hold, cut to whole MiB.
func LargestCacheGB(memoryLimit int64) float64 {
	return float64(CacheBytes(maxCacheShare*float64(memoryLimit)/gibibyte)) / gibibyte
}

func checkCache(settings Settings, memoryLimit int64) (Problem, bool) {
	value, declared := settings[CacheSizeGB]
	sizeGB, ok := value.AsFloat()
	if !declared || !ok || memoryLimit == 0 {
		return Problem{}, false
	}
	most := maxCacheShare * float64(memoryLimit) / gibibyte
	if sizeGB <= most {
		return Problem{}, false
	}
	return Problem{
		Knob: CacheSizeGB, Value: value,
		Allowed: fmt.Sprintf("GB must be at most 80 %% of the memory limit, which is %.2f GB: connections, sorts and the file system cache need the rest", most),
	}, true
}
