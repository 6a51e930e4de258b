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

// ProvedBy says where the value in force is read. mongos is not asked for its values, so that nothing of
// it is ever proved.
func (k Knob) ProvedBy() string {
	if k.DerivedInto != "" {
		return "as " + k.DerivedInto
	}
	if !k.HasEffect() {
		return "not at all: it has no effect"
	}
	if !k.AppliesTo(v1alpha1.ComponentShardMember) && !k.AppliesTo(v1alpha1.ComponentConfigServer) {
		return "not at all: declared in the file of mongos, and not read back"
	}
	evidence := strings.TrimSuffix(k.Read(Process{}).Evidence, " was not answered")
	if k.AppliesTo(v1alpha1.ComponentMongos) {
		evidence += "; on mongos: not read back"
	}
	return evidence
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
