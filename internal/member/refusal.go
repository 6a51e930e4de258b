// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Log ids of servers from 4.4 on that name the cause of a refused start in themselves.
const (
	// logWiredTiger carries WiredTiger's own complaint about its configuration string.
	logWiredTiger = 22435
	// logMajorityReadConcern is the refusal of enableMajorityReadConcern: false by 5.0 and newer.
	logMajorityReadConcern = 5324700
)

// longestRefusal bounds what is shown of one log line, in bytes.
const longestRefusal = 300

// logLine is a line of a server's log in its structured form, which 4.4 introduced.
type logLine struct {
	Severity string `json:"s"`
	ID       int    `json:"id"`
	Message  string `json:"msg"`
	Attr     struct {
		Message string `json:"message"`
		Error   any    `json:"error"`
	} `json:"attr"`
}

// RefusalLine finds the line of a server's log that says best why the server did not start: the known
// causes first, then the last error, then the last line that is no ordinary log line (the server
// complains about its options before it has a log). It is empty for an empty log.
func RefusalLine(log string) string {
	var known, failure, plain, last string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, severity, id := readLine(line)
		last = text
		switch {
		case id == logWiredTiger || id == logMajorityReadConcern || strings.Contains(line, "WiredTiger error (22)"):
			if known == "" {
				known = text
			}
		case severity == "F" || severity == "E":
			failure = text
		case severity == "":
			plain = text
		}
	}
	for _, candidate := range []string{known, failure, plain, last} {
		if candidate != "" {
			return shorten(candidate)
		}
	}
	return ""
}

// readLine reads one line in either form of the log: JSON, or "time severity component [context] text".
func readLine(line string) (text, severity string, id int) {
	var structured logLine
	if err := json.Unmarshal([]byte(line), &structured); err == nil && structured.Message != "" {
		text = structured.Message
		if detail := structured.Attr.Message; detail != "" {
			text += ": " + detail
		} else if structured.Attr.Error != nil {
			text += fmt.Sprintf(": %v", structured.Attr.Error)
		}
		return text, structured.Severity, structured.ID
	}
	fields := strings.Fields(line)
	if len(fields) > 3 && len(fields[1]) == 1 && strings.Contains("FEWID", fields[1]) {
		_, text, found := strings.Cut(line, "] ")
		if !found {
			text = line
		}
		return text, fields[1], 0
	}
	return line, "", 0
}

func shorten(text string) string {
	if len(text) <= longestRefusal {
		return text
	}
	return strings.ToValidUTF8(text[:longestRefusal], "") + "..."
}
