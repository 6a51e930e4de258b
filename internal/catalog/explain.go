// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// IsListed tells that the row comes from the list of measured parameters and is declared in
// setParameters.
func (k Knob) IsListed() bool {
	return strings.HasPrefix(k.Name, setParametersPrefix)
}

// ProvedBy says where the value in force is read.
func (k Knob) ProvedBy() string {
	if k.DerivedInto != "" {
		return "as " + k.DerivedInto
	}
	if !k.HasEffect() {
		return "not at all: it has no effect"
	}
	return strings.TrimSuffix(k.Read(Process{}).Evidence, " was not answered")
}

// Change says what a new value does to a kind of process.
func (k Knob) Change(component v1alpha1.Component) string {
	switch {
	case !k.HasEffect():
		return "nothing"
	case component == v1alpha1.ComponentMongos:
		return "rolls the mongos Deployment"
	case k.NeedsRestart():
		return "restarts members"
	default:
		return "online"
	}
}

// ServerNames are what the server calls the knob, with the release lines that call it so.
func (k Knob) ServerNames() map[string][]Line {
	names := map[string][]Line{}
	for _, line := range Lines() {
		if k.Versions.Includes(line) {
			name := k.On(line).MongoDBName
			names[name] = append(names[name], line)
		}
	}
	return names
}

// Defaults are the defaults of the knob, with the release lines that have them; an empty one depends on
// the machine.
func (k Knob) Defaults() map[Value][]Line {
	defaults := map[Value][]Line{}
	for _, line := range Lines() {
		if k.Versions.Includes(line) {
			value := k.On(line).Default
			defaults[value] = append(defaults[value], line)
		}
	}
	return defaults
}
