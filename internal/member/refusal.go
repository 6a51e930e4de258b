// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
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
		// Message is a text, or from 6.0 on a document with the text in it.
		Message any `json:"message"`
		// Error is a text, a number, or a status with its text in it.
		Error any `json:"error"`
		// Expression that an invariant demands.
		Expression string `json:"expr"`
	} `json:"attr"`
}

// RefusalLine is the refusal in a log, cut to what is shown.
func RefusalLine(log string) string { return Shorten(Refusal(log)) }

// Refusal finds the line of a server's log that says best why the server did not start: the known
// causes first, then the first fatal line (those that follow it say only that the process ends), then the
// last error, then the first line that is no ordinary log line (the server complains about its options
// before it has a log). It is empty for an empty log.
func Refusal(log string) string {
	var known, fatal, failure, plain, last string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, severity, id := readLine(line)
		last = text
		switch {
		case id == logWiredTiger || id == logMajorityReadConcern || strings.Contains(line, "WiredTiger error (22)"):
			known = cmp.Or(known, text)
		case severity == "F":
			fatal = cmp.Or(fatal, text)
		case severity == "E":
			failure = text
		case severity == "":
			plain = cmp.Or(plain, text)
		}
	}
	return cmp.Or(known, fatal, failure, plain, last)
}

// readLine reads one line in either form of the log: JSON, or "time severity component [context] text".
func readLine(line string) (text, severity string, id int) {
	var structured logLine
	if err := json.Unmarshal([]byte(line), &structured); err == nil && structured.Message != "" {
		text = strings.TrimSpace(structured.Message)
		if detail := cmp.Or(textOf(structured.Attr.Message), textOf(structured.Attr.Error), structured.Attr.Expression); detail != "" {
			text += ": " + detail
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

// textOf is what an attribute says: itself, or the text within a document.
func textOf(attribute any) string {
	switch x := attribute.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(x)
	case map[string]any:
		for _, key := range []string{"msg", "errmsg"} {
			if text, ok := x[key].(string); ok {
				return text
			}
		}
	}
	return fmt.Sprint(attribute)
}

// Shorten cuts a line to what is shown of it.
func Shorten(text string) string {
	if len(text) <= longestRefusal {
		return text
	}
	return strings.ToValidUTF8(text[:longestRefusal], "") + "..."
}
