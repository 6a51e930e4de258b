// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Problem is one reason why settings cannot be declared, or, among the warnings, one thing to know about
// settings that can.
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
	if p.Value == "" {
		return p.Knob + ": " + p.Allowed
	}
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
		if allowed, good := knob.supported(line, value); !good {
			problems = append(problems, Problem{Knob: knob.Name, Value: value, Allowed: allowed, Unsupported: true})
			continue
		}
		if allowed, good := knob.On(line).takes(value); !good {
			problems = append(problems, Problem{Knob: knob.Name, Value: value, Allowed: allowed})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if problem, bad := checkParameter(line, name, settings[name]); bad {
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

// supported tells whether a release line has the knob, or the value renders nothing there; otherwise it
// says what to use instead.
func (k Knob) supported(line Line, value Value) (allowed string, good bool) {
	if k.Versions.Includes(line) || k.Inert != "" && value == k.Inert {
		return "", true
	}
	return fmt.Sprintf("is not supported by MongoDB %s (only %s): %s", line, k.Versions, k.Nearest), false
}

// takes tells whether a value lies in the row's range; otherwise it says what does.
func (k Knob) takes(value Value) (allowed string, good bool) {
	switch k.Kind {
	case KindInteger:
		number, good := value.AsInt()
		return "must be a whole number" + k.from(), good && float64(number) >= k.Min && float64(number) <= k.Max
	case KindDecimal:
		number, good := value.AsFloat()
		return "must be a number" + k.from(), good && number >= k.Min && number <= k.Max
	case KindBoolean:
		return "must be true or false", value == "true" || value == "false"
	case KindEnum:
		return "must be " + k.Range(), slices.Contains(k.Enum, value)
	case KindList:
		return "must be a list of " + joined(k.Enum) + ", each at most once, and disabled only alone", k.takesList(value.list())
	case KindText:
	}
	return "", true
}

// from is the bounds of a number, for a sentence; empty when there are none.
func (k Knob) from() string {
	if k.isUnbounded() {
		return ""
	}
	return " from " + k.Range()
}

func (k Knob) takesList(words []string) bool {
	for i, word := range words {
		if !slices.Contains(k.Enum, Value(word)) || slices.Contains(words[:i], word) {
			return false
		}
	}
	return len(words) == 1 || !slices.Contains(words, string(Disabled))
}

// Range is the values that the row takes, in words: "10 to 99", "one of true, false".
func (k Knob) Range() string {
	switch k.Kind {
	case KindInteger, KindDecimal:
		if k.isUnbounded() {
			return "any"
		}
		return fmt.Sprintf("%s to %s", Decimal(k.Min), Decimal(k.Max))
	case KindBoolean:
		return "true or false"
	case KindEnum, KindList:
		return "one of " + joined(k.Enum)
	default:
		return "text"
	}
}
