// SPDX-License-Identifier: Apache-2.0

package catalog

import "strings"

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
	// SlowOperations is the answer of {profile: -1} on the database admin.
	SlowOperations map[string]any
	// OplogStats is the answer of {collStats: "oplog.rs"} on the database local.
	OplogStats map[string]any
}

// Reading is the value of one knob as a process reports it.
type Reading struct {
	// Value in force; meaningful when Found, and empty when it is known to be none that was declared.
	Value Value
	// Found tells whether the process shows a value.
	Found bool
	// Unanswered tells that the question itself was not answered, so that nothing is known.
	Unanswered bool
	// Evidence says where the value was read, or why there is none.
	Evidence string
}

// lookup walks a document along a path whose steps are separated by "/" (keys of serverStatus contain
// dots and spaces).
func lookup(document map[string]any, path string) (any, bool) {
	var at any = document
	for key := range strings.SplitSeq(path, "/") {
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
