// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"
)

// reader reads the value of a row, as it is on the line of the process, from what the process reports.
type reader func(Knob, Process) Reading

// StartedWith is the value that the process was started with by its own account; the default when its
// command line and file said nothing. A restart helps only where it is not the wanted one.
func (k Knob) StartedWith(process Process) Value {
	if raw, ok := lookup(process.CommandLine, k.startPath()); ok {
		if value, ok := k.fromOption(raw); ok {
			return value
		}
	}
	return k.Default
}

// startPath is where getCmdLineOpts shows the value.
func (k Knob) startPath() string {
	if k.ConfigKey == "" && k.Parameter {
		return "setParameter/" + k.MongoDBName
	}
	return strings.ReplaceAll(k.ConfigKey, ".", "/")
}

// fromOption is the value of an option or parameter of the server in the knob's own terms.
func (k Knob) fromOption(raw any) (Value, bool) {
	if k.fromServer != nil {
		return k.fromServer(raw)
	}
	return valueOf(raw)
}

// answered reads a figure from one document of a process and turns it into the knob's own terms.
func answered(document map[string]any, path, evidence string, version Version, convert func(any) (Value, bool)) Reading {
	if document == nil {
		return Reading{Unanswered: true, Evidence: evidence + " was not answered"}
	}
	raw, ok := lookup(document, path)
	if !ok {
		return Reading{Evidence: evidence + " is not shown by " + version.String()}
	}
	value, ok := convert(raw)
	if !ok {
		return Reading{Evidence: fmt.Sprintf("%s is %v, which cannot be read", evidence, raw)}
	}
	return Reading{Value: value, Found: true, Evidence: evidence}
}

// fromServerStatus reads a figure of serverStatus and turns it into the knob's own terms.
func fromServerStatus(path string, convert func(any) (Value, bool)) reader {
	evidence := "serverStatus " + strings.ReplaceAll(path, "/", " . ")
	return func(_ Knob, process Process) Reading {
		return answered(process.ServerStatus, path, evidence, process.Version, convert)
	}
}

// fromParameter reads the server parameter of the row.
func fromParameter(knob Knob, process Process) Reading {
	return answered(process.Parameters, knob.MongoDBName, "getParameter "+knob.MongoDBName, process.Version, knob.fromOption)
}

// fromSlowOperations reads a figure of the command profile.
func fromSlowOperations(field string) reader {
	return func(knob Knob, process Process) Reading {
		return answered(process.SlowOperations, field, "profile -1 "+field, process.Version, knob.fromOption)
	}
}

// fromCommandLine reads what the process was started with, for settings that nothing can change while
// it runs. What was not named there is the server's default.
func fromCommandLine(knob Knob, process Process) Reading {
	evidence := "getCmdLineOpts " + strings.ReplaceAll(knob.startPath(), "/", ".")
	reading := answered(process.CommandLine, knob.startPath(), evidence, process.Version, knob.fromOption)
	if reading.Found || reading.Unanswered || knob.Default == "" {
		return reading
	}
	return Reading{Value: knob.Default, Found: true, Evidence: evidence + " is not set"}
}

// fromWiredTigerString reads the row's key of the WiredTiger string that is in force: the one sent last
// to the running process, or, when none was sent, the one it was started with. A server answers
// completely only because the full string is always sent: one that somebody else sent lacks keys, and
// what then holds for them is not known.
func fromWiredTigerString(knob Knob, process Process) Reading {
	const runtime = "getParameter " + RuntimeConfigParameter
	sent, ok := process.Parameters[RuntimeConfigParameter].(string)
	if !ok {
		return Reading{Unanswered: true, Evidence: runtime + " was not answered"}
	}
	if sent != "" {
		return fromText(sent, knob.WiredTigerKey, "", runtime)
	}
	if process.CommandLine == nil {
		return Reading{Unanswered: true, Evidence: "getCmdLineOpts was not answered"}
	}
	started, _ := lookup(process.CommandLine, startedConfigString)
	text, _ := started.(string)
	return fromText(text, knob.WiredTigerKey, knob.Default, "getCmdLineOpts configString ("+runtime+" is empty)")
}

// startedConfigString is where getCmdLineOpts shows the WiredTiger string a process was started with.
const startedConfigString = "storage/wiredTiger/engineConfig/configString"

// fromText reads a key of a WiredTiger string; otherwise holds when the string does not have it.
func fromText(text, key string, otherwise Value, evidence string) Reading {
	config, err := ParseWiredTiger(text)
	if err != nil {
		return Reading{Evidence: evidence + ": " + err.Error()}
	}
	value, ok := config[key]
	if !ok {
		return Reading{Value: otherwise, Found: true, Evidence: evidence + " without " + key}
	}
	return Reading{Value: Value(value), Found: true, Evidence: evidence}
}
