// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/forecast"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// documents are the YAML documents of a file.
func documents(text []byte) [][]byte {
	var all [][]byte
	for document := range bytes.SplitSeq(append([]byte("\n"), text...), []byte("\n---")) {
		if len(bytes.TrimSpace(document)) > 0 {
			all = append(all, document)
		}
	}
	return all
}

// objectOf reads one document; nil when there is nothing but comments in it.
func objectOf(document []byte) (*unstructured.Unstructured, error) {
	encoded, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("read YAML: %w", err)
	}
	if bytes.Equal(bytes.TrimSpace(encoded), []byte("null")) {
		return nil, nil //nolint:nilnil // a document of comments
	}
	object := &unstructured.Unstructured{}
	if err := utilyaml.Unmarshal(encoded, &object.Object); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	return object, nil
}

func showPlans(screen *terminal.Screen, views []planView) {
	for i, view := range views {
		if i > 0 {
			screen.Line()
		}
		view.show(screen)
	}
}

// verdicts are the first line of a plan.
var verdicts = map[string]struct {
	text  string
	paint terminal.Paint
}{
	verdictNew:     {"would be made anew: everything below is there from the start", terminal.Good},
	verdictNothing: {"nothing would change", terminal.Good},
	verdictChange:  {"would change", terminal.Warn},
	verdictRefused: {"would be refused", terminal.Bad},
}

func (v planView) show(screen *terminal.Screen) {
	verdict := verdicts[v.Verdict]
	screen.Line(terminal.Text(v.Name).In(terminal.Bold), terminal.Text("   namespace "+v.Namespace+"   "), terminal.Text(verdict.text).In(verdict.paint))
	screen.Linef("Compared with %s. Nothing was applied.", v.Against)
	for _, reason := range v.Refused {
		screen.Line()
		screen.Paragraph("  ", reason)
	}
	if len(v.Refused) > 0 {
		return
	}
	v.showChanges(screen)
	v.showMemory(screen)
	v.showSteps(screen)
	v.showList(screen, "Before it begins", v.Waits)
	v.showList(screen, "To know", v.Notes)
}

func (v planView) showChanges(screen *terminal.Screen) {
	rows := make([][]terminal.Cell, 0, len(v.Changes))
	for _, change := range v.Changes {
		from := valueText(change.From, change.FromDefault)
		row := []terminal.Cell{terminal.Text(string(change.Component)), terminal.Text(change.Knob)}
		if !v.IsNew {
			row = append(row, terminal.Number(from))
		}
		rows = append(rows, append(row, terminal.Number(valueText(change.To, change.ToDefault)),
			terminal.Text(effectText[change.Effect]).In(effectPaint(change.Effect)), terminal.Text(cmp.Or(string(change.Source), "-"))))
	}
	header := []string{"PROCESS", "KNOB", "NOW", "THEN", "HOW", "SOURCE"}
	if v.IsNew {
		header = []string{"PROCESS", "KNOB", "VALUE", "A LATER CHANGE", "SOURCE"}
	}
	if len(rows) > 0 {
		screen.Line()
		screen.Table(header, rows)
	}
	fields := make([][]terminal.Cell, 0, len(v.Fields))
	for _, field := range v.Fields {
		fields = append(fields, []terminal.Cell{
			terminal.Text(field.Field), terminal.Number(cmp.Or(field.From, "-")), terminal.Number(cmp.Or(field.To, "-")), terminal.Text(field.Effect),
		})
	}
	if len(fields) > 0 {
		screen.Line()
		screen.Table([]string{"FIELD", "NOW", "THEN", "WHAT FOLLOWS"}, fields)
	}
}

func valueText(value string, isDefault bool) string {
	switch {
	case !isDefault:
		return value
	case value == "":
		return "undeclared"
	default:
		return value + " (default)"
	}
}

// effectText says how a value comes into force.
var effectText = map[forecast.Effect]string{
	forecast.Online: "online", forecast.Restart: "restarts members", forecast.Roll: "rolls mongos",
	forecast.NoEffect: "does nothing on this version", forecast.Released: "let go: stays until the next restart",
}

func effectPaint(effect forecast.Effect) terminal.Paint {
	if effect == forecast.Restart || effect == forecast.Roll {
		return terminal.Warn
	}
	return terminal.Plain
}

func (v planView) showMemory(screen *terminal.Screen) {
	for i, memory := range v.Memory {
		if i == 0 {
			screen.Line()
		}
		screen.Paragraph("", fmt.Sprintf("Memory of each %s: cache %s to %s GB, limit %s to %s: %s.",
			memory.Component, cmp.Or(memory.CacheFrom, "-"), cmp.Or(memory.CacheTo, "-"), cmp.Or(memory.LimitFrom, "none"), cmp.Or(memory.LimitTo, "none"), memory.Order))
	}
}

func (v planView) showSteps(screen *terminal.Screen) {
	if len(v.Steps) == 0 {
		if v.Verdict == verdictChange {
			screen.Line()
			screen.Paragraph("", "No member is touched, and nothing has to travel.")
		}
		return
	}
	screen.Line()
	restarts := "nobody restarts"
	if len(v.Restarted) > 0 {
		restarts = terminal.Count(len(v.Restarted), "member") + " restart, one at a time"
		if len(v.Restarted) == 1 {
			restarts = "1 member restarts"
		}
	}
	roles := "as members stand now"
	if v.RolesUnknown {
		roles = "if the first member of each set leads, which is not known without a cluster"
	}
	screen.Paragraph("", fmt.Sprintf("Revision %s would travel in these steps, %s; %s:", v.Revision, roles, restarts))
	screen.Line()
	fields := make([][2]string, 0, len(v.Steps))
	for i, step := range v.Steps {
		fields = append(fields, [2]string{fmt.Sprintf("%2d %s", i+1, step.Step), step.Text})
	}
	screen.Fields(fields...)
}

func (v planView) showList(screen *terminal.Screen, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	screen.Line()
	screen.Line(terminal.Text(title + ":").In(terminal.Bold))
	for _, line := range lines {
		screen.Paragraph("  ", line)
	}
}
