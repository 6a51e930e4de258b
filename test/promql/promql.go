// SPDX-License-Identifier: Apache-2.0

// Package promql reads which metrics and labels a query of Prometheus uses, for tests that hold alerts and
// dashboards to the metrics there are. It does not judge whether a query is valid; promtool does.
package promql

import (
	"regexp"
	"slices"
	"strings"
)

// Selector is one metric with its matchers, as `name{label="value"}` is written.
type Selector struct {
	Metric string
	// Matchers by label; the operator of a matcher is in front of its value: `="a"`, `!~"a|b"`.
	Matchers map[string]string
}

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	duration = regexp.MustCompile(`\[[^\]]*\]|\boffset\s+\S+`)
	name     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	matcher  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`)
	braces   = regexp.MustCompile(`^\s*\{((?:[^}"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)\}`)

	words = []string{"and", "or", "unless", "bool", "by", "without", "on", "ignoring", "group_left", "group_right", "offset", "inf", "nan"}
)

// Selectors are all metrics that a query asks for.
func Selectors(query string) []Selector {
	query = duration.ReplaceAllStringFunc(query, blank)
	query = grouping.ReplaceAllStringFunc(query, blank)
	var found []Selector
	for at := 0; at < len(query); {
		span := name.FindStringIndex(query[at:])
		if quote := quoted.FindStringIndex(query[at:]); quote != nil && (span == nil || quote[0] < span[0]) {
			at += quote[1]
			continue
		}
		if span == nil {
			break
		}
		word, rest := query[at+span[0]:at+span[1]], query[at+span[1]:]
		isNumber := span[0] > 0 && strings.ContainsAny(query[at+span[0]-1:at+span[0]], "0123456789.")
		at += span[1]
		if isNumber || slices.Contains(words, strings.ToLower(word)) || strings.HasPrefix(strings.TrimSpace(rest), "(") {
			continue
		}
		selector := Selector{Metric: word, Matchers: map[string]string{}}
		if inside := braces.FindStringSubmatch(rest); inside != nil {
			for _, match := range matcher.FindAllStringSubmatch(inside[1], -1) {
				selector.Matchers[match[1]] = match[2] + match[3]
			}
			at += len(inside[0])
		}
		found = append(found, selector)
	}
	return found
}

// Grouped are the labels that a query groups or joins by.
func Grouped(query string) []string {
	var labels []string
	for _, clause := range grouping.FindAllString(query, -1) {
		_, inside, _ := strings.Cut(clause, "(")
		labels = append(labels, name.FindAllString(strings.TrimSuffix(inside, ")"), -1)...)
	}
	return labels
}

// Values are the values a matcher lets through or keeps out: those of a regular expression one by one.
func Values(matcher string) []string {
	return strings.Split(strings.Trim(strings.TrimLeft(matcher, "=!~"), `"'`), "|")
}

func blank(text string) string { return strings.Repeat(" ", len(text)) }
