// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MessageLimit is the longest message Encode makes, in bytes: what the kubelet keeps of a container's
// last words when several containers of a pod have some.
const MessageLimit = 2048

// longestReason bounds a reason in a message, so that one long sentence costs no other line its place.
const longestReason = 160

// Encode writes a report as the last words of a container, at most limit bytes: a line of facts, then
// one line for each setting, worst first. Lines that do not fit are left out whole, the least bad ones
// first, and a last line says how many.
//
//	facts kernel=6.1.0-18-amd64 cpus=16 memory=64216 filesystem=xfs
//	Refused scheduler Device on=sda found=none wanted=bfq errno=EINVAL
//	Applied vm.swappiness Node found=60 wanted=1
func Encode(report Report, limit int) string {
	lines := slices.Clone(report.Lines)
	Sort(lines)
	var text strings.Builder
	text.WriteString(encodeFacts(report))
	for i, line := range lines {
		encoded := encodeLine(line)
		reserve := 0
		if i < len(lines)-1 {
			reserve = len(encodeDropped(int32(len(lines)))) //nolint:gosec // some dozens
		}
		if text.Len()+len(encoded)+reserve > limit {
			text.WriteString(encodeDropped(int32(len(lines)-i) + report.Dropped)) //nolint:gosec // some dozens
			return text.String()
		}
		text.WriteString(encoded)
	}
	if report.Dropped > 0 {
		text.WriteString(encodeDropped(report.Dropped))
	}
	return text.String()
}

// Decode reads what Encode wrote. It takes whatever is there: a line that was cut or is not understood
// costs itself and nothing else.
func Decode(text string) Report {
	var report Report
	for line := range strings.Lines(text) {
		whole := strings.HasSuffix(line, "\n")
		fields := splitFields(strings.TrimSuffix(line, "\n"))
		switch {
		case !whole:
			report.Cut = true
		case len(fields) == 0:
		case fields[0] == "facts":
			report.Facts, report.Revision = decodeFacts(fields[1:]), pairs(fields[1:])["revision"]
		case fields[0] == "dropped" && len(fields) > 1:
			if count, err := strconv.ParseInt(fields[1], 10, 32); err == nil {
				report.Dropped = int32(count)
			}
		case len(fields) >= 3 && rank(Result(fields[0])) >= 0 && slices.Contains(scopes[:], Scope(fields[2])):
			report.Lines = append(report.Lines, decodeLine(fields))
		default:
			report.Cut = true
		}
	}
	return report
}

func encodeDropped(count int32) string { return fmt.Sprintf("dropped %d\n", count) }

func encodeFacts(report Report) string {
	var text strings.Builder
	facts := report.Facts
	text.WriteString("facts")
	field(&text, "revision", report.Revision)
	field(&text, "boot", facts.Boot)
	field(&text, "kernel", facts.Kernel)
	number(&text, "cpus", int64(facts.CPUs))
	number(&text, "memory", facts.MemoryMiB)
	field(&text, "filesystem", facts.DataFilesystem)
	number(&text, "write", facts.WriteMiBPerSecond)
	text.WriteByte('\n')
	return text.String()
}

func decodeFacts(fields []string) Facts {
	var facts Facts
	for key, value := range pairs(fields) {
		parsed, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "boot":
			facts.Boot = value
		case "kernel":
			facts.Kernel = value
		case "cpus":
			facts.CPUs = int32(min(parsed, 1<<20)) //nolint:gosec // bounded
		case "memory":
			facts.MemoryMiB = parsed
		case "filesystem":
			facts.DataFilesystem = value
		case "write":
			facts.WriteMiBPerSecond = parsed
		}
	}
	return facts
}

// encodeLine leaves out what follows from the rest.
func encodeLine(line Line) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s", line.Result, quote(line.Setting), line.Scope)
	field(&text, "on", line.On)
	field(&text, "found", line.Found)
	field(&text, "original", line.Original)
	implied := follow(line, map[string]string{})
	for _, one := range []struct{ key, value, implied string }{
		{"wanted", line.Wanted, implied.Wanted},
		{"set", line.Set, follow(line, map[string]string{"wanted": line.Wanted}).Set},
		{"back", line.ReadBack, follow(line, map[string]string{"wanted": line.Wanted, "set": line.Set}).ReadBack},
	} {
		if one.value != one.implied {
			text.WriteString(" " + one.key + "=" + quote(one.value))
		}
	}
	field(&text, "errno", line.Errno)
	if line.Other != nil {
		field(&text, "other", strings.Join([]string{line.Other.Namespace, line.Other.Name, line.Other.UID, line.Other.Created}, "/"))
	}
	reason := line.Reason
	if len(reason) > longestReason {
		reason = strings.ToValidUTF8(reason[:longestReason], "") + "..."
	}
	field(&text, "reason", reason)
	text.WriteByte('\n')
	return text.String()
}

func decodeLine(fields []string) Line {
	line := Line{Result: Result(fields[0]), Setting: fields[1], Scope: Scope(fields[2])}
	given := pairs(fields[3:])
	line.On, line.Found, line.Original, line.Errno, line.Reason = given["on"], given["found"], given["original"], given["errno"], given["reason"]
	line = follow(line, given)
	if parts := strings.SplitN(given["other"], "/", 4); len(parts) == 4 {
		line.Other = &Owner{Namespace: parts[0], Name: parts[1], UID: parts[2], Created: parts[3]}
	}
	return line
}

// follow fills in what is not given: what is already set was found as it is wanted, and what was
// applied was set as it was wanted and read back as it was set.
func follow(line Line, given map[string]string) Line {
	line.Wanted, line.Set, line.ReadBack = "", "", ""
	if line.Result == AlreadySet || line.Result == Checked {
		line.Wanted = line.Found
	}
	if value, ok := given["wanted"]; ok {
		line.Wanted = value
	}
	if line.Result == Applied || line.Result == Restored {
		line.Set = line.Wanted
	}
	if value, ok := given["set"]; ok {
		line.Set = value
	}
	line.ReadBack = line.Set
	if value, ok := given["back"]; ok {
		line.ReadBack = value
	}
	return line
}

func field(text *strings.Builder, key, value string) {
	if value != "" {
		text.WriteString(" " + key + "=" + quote(value))
	}
}

func number(text *strings.Builder, key string, value int64) {
	if value != 0 {
		text.WriteString(" " + key + "=" + strconv.FormatInt(value, 10))
	}
}

// quote puts quotes around what would not come back as one field.
func quote(value string) string {
	odd := func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || !strconv.IsPrint(r) }
	if value == "" || !utf8.ValidString(value) || strings.ContainsFunc(value, odd) {
		return strconv.Quote(value)
	}
	return value
}

// splitFields splits at spaces outside of quotes and takes the quotes off.
func splitFields(line string) []string {
	var fields []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var one strings.Builder
		for line != "" && line[0] != ' ' {
			if prefix, err := strconv.QuotedPrefix(line); err == nil && line[0] == '"' {
				plain, _ := strconv.Unquote(prefix) // what QuotedPrefix finds unquotes
				one.WriteString(plain)
				line = line[len(prefix):]
				continue
			}
			one.WriteByte(line[0])
			line = line[1:]
		}
		fields = append(fields, one.String())
	}
	return fields
}

func pairs(fields []string) map[string]string {
	given := map[string]string{}
	for _, one := range fields {
		if key, value, ok := strings.Cut(one, "="); ok {
			given[key] = value
		}
	}
	return given
}
