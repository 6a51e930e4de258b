// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/spelling"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// knobView is one row of the catalogue.
type knobView struct {
	Knob    string   `json:"knob"`
	Fields  []string `json:"fields"`
	MongoDB []string `json:"mongodb"`
	// Versions are the release lines that have it.
	Versions string `json:"versions"`
	Range    string `json:"range"`
	Unit     string `json:"unit,omitempty"`
	// Defaults of the server, "20" or "4 on 4.2, 8 on 4.4"; empty where they depend on the machine.
	Defaults string `json:"defaults,omitempty"`
	// Changes say what a new value does, by kind of process.
	Changes []changeView `json:"changes"`
	Proof   string       `json:"proof"`
	TooHigh string       `json:"tooHigh,omitempty"`
	TooLow  string       `json:"tooLow,omitempty"`
	Note    string       `json:"note,omitempty"`
	// Instead says what to use where it does not exist.
	Instead string `json:"instead,omitempty"`
	Source  string `json:"source,omitempty"`
	choice  bool
}

type changeView struct {
	Component v1alpha1.Component `json:"component"`
	Effect    string             `json:"effect"`
}

func (c *commands) explain() *cobra.Command {
	command := &cobra.Command{
		Use: "explain [KNOB]", GroupID: groupKnow, Args: cobra.MaximumNArgs(1),
		Short: "Explain a knob: versions, range, what a change does, what goes wrong",
		Long: `Explain a knob of the catalogue: which MongoDB versions have it, its range and default, whether a
change is online or restarts members, how its value is proved, and what goes wrong when it is too high or
too low. The knob is the path of its field below spec.tuning, or what MongoDB calls it. Without a knob, or
with the beginning of several, they are listed. It needs no cluster.`,
		Example: `  kubectl mongotuning explain eviction.dirtyTriggerPercent
  kubectl mongotuning explain eviction`,
		ValidArgsFunction: completeKnobs,
	}
	chosen := addFormat(command)
	command.RunE = func(_ *cobra.Command, args []string) error {
		found, err := knobsNamed(strings.Join(args, ""))
		if err != nil {
			return err
		}
		if len(found) == 1 {
			view := explanation(found[0])
			return c.show(*chosen, view, view.show)
		}
		views := make([]knobView, 0, len(found))
		for _, knob := range found {
			views = append(views, explanation(knob))
		}
		return c.show(*chosen, views, func(screen *terminal.Screen) { listKnobs(screen, views) })
	}
	return command
}

// knobsNamed finds a knob by its path, the last part of it, or its name in MongoDB, or all whose path begins
// with the word.
func knobsNamed(word string) ([]catalog.Knob, error) {
	word = strings.TrimPrefix(strings.TrimPrefix(word, "spec."), "tuning.")
	var names []string
	var beginning, ending []catalog.Knob
	for _, knob := range catalog.All() {
		if knob.Fixed {
			continue
		}
		if strings.EqualFold(knob.Name, word) || isServerName(knob, word) {
			return []catalog.Knob{knob}, nil
		}
		names = append(names, knob.Name)
		if !knob.IsListed() && (word == "" || strings.HasPrefix(strings.ToLower(knob.Name), strings.ToLower(word)+".")) {
			beginning = append(beginning, knob)
		}
		if strings.HasSuffix(strings.ToLower(knob.Name), "."+strings.ToLower(word)) {
			ending = append(ending, knob)
		}
	}
	if len(beginning) > 0 {
		return beginning, nil
	}
	if len(ending) == 1 {
		return ending, nil
	}
	if near := spelling.Nearest(word, names); len(near) > 0 {
		return nil, fmt.Errorf("there is no knob %q; did you mean %s?", word, strings.Join(near, ", "))
	}
	return nil, fmt.Errorf("there is no knob %q; kubectl mongotuning explain lists all of them", word)
}

func isServerName(knob catalog.Knob, word string) bool {
	if word == "" {
		return false
	}
	for name := range knob.ServerNames() {
		if name != "" && strings.EqualFold(name, word) {
			return true
		}
	}
	return strings.EqualFold(knob.ConfigKey, word) || strings.EqualFold(knob.WiredTigerKey, word) ||
		knob.WiredTigerKey != "" && strings.EqualFold(strings.ReplaceAll(knob.WiredTigerKey, ".", "_"), word)
}

// fieldsOf are the fields of the API in which a knob is declared.
var fieldsOf = map[v1alpha1.Component]string{
	v1alpha1.ComponentShardMember: "spec.tuning.", v1alpha1.ComponentConfigServer: "spec.configServers.tuning.", v1alpha1.ComponentMongos: "spec.mongos.tuning.",
}

func explanation(knob catalog.Knob) knobView {
	view := knobView{
		Knob: knob.Name, MongoDB: serverNames(knob), Versions: knob.Versions.String(), Range: knob.Range(), Unit: knob.Unit,
		Defaults: defaultsOf(knob), Proof: knob.ProvedBy(), TooHigh: knob.TooHigh, TooLow: knob.TooLow, Note: knob.Note, Instead: knob.Nearest, Source: knob.Source,
		choice: knob.Kind == catalog.KindBoolean || knob.Kind == catalog.KindEnum || knob.Kind == catalog.KindList,
	}
	for _, component := range knob.Components {
		view.Fields = append(view.Fields, fieldsOf[component]+knob.Name)
		view.Changes = append(view.Changes, changeView{Component: component, Effect: knob.Change(component)})
	}
	return view
}

func serverNames(knob catalog.Knob) []string {
	var names []string
	byName := knob.ServerNames()
	for _, name := range slices.SortedFunc(maps.Keys(byName), func(a, b string) int { return cmp.Or(len(byName[b])-len(byName[a]), cmp.Compare(a, b)) }) {
		text := name
		if len(byName) > 1 {
			text += " on " + linesOf(byName[name])
		}
		if name != "" {
			names = append(names, text)
		}
	}
	return names
}

func defaultsOf(knob catalog.Knob) string {
	byValue := knob.Defaults()
	values := slices.SortedFunc(maps.Keys(byValue), func(a, b catalog.Value) int {
		return cmp.Or(len(byValue[b])-len(byValue[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(values))
	for _, value := range values {
		text := cmp.Or(string(value), "depends on the machine")
		if len(values) > 1 {
			text += " on " + linesOf(byValue[value])
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func linesOf(lines []catalog.Line) string {
	words := make([]string, 0, len(lines))
	for _, line := range lines {
		words = append(words, line.String())
	}
	return strings.Join(words, " ")
}

func (v knobView) show(screen *terminal.Screen) {
	screen.Line(terminal.Text(v.Knob).In(terminal.Bold))
	screen.Line()
	high, low := "Too high", "Too low"
	if v.choice {
		high, low = "Hazard", "Hazard"
	}
	if v.TooHigh == v.TooLow {
		low = ""
	}
	fields := [][2]string{
		{"Field", strings.Join(v.Fields, "\n")}, {"In MongoDB", strings.Join(v.MongoDB, ", ")}, {"Versions", v.Versions},
		{"Range", v.Range + prefixed(" ", v.Unit)}, {"Default", v.Defaults},
	}
	for i, change := range v.Changes {
		name := ""
		if i == 0 {
			name = "A change"
		}
		fields = append(fields, [2]string{name, string(change.Component) + ": " + change.Effect})
	}
	fields = append(fields, [2]string{"Proved by", v.Proof}, [2]string{high, v.TooHigh})
	if low != "" {
		fields = append(fields, [2]string{low, v.TooLow})
	}
	fields = append(fields, [2]string{"Note", v.Note}, [2]string{"Instead", v.Instead}, [2]string{"Source", v.Source})
	screen.Fields(fields...)
}

func listKnobs(screen *terminal.Screen, views []knobView) {
	rows := make([][]terminal.Cell, 0, len(views))
	for _, view := range views {
		rows = append(rows, []terminal.Cell{
			terminal.Text(view.Knob).In(terminal.Bold), terminal.Text(view.Versions), terminal.Text(view.Changes[0].Effect),
			terminal.Text(cmp.Or(view.Defaults, "-")), terminal.Text(strings.TrimPrefix(view.Range, "one of ") + prefixed(" ", view.Unit)),
		})
	}
	screen.Table([]string{"KNOB", "VERSIONS", "A CHANGE", "DEFAULT", "RANGE"}, rows)
}
