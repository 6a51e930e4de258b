// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/forecast"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/recording"
	"github.com/mongotuning/mongotuning/internal/revision"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// historyView is the changes of one MongoTuning, the newest first.
type historyView struct {
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Current   string         `json:"current,omitempty"`
	Verified  string         `json:"verified,omitempty"`
	Changes   []historyEntry `json:"changes"`
}

// historyEntry is one change. One with the outcome Recorded is known only by its revision: it was made
// before the operator kept a history.
type historyEntry struct {
	recording.Entry `json:",inline"`
	// Values that it changed, where both revisions are still kept.
	Values []forecast.Change      `json:"values,omitempty"`
	Fields []forecast.FieldChange `json:"fields,omitempty"`
}

// outcomeRecorded is that of a revision without an entry.
const outcomeRecorded recording.Outcome = "Recorded"

func (c *commands) history() *cobra.Command {
	command := &cobra.Command{
		Use: "history NAME", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Short: "List the changes: verified or taken back, when, and why",
		Long: `List the changes of a MongoTuning, the newest first: which revision, what became of it (verified, taken back,
paused, withdrawn, superseded), when and why, and which values it changed. The operator keeps the last ` + fmt.Sprint(recording.MaxEntries) + `.`,
		ValidArgsFunction: c.completeTunings,
	}
	chosen := addFormat(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		way, err := c.connect()
		if err != nil {
			return err
		}
		tuning, err := way.tuning(command.Context(), args[0])
		if err != nil {
			return err
		}
		view, err := historyOf(command.Context(), way, tuning)
		if err != nil {
			return err
		}
		return c.show(*chosen, view, func(screen *terminal.Screen) { view.show(screen, c.Clock.Now()) })
	}
	return command
}

// book reads what the operator has recorded of the changes; one without anything when there is nothing.
func (a *access) book(ctx context.Context, tuning *v1alpha1.MongoTuning) (recording.Book, error) {
	var book recording.Book
	name := naming.Recording(tuning.Name)
	object, err := a.kubernetes.CoreV1().ConfigMaps(tuning.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return book, nil
	case err != nil:
		return book, explained(err, "read ConfigMap "+name, corev1.SchemeGroupVersion.WithResource("configmaps"), tuning.Namespace)
	}
	if book.History, err = recording.DecodeHistory(object.Data[naming.RecordingHistory]); err != nil {
		return book, fmt.Errorf("ConfigMap %s: %w", name, err)
	}
	if encoded := object.BinaryData[naming.RecordingGauges]; len(encoded) > 0 {
		if book.Last, err = recording.Decode(encoded); err != nil {
			return book, fmt.Errorf("ConfigMap %s: %w", name, err)
		}
	}
	return book, nil
}

func historyOf(ctx context.Context, way *access, tuning *v1alpha1.MongoTuning) (historyView, error) {
	view := historyView{
		Name: tuning.Name, Namespace: tuning.Namespace, Changes: []historyEntry{},
		Current: tuning.Status.Revisions.Current, Verified: tuning.Status.Revisions.Verified,
	}
	book, err := way.book(ctx, tuning)
	if err != nil {
		return view, err
	}
	sides, records, err := sidesOf(ctx, way, tuning)
	if err != nil {
		return view, err
	}
	named := map[string]bool{}
	for _, entry := range slices.Backward(book.History) {
		named[entry.Revision] = true
		view.Changes = append(view.Changes, entryOf(entry, sides))
	}
	for _, name := range slices.Backward(records) {
		if !named[name.Revision] {
			view.Changes = append(view.Changes, historyEntry{Entry: name})
		}
	}
	return view, nil
}

// sidesOf are the recorded revisions, to be compared with each other, and as entries, oldest first.
func sidesOf(ctx context.Context, way *access, tuning *v1alpha1.MongoTuning) (map[string]forecast.Side, []recording.Entry, error) {
	records, err := way.revisions(ctx, tuning)
	if err != nil {
		return nil, nil, err
	}
	sides := map[string]forecast.Side{}
	var entries []recording.Entry
	for i := range records {
		content, err := revision.Decode(records[i].Name, records[i].Data.Raw)
		if err != nil {
			return nil, nil, err
		}
		sides[records[i].Name] = forecast.Side{Tuning: content.LaidOver(tuning), Resolved: content.Resolved}
		made := records[i].CreationTimestamp.Time
		entries = append(entries, recording.Entry{Revision: records[i].Name, Outcome: outcomeRecorded, Began: &made})
	}
	return sides, entries, nil
}

// entryOf puts beside an entry what the change was.
func entryOf(entry recording.Entry, sides map[string]forecast.Side) historyEntry {
	full := historyEntry{Entry: entry}
	from, knowsFrom := sides[entry.From]
	to, knowsTo := sides[entry.Revision]
	if knowsFrom && knowsTo {
		difference := forecast.Between(from, to)
		full.Values, full.Fields = difference.Changes, difference.Fields
	}
	return full
}

func (v historyView) show(screen *terminal.Screen, now time.Time) {
	screen.Line(terminal.Text(v.Name).In(terminal.Bold), terminal.Text(fmt.Sprintf("   namespace %s   current %s   verified %s", v.Namespace, cmp.Or(v.Current, "-"), cmp.Or(v.Verified, "-"))))
	screen.Line()
	if len(v.Changes) == 0 {
		screen.Line(terminal.Text("No revision was recorded yet."))
		return
	}
	rows := make([][]terminal.Cell, 0, len(v.Changes))
	for _, entry := range v.Changes {
		rows = append(rows, []terminal.Cell{
			terminal.Text(entry.when()), terminal.Text(entry.Revision), terminal.Text(string(entry.Outcome)).In(outcomePaint(entry.Outcome)),
			terminal.Number(entry.took(now)), terminal.Text(cmp.Or(entry.Profile, "-")), terminal.Text(cmp.Or(entry.changed(), "-")),
		})
	}
	screen.Table([]string{"WHEN", "REVISION", "OUTCOME", "TOOK", "PROFILE", "CHANGED"}, rows)
	isFirst := true
	for _, entry := range v.Changes {
		if entry.Why == "" {
			continue
		}
		if isFirst {
			screen.Line()
			isFirst = false
		}
		screen.Paragraph("", fmt.Sprintf("%s %s at %s: %s", entry.Revision, outcomeText[entry.Outcome], entry.when(), entry.Why))
	}
}

// outcomeText is an outcome within a sentence.
var outcomeText = map[recording.Outcome]string{
	recording.TakenBack: "was taken back", recording.Paused: "was paused", recording.Withdrawn: "was withdrawn", recording.Superseded: "was superseded",
}

func outcomePaint(outcome recording.Outcome) terminal.Paint {
	switch outcome {
	case recording.Verified:
		return terminal.Good
	case recording.TakenBack, recording.Paused:
		return terminal.Bad
	case recording.Travelling:
		return terminal.Warn
	default:
		return terminal.Plain
	}
}

// when is the time of an entry: its end, or its beginning on the way.
func (e historyEntry) when() string {
	at := cmp.Or(e.Ended, e.Began)
	if at == nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}

func (e historyEntry) took(now time.Time) string {
	switch {
	case e.Began == nil || e.Outcome == outcomeRecorded:
		return "-"
	case e.Ended == nil:
		return terminal.Span(now.Sub(*e.Began))
	default:
		return terminal.Span(e.Ended.Sub(*e.Began))
	}
}

// mostShown is how many values are told in a line.
const mostShown = 2

// changed is what the change was, in a few words.
func (e historyEntry) changed() string {
	var words []string
	for _, value := range e.Values {
		words = append(words, fmt.Sprintf("%s%s %s -> %s", shortOf[value.Component], value.Knob, valueText(value.From, value.FromDefault), valueText(value.To, value.ToDefault)))
	}
	for _, field := range e.Fields {
		words = append(words, fmt.Sprintf("%s %s -> %s", field.Field, cmp.Or(field.From, "-"), cmp.Or(field.To, "-")))
	}
	if more := len(words) - mostShown; more > 0 {
		words = append(words[:mostShown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// shortOf begins the values of processes that are no shard members.
var shortOf = map[v1alpha1.Component]string{v1alpha1.ComponentConfigServer: "configServers.", v1alpha1.ComponentMongos: "mongos."}
