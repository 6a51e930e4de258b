// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// diffView is what is declared against what runs.
type diffView struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Proved    string `json:"proved"`
	// Differences are the values that are not proved, by member.
	Differences []differenceView `json:"differences"`
	// Silent are members about which nothing is known, so that none of their values is proved.
	Silent []string `json:"silent,omitempty"`
	// Values are all declared ones, with --all.
	Values []standingView `json:"values,omitempty"`
}

type differenceView struct {
	Member   string               `json:"member"`
	Knob     string               `json:"knob"`
	Verdict  v1alpha1.KnobVerdict `json:"verdict"`
	Declared string               `json:"declared"`
	Running  string               `json:"running,omitempty"`
	Evidence string               `json:"evidence,omitempty"`
}

type standingView struct {
	Component v1alpha1.Component   `json:"component"`
	Knob      string               `json:"knob"`
	Value     string               `json:"value"`
	Source    v1alpha1.ValueSource `json:"source"`
	// ProvedOn says on how many members it was read back, "3/3"; empty for mongos, which is rolled and not
	// asked.
	ProvedOn string `json:"provedOn,omitempty"`
	Note     string `json:"note,omitempty"`
}

func (c *commands) diff() *cobra.Command {
	var everything bool
	command := &cobra.Command{
		Use: "diff NAME", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Short: "Show where the running processes differ from what is declared",
		Long: `Show the declared values that are not proved: for each member the value that is declared, the one that the
running process reports, and where that was read. With --all, list every declared value, where it comes
from, and on how many members it is proved.

The program ends with code 1 when a value differs or waits for a restart, or a member is silent.`,
		Example: `  kubectl mongotuning diff demo
  kubectl mongotuning diff demo --all`,
		ValidArgsFunction: c.completeTunings,
	}
	chosen := addFormat(command)
	command.Flags().BoolVarP(&everything, "all", "a", false, "list every declared value")
	command.RunE = func(command *cobra.Command, args []string) error {
		way, err := c.connect()
		if err != nil {
			return err
		}
		tuning, err := way.tuning(command.Context(), args[0])
		if err != nil {
			return err
		}
		if tuning.Status.ProvedMembers == "" {
			return fmt.Errorf("nothing was looked at yet on %s (%s)", tuning.Name, readySentence(tuning))
		}
		view := differencesOf(tuning)
		if everything {
			view.Values = standings(tuning)
		}
		if err := c.show(*chosen, view, view.show); err != nil {
			return err
		}
		if view.differs() {
			return exitError{code: 1}
		}
		return nil
	}
	return command
}

func differencesOf(tuning *v1alpha1.MongoTuning) diffView {
	view := diffView{Name: tuning.Name, Namespace: tuning.Namespace, Proved: tuning.Status.ProvedMembers, Differences: []differenceView{}}
	for _, member := range tuning.Status.Members {
		if isSilent(member) {
			view.Silent = append(view.Silent, member.Name)
		}
		for _, found := range member.Mismatches {
			view.Differences = append(view.Differences, differenceView{
				Member: member.Name, Knob: found.Knob, Verdict: found.Verdict, Declared: found.Wanted, Running: found.Found, Evidence: found.Evidence,
			})
		}
	}
	return view
}

// isSilent tells that a member was not judged: nothing is proved, and nothing differs.
func isSilent(member v1alpha1.MemberStatus) bool {
	return member.Declared > 0 && member.Proved == 0 && len(member.Mismatches) == 0
}

// differs tells that something is not as declared, as far as that can be seen.
func (v diffView) differs() bool {
	for _, difference := range v.Differences {
		if difference.Verdict != v1alpha1.KnobUnverifiable {
			return true
		}
	}
	return len(v.Silent) > 0
}

func standings(tuning *v1alpha1.MongoTuning) []standingView {
	all := make([]standingView, 0, len(tuning.Status.Effective))
	for _, value := range tuning.Status.Effective {
		standing := standingView{Component: value.Component, Knob: value.Knob, Value: value.Value, Source: value.Source, Note: value.Note}
		if value.Component != v1alpha1.ComponentMongos {
			proved, members := 0, 0
			for _, member := range tuning.Status.Members {
				if (member.ReplicaSet == naming.ConfigServers(tuning.Name)) != (value.Component == v1alpha1.ComponentConfigServer) {
					continue
				}
				members++
				if isProved(member, value.Knob) {
					proved++
				}
			}
			standing.ProvedOn = fmt.Sprintf("%d/%d", proved, members)
		}
		all = append(all, standing)
	}
	return all
}

func isProved(member v1alpha1.MemberStatus, knob string) bool {
	for _, mismatch := range member.Mismatches {
		if mismatch.Knob == knob {
			return false
		}
	}
	return !isSilent(member)
}

// verdictText says in words what a verdict means for the reader.
var verdictText = map[v1alpha1.KnobVerdict]string{
	v1alpha1.KnobMismatched: "differs", v1alpha1.KnobPendingRestart: "waits for a restart",
	v1alpha1.KnobUnverifiable: "cannot be read on this version", v1alpha1.KnobUnknown: "not known",
}

func (v diffView) show(screen *terminal.Screen) {
	screen.Line(terminal.Text(v.Name).In(terminal.Bold), terminal.Text(fmt.Sprintf("   namespace %s   %s members proved", v.Namespace, v.Proved)))
	rows := make([][]terminal.Cell, 0, len(v.Differences))
	for _, found := range v.Differences {
		paint := terminal.Bad
		if found.Verdict != v1alpha1.KnobMismatched {
			paint = terminal.Warn
		}
		rows = append(rows, []terminal.Cell{
			terminal.Text(found.Member), terminal.Text(found.Knob), terminal.Number(found.Declared), terminal.Number(cmp.Or(found.Running, "-")),
			terminal.Text(cmp.Or(verdictText[found.Verdict], string(found.Verdict))).In(paint), terminal.Text(found.Evidence).In(terminal.Faint),
		})
	}
	switch {
	case len(rows) > 0:
		screen.Line()
		screen.Table([]string{"MEMBER", "KNOB", "DECLARED", "RUNNING", "", "READ FROM"}, rows)
	case len(v.Silent) == 0:
		screen.Line()
		screen.Line(terminal.Text("Every declared value was read back from every member.").In(terminal.Good))
	}
	for _, member := range v.Silent {
		screen.Line(terminal.Text(member + " could not be judged: it did not answer, or its pod does not run.").In(terminal.Warn))
	}
	v.showValues(screen)
}

func (v diffView) showValues(screen *terminal.Screen) {
	rows := make([][]terminal.Cell, 0, len(v.Values))
	for _, value := range v.Values {
		rows = append(rows, []terminal.Cell{
			terminal.Text(string(value.Component)), terminal.Text(value.Knob), terminal.Number(value.Value), terminal.Text(string(value.Source)),
			terminal.Number(cmp.Or(value.ProvedOn, "-")),
		})
	}
	if len(rows) > 0 {
		screen.Line()
		screen.Table([]string{"PROCESS", "KNOB", "DECLARED", "SOURCE", "PROVED ON"}, rows)
	}
}
