// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// referencePath is the page below the repository.
const referencePath = "docs/tuning-reference.md"

const head = `# Tuning reference

Generated from the knob catalogue by ` + "`go run ./hack/generate`" + `; do not edit.

Each knob is a field of ` + "`spec.tuning`" + ` (shard members), ` + "`spec.configServers.tuning`" + ` or ` + "`spec.mongos.tuning`" + ` of a
MongoTuning, and of the same blocks of a TuningProfile. A knob that nobody declares is held to the server's own
default, so taking a declaration back, or setting a value by hand, does not leave it in force unseen. A default
that is not fixed, because it depends on the machine, cannot be held to. Of mongos only its file is held to what is
declared: its values are not read back.

[What was proved of each knob](knob-matrix.md) says what was tried on real servers. Lines 7.0 and 8.0, and mongos,
were not: what is said of them comes from the manual.

## Overview

| knob | in MongoDB | processes | versions | a change | default | range |
|---|---|---|---|---|---|---|
`

const wiredTigerNote = `
"getParameter wiredTigerEngineRuntimeConfig" is the last string sent to the storage engine. The operator always sends
all of it, so that the answer is complete; when none was sent since the process started, the string it was
started with (getCmdLineOpts) counts. A string that somebody else sent shows as a difference.
`

func reference() string {
	var text strings.Builder
	text.WriteString(head)
	var details strings.Builder
	for _, knob := range catalog.All() {
		if knob.Fixed || knob.IsListed() {
			continue
		}
		fmt.Fprintf(&text, "| [`%s`](#%s) | %s | %s | %s | %s | %s | %s |\n", knob.Name, anchor(knob.Name), serverNames(knob),
			processes(knob), knob.Versions, change(knob), defaults(knob), bounds(knob))
		details.WriteString(section(knob))
	}
	text.WriteString(wiredTigerNote)
	text.WriteString("\n## Knobs\n\n")
	text.WriteString(details.String())
	text.WriteString(parameters())
	return text.String()
}

func section(knob catalog.Knob) string {
	var text strings.Builder
	fmt.Fprintf(&text, "### `%s`\n\n", knob.Name)
	item := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&text, "- %s: %s\n", name, value)
		}
	}
	item("Unit", knob.Unit)
	high, low := "Too high", "Too low"
	if isChoice(knob) {
		high, low = "Hazard", "Hazard"
	}
	item(high, knob.TooHigh)
	item(low, knob.TooLow)
	item("Note", knob.Note)
	item("Proved by", knob.ProvedBy())
	item("Where it does not exist", knob.Nearest)
	item("Source", knob.Source)
	return text.String() + "\n"
}

// isChoice tells that the row's values have no order, so that none is high or low.
func isChoice(knob catalog.Knob) bool {
	return knob.Kind == catalog.KindBoolean || knob.Kind == catalog.KindEnum || knob.Kind == catalog.KindList
}

func anchor(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, ".", ""))
}

// byLines writes values that differ between release lines, the one of most lines without naming them.
func byLines[K ~string](values map[K][]catalog.Line, empty string) string {
	keys := slices.SortedFunc(maps.Keys(values), func(a, b K) int {
		if more := len(values[b]) - len(values[a]); more != 0 {
			return more
		}
		return strings.Compare(lines(values[a]), lines(values[b]))
	})
	parts := make([]string, 0, len(keys))
	for i, key := range keys {
		text := string(key)
		if text == "" {
			text = empty
		} else {
			text = "`" + text + "`"
		}
		if i > 0 {
			text += " on " + lines(values[key])
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func lines(lines []catalog.Line) string {
	words := make([]string, 0, len(lines))
	for _, line := range lines {
		words = append(words, line.String())
	}
	return strings.Join(words, ", ")
}

func serverNames(knob catalog.Knob) string { return byLines(knob.ServerNames(), "") }

func defaults(knob catalog.Knob) string { return byLines(knob.Defaults(), "not fixed") }

var short = []struct {
	component v1alpha1.Component
	name      string
}{
	{v1alpha1.ComponentShardMember, "shard"}, {v1alpha1.ComponentConfigServer, "config server"}, {v1alpha1.ComponentMongos, "mongos"},
}

func processes(knob catalog.Knob) string {
	var names []string
	for _, s := range short {
		if knob.AppliesTo(s.component) {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ", ")
}

// change is what a new value does; of mongos it is always the same, so it is said only where it is all.
func change(knob catalog.Knob) string {
	for _, s := range short {
		if knob.AppliesTo(s.component) {
			return knob.Change(s.component)
		}
	}
	return ""
}

func bounds(knob catalog.Knob) string {
	return strings.TrimPrefix(knob.Range(), "one of ")
}

const parametersHead = `## Parameters for setParameters

Server parameters without a field of their own that shard members of a line take, as seen on mongod 4.2.6, 4.4.2, 5.0.4
and 6.0.27. A name that is not here is refused, because mongod does not start with a parameter that it does not
know; for the same reason the list is empty for 7.0 and 8.0. What they do is for MongoDB's documentation to say:
nobody has examined their hazards here. Parameters with a default in the table are held to it when nobody
declares them; the others return to their default with the next restart.

| parameter | versions | a change | default |
|---|---|---|---|
`

func parameters() string {
	var text strings.Builder
	text.WriteString(parametersHead)
	for _, knob := range catalog.All() {
		if knob.IsListed() {
			fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", knob.MongoDBName, knob.Versions, change(knob), knob.Default)
		}
	}
	return text.String()
}
