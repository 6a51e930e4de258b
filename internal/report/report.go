// SPDX-License-Identifier: Apache-2.0

// Package report makes a page about one change, for the change ticket: what was changed, what the gauges did
// meanwhile against their limits, which steps it took, and how it ended. The page is one HTML file that loads
// nothing and runs nothing, so it can be attached and is still the same in a year. It is pure.
package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/forecast"
	"github.com/mongotuning/mongotuning/internal/recording"
)

// Input is what a report is made of.
type Input struct {
	// Tuning as it is now.
	Tuning *v1alpha1.MongoTuning
	// Recording of the change, Entry its line in the history.
	Recording *recording.Recording
	Entry     recording.Entry
	// Changes of values and Fields of the rest of the spec; KnowsChanges is false when the revisions are no
	// longer kept, so that neither is known.
	Changes      []forecast.Change
	Fields       []forecast.FieldChange
	KnowsChanges bool
	// Events that Kubernetes still has, oldest first.
	Events []Event
	// Now is when the report is made.
	Now time.Time
}

// Event is one event about the MongoTuning.
type Event struct {
	At           time.Time `json:"at"`
	Type, Reason string
	Text         string
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

// view is what the page shows.
type view struct {
	Title, Name, Namespace, Version, Profile string
	Outcome, OutcomeClass, Why               string
	Revision, From, Canary                   string
	Began, Ended, Took, Made                 string
	Changes                                  []change
	KnowsChanges                             bool
	Gauges                                   []comparison
	Charts                                   []chart
	Quiet                                    []string
	Steps                                    []step
	Acts                                     []act
	Members                                  []member
	Breaches                                 []breach
	Events                                   []event
	Legend                                   []legend
}

type change struct{ Process, Name, From, To, How string }

type step struct{ Name, At, Took, Text string }

type act struct{ At, Name, Member, Text string }

type member struct {
	Name, Set, Role, Proved, Note string
	IsProved                      bool
}

type breach struct{ Limit, Member, Gauge, Found, Bound, Since string }

type event struct{ At, Reason, Text, Class string }

type legend struct{ Name, Class string }

// Page makes the report.
func Page(in Input) ([]byte, error) {
	v := view{
		Name: in.Tuning.Name, Namespace: in.Tuning.Namespace, Version: in.Tuning.Spec.MongoDB.Version, Profile: cmp.Or(in.Entry.Profile, "none"),
		Title:   fmt.Sprintf("Change %s of %s", in.Recording.Revision, in.Tuning.Name),
		Outcome: outcomes[in.Entry.Outcome].text, OutcomeClass: outcomes[in.Entry.Outcome].class, Why: in.Entry.Why,
		Revision: in.Recording.Revision, From: cmp.Or(in.Recording.From, "none"), Canary: cmp.Or(in.Entry.Canary, "none"),
		Made: stamp(in.Now), KnowsChanges: in.KnowsChanges,
	}
	if v.Outcome == "" {
		v.Outcome, v.OutcomeClass = "on its way", "warn"
	}
	began, ended := span(in)
	v.Began, v.Took, v.Ended = stamp(began), ended.Sub(began).Round(time.Second).String(), "not yet"
	if !in.Recording.Ended.IsZero() {
		v.Ended = stamp(in.Recording.Ended)
	}
	v.Changes = changesOf(in)
	v.Steps, v.Acts = happenings(in, ended)
	v.Members, v.Breaches = membersOf(in.Tuning), breachesOf(in.Tuning)
	for _, told := range in.Events {
		class := ""
		if told.Type == "Warning" {
			class = "bad"
		}
		v.Events = append(v.Events, event{At: clock(told.At), Reason: told.Reason, Text: told.Text, Class: class})
	}
	painter := newPainter(in)
	v.Legend = painter.legend()
	v.Charts, v.Quiet = painter.charts(began, ended)
	v.Gauges = painter.comparisons(began)
	var made bytes.Buffer
	if err := page.Execute(&made, v); err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	return made.Bytes(), nil
}

var outcomes = map[recording.Outcome]struct{ text, class string }{
	recording.Verified:   {"verified", "good"},
	recording.TakenBack:  {"taken back", "bad"},
	recording.Paused:     {"paused", "bad"},
	recording.Withdrawn:  {"withdrawn", "warn"},
	recording.Superseded: {"superseded", "warn"},
	recording.Travelling: {"on its way", "warn"},
}

// span is when the change itself began, and when it ended or was seen last.
func span(in Input) (began, ended time.Time) {
	began = in.Recording.Began
	if i := slices.IndexFunc(in.Recording.Marks, func(m recording.Mark) bool { return m.Kind == recording.MarkStep }); i >= 0 {
		began = in.Recording.Marks[i].At
	}
	ended = in.Recording.Ended
	if ended.IsZero() {
		ended = in.Recording.LastAt
	}
	if ended.Before(began) {
		ended = began
	}
	return began, ended
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

var effects = map[forecast.Effect]string{
	forecast.Online: "online", forecast.Restart: "with restarts", forecast.Roll: "mongos rolled",
	forecast.NoEffect: "no effect on this version", forecast.Released: "let go",
}

func changesOf(in Input) []change {
	all := make([]change, 0, len(in.Changes)+len(in.Fields))
	for _, c := range in.Changes {
		all = append(all, change{Process: string(c.Component), Name: c.Knob, From: valueOf(c.From, c.FromDefault), To: valueOf(c.To, c.ToDefault), How: effects[c.Effect]})
	}
	for _, field := range in.Fields {
		all = append(all, change{Process: "spec", Name: field.Field, From: cmp.Or(field.From, "-"), To: cmp.Or(field.To, "-"), How: field.Effect})
	}
	return all
}

func valueOf(value string, isDefault bool) string {
	switch {
	case !isDefault:
		return value
	case value == "":
		return "undeclared"
	default:
		return value + " (default)"
	}
}

// happenings are the steps with how long each took, and the acts.
func happenings(in Input, ended time.Time) (steps []step, acts []act) {
	var began []time.Time
	for _, mark := range in.Recording.Marks {
		switch mark.Kind {
		case recording.MarkAct:
			acts = append(acts, act{At: clock(mark.At), Name: mark.Name, Member: mark.Member, Text: mark.Text})
		case recording.MarkStep:
			steps = append(steps, step{Name: mark.Name, At: clock(mark.At), Text: mark.Text})
			began = append(began, mark.At)
		case recording.MarkEnd:
			steps = append(steps, step{Name: "End: " + outcomes[recording.Outcome(mark.Name)].text, At: clock(mark.At), Text: mark.Text, Took: "-"})
		}
	}
	for i, at := range began {
		until := ended
		if i+1 < len(began) {
			until = began[i+1]
		}
		steps[i].Took = until.Sub(at).Round(time.Second).String()
	}
	return steps, acts
}

func membersOf(tuning *v1alpha1.MongoTuning) []member {
	all := make([]member, 0, len(tuning.Status.Members))
	for _, m := range tuning.Status.Members {
		shown := member{
			Name: m.Name, Set: m.ReplicaSet, Role: string(m.Role), Proved: fmt.Sprintf("%d/%d", m.Proved, m.Declared),
			IsProved: m.Declared > 0 && m.Proved == m.Declared,
		}
		if m.PendingRestart {
			shown.Note = "waits for its restart"
		}
		all = append(all, shown)
	}
	return all
}

func breachesOf(tuning *v1alpha1.MongoTuning) []breach {
	all := make([]breach, 0, len(tuning.Status.Breaches))
	for _, b := range tuning.Status.Breaches {
		all = append(all, breach{Limit: b.Limit, Member: b.Member, Gauge: string(b.Gauge), Found: b.Found, Bound: b.Bound, Since: stamp(b.Since.Time)})
	}
	return all
}
