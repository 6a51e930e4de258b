// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"
)

// Process is what one running mongod or mongos reports about itself. A nil document means that the
// question was not answered, which is never the same as an answer without the value.
type Process struct {
	// Version is buildInfo.version.
	Version Version
	// CommandLine is getCmdLineOpts.parsed: what the process was started with.
	CommandLine map[string]any
	// Parameters are the answers of getParameter, by name.
	Parameters map[string]any
	// ServerStatus is the answer of serverStatus.
	ServerStatus map[string]any
}

// Reading is the value of one knob as a process reports it.
type Reading struct {
	// Value in force; meaningful when Found.
	Value Value
	// Found tells whether the process shows a value.
	Found bool
	// Unanswered tells that the question itself was not answered, so that nothing is known.
	Unanswered bool
	// Evidence says where the value was read, or why there is none.
	Evidence string
}

type reader func(Process) Reading

// lookup walks a document along a path whose steps are separated by "/" (keys of serverStatus contain
// dots and spaces).
func lookup(document map[string]any, path string) (any, bool) {
	var at any = document
	for _, key := range strings.Split(path, "/") {
		inner, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = inner[key]; !ok {
			return nil, false
		}
	}
	return at, true
}

// StartedWith is the value that the process was started with by its own account; the default when its
// command line and file said nothing. A restart helps only where it is not the wanted one.
func (k Knob) StartedWith(process Process) Value {
	raw, ok := lookup(process.CommandLine, strings.ReplaceAll(k.ConfigKey, ".", "/"))
	if !ok {
		return k.Default
	}
	value, _ := valueOf(raw)
	return value
}

// fromServerStatus reads a figure of serverStatus and turns it into the knob's own terms.
func fromServerStatus(path string, convert func(any) (Value, bool)) reader {
	evidence := "serverStatus " + strings.ReplaceAll(path, "/", " . ")
	return func(process Process) Reading {
		if process.ServerStatus == nil {
			return Reading{Unanswered: true, Evidence: evidence + " was not answered"}
		}
		raw, ok := lookup(process.ServerStatus, path)
		if !ok {
			return Reading{Evidence: evidence + " is not shown by " + process.Version.String()}
		}
		value, ok := convert(raw)
		if !ok {
			return Reading{Evidence: fmt.Sprintf("%s is %v, which cannot be read", evidence, raw)}
		}
		return Reading{Value: value, Found: true, Evidence: evidence}
	}
}

// fromParameter reads a server parameter.
func fromParameter(name string) reader {
	evidence := "getParameter " + name
	return func(process Process) Reading {
		if process.Parameters == nil {
			return Reading{Unanswered: true, Evidence: evidence + " was not answered"}
		}
		value, ok := valueOf(process.Parameters[name])
		if !ok {
			return Reading{Evidence: evidence + " is not shown by " + process.Version.String()}
		}
		return Reading{Value: value, Found: true, Evidence: evidence}
	}
}

// fromWiredTigerString reads a key of the WiredTiger string that is in force: the one sent last to the
// running process, or, when none was sent, the one it was started with. A server answers completely
// only because the full string is always sent: one that somebody else sent shows as a difference.
func fromWiredTigerString(key string) reader {
	return func(process Process) Reading {
		text, evidence, answered := wiredTigerStringInForce(process)
		if !answered {
			return Reading{Unanswered: true, Evidence: evidence}
		}
		config, err := ParseWiredTiger(text)
		if err != nil {
			return Reading{Evidence: evidence + ": " + err.Error()}
		}
		value, ok := config[key]
		if !ok {
			return Reading{Value: "", Found: true, Evidence: evidence + " without " + key}
		}
		return Reading{Value: Value(value), Found: true, Evidence: evidence}
	}
}

// wiredTigerStringInForce is the WiredTiger string the process runs on, and where it was read.
func wiredTigerStringInForce(process Process) (text, evidence string, answered bool) {
	const runtime = "getParameter " + runtimeConfigParameter
	sent, ok := process.Parameters[runtimeConfigParameter].(string)
	if !ok {
		return "", runtime + " was not answered", false
	}
	if sent != "" {
		return sent, runtime, true
	}
	if process.CommandLine == nil {
		return "", "getCmdLineOpts was not answered", false
	}
	started, _ := lookup(process.CommandLine, "storage/wiredTiger/engineConfig/configString")
	text, _ = started.(string)
	return text, "getCmdLineOpts configString (" + runtime + " is empty)", true
}

const runtimeConfigParameter = "wiredTigerEngineRuntimeConfig"
