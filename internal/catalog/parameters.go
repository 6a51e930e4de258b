// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// setParametersPrefix begins the names of knobs that are declared in the list setParameters.
const setParametersPrefix = "setParameters."

// Measured is what a real server says of one of its parameters.
type Measured struct {
	// Kind is boolean, integer, decimal or text.
	Kind string `json:"kind"`
	// Default is the value of a server that was told nothing.
	Default string `json:"default"`
	// Online tells that a running server takes the parameter.
	Online bool `json:"online"`
}

// parametersJSON holds, by release line, the parameters that a mongod of that line has and takes in its
// file; an unknown one would keep it from starting. It is written by the tests that ask real servers.
//
//go:embed parameters.json
var parametersJSON []byte

var measuredParameters = readParameters()

func readParameters() map[string]map[string]Measured {
	measured := map[string]map[string]Measured{}
	if err := json.Unmarshal(parametersJSON, &measured); err != nil {
		panic(fmt.Sprintf("read the embedded list of parameters: %v", err)) // a test reads it too
	}
	return measured
}

// parameterRows makes a row of every listed parameter, so that what is declared in setParameters is
// checked, rendered, set and proved like any other knob.
func parameterRows() []Knob {
	on := map[string][]Line{}
	for _, line := range Lines() {
		for name := range measuredParameters[line.String()] {
			on[name] = append(on[name], line)
		}
	}
	rows := make([]Knob, 0, len(on))
	for _, name := range slices.Sorted(maps.Keys(on)) {
		rows = append(rows, parameterRow(name, on[name]))
	}
	return rows
}

func parameterRow(name string, lines []Line) Knob {
	newest := lines[len(lines)-1]
	measured := measuredParameters[newest.String()][name]
	row := Knob{
		Name: setParametersPrefix + name, MongoDBName: name,
		Components: shardMembers, Versions: LineRange{lines[0], newest},
		Kind: kindNames[measured.Kind], Min: math.MinInt64, Max: math.MaxInt64,
		Parameter: true, Online: RestartOnly, read: fromParameter,
		Nearest: "a name the server does not know would keep it from starting; " + parameterList,
		TooHigh: "not examined: the server's documentation has to say", TooLow: "not examined",
		Source: "getParameter of mongod 4.2.6, 4.4.2, 5.0.4 and 6.0.27",
	}
	if measured.Online {
		row.Online = OnlineParameter
	}
	if isStable(name, lines) {
		row.Default = Value(measured.Default)
	}
	return row
}

const parameterList = "docs/tuning-reference.md lists the parameters of each version"

var kindNames = map[string]Kind{"boolean": KindBoolean, "integer": KindInteger, "decimal": KindDecimal, "text": KindText}

// isStable tells that every measured line has the parameter with one and the same default, and that
// nobody sets it by hand in passing. Only then is it known what to return to when it is no longer
// declared; other defaults may differ from one patch release to the next.
func isStable(name string, lines []Line) bool {
	if handsOff[name] || len(lines) < len(measuredParameters) {
		return false
	}
	for _, line := range lines[1:] {
		if measuredParameters[line.String()][name] != measuredParameters[lines[0].String()][name] {
			return false
		}
	}
	return true
}

// checkParameter says why a name that no row has cannot be declared in setParameters.
func checkParameter(line Line, name string, value Value) (Problem, bool) {
	parameter, isParameter := strings.CutPrefix(name, setParametersPrefix)
	if _, known := Lookup(name); !isParameter || known {
		return Problem{}, false
	}
	problem := Problem{Knob: name, Value: value}
	if owner := Owner(parameter); owner != "" {
		problem.Allowed = "cannot be set here: " + parameter + " " + owner
		return problem, true
	}
	problem.Unsupported = true
	problem.Allowed = fmt.Sprintf("is not a parameter of MongoDB %s that can be set in its file: the server would not start; %s", line, parameterList)
	return problem, true
}
