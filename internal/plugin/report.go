// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/recording"
	"github.com/mongotuning/mongotuning/internal/report"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// reportView is a report for programs.
type reportView struct {
	Name          string           `json:"name"`
	Namespace     string           `json:"namespace"`
	Change        historyEntry     `json:"change"`
	Marks         []recording.Mark `json:"marks"`
	Began         time.Time        `json:"began"`
	PointsSeconds float64          `json:"pointsSeconds"`
	Series        []seriesView     `json:"series"`
}

// seriesView is one line; null where nothing was measured.
type seriesView struct {
	Member string     `json:"member"`
	Gauge  string     `json:"gauge"`
	Limit  string     `json:"limit,omitempty"`
	Values []*float64 `json:"values"`
}

func (c *commands) report() *cobra.Command {
	var file string
	command := &cobra.Command{
		Use: "report NAME", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Short: "Make a page with charts of the last change, for the change ticket",
		Long: `Make an HTML page about the last change of a MongoTuning: what was changed, what every gauge did on each
member against its limits, the steps, the restarts, how it ended and why. The page is one file that loads
nothing, so it can be attached to a ticket. Without --file it is named after the revision; with --file - it goes to
standard output.`,
		Example: `  kubectl mongotuning report demo
  kubectl mongotuning report demo --file ticket-4711.html`,
		ValidArgsFunction: c.completeTunings,
	}
	chosen := addFormat(command)
	command.Flags().StringVarP(&file, "file", "f", "", "file to write, - for standard output (default NAME-REVISION.html)")
	command.RunE = func(command *cobra.Command, args []string) error {
		way, err := c.connect()
		if err != nil {
			return err
		}
		input, entry, err := c.reportOf(command.Context(), way, args[0])
		if err != nil {
			return err
		}
		if *chosen != formatText {
			return c.show(*chosen, reportViewOf(input, entry), func(*terminal.Screen) {})
		}
		page, err := report.Page(input)
		if err != nil {
			return err
		}
		if file == "-" {
			return c.write(string(page))
		}
		file = cmp.Or(file, input.Recording.Revision+".html")
		if err := os.WriteFile(file, page, 0o644); err != nil { //nolint:gosec // a page for everybody
			return fmt.Errorf("write report: %w", err)
		}
		return c.say(fmt.Sprintf("Wrote %s: revision %s, %s. Open it in a browser, or attach it to the ticket.", file, input.Recording.Revision, strings.ToLower(string(entry.Outcome))))
	}
	return command
}

// reportOf reads everything that a report is made of.
func (c *commands) reportOf(ctx context.Context, way *access, name string) (report.Input, historyEntry, error) {
	tuning, err := way.tuning(ctx, name)
	if err != nil {
		return report.Input{}, historyEntry{}, err
	}
	book, err := way.book(ctx, tuning)
	if err != nil {
		return report.Input{}, historyEntry{}, err
	}
	if book.Last == nil {
		return report.Input{}, historyEntry{}, fmt.Errorf("no change of %s was recorded: a recording begins with the first change after revision 1 is verified (%s)", name, readySentence(tuning))
	}
	sides, _, err := sidesOf(ctx, way, tuning)
	if err != nil {
		return report.Input{}, historyEntry{}, err
	}
	entry := historyEntry{Entry: recording.Entry{Revision: book.Last.Revision, From: book.Last.From, Outcome: recording.Travelling}}
	for _, line := range slices.Backward(book.History) {
		if line.Revision == book.Last.Revision {
			entry = entryOf(line, sides)
			break
		}
	}
	told, err := c.events(ctx, way, tuning, book.Last)
	if err != nil {
		return report.Input{}, historyEntry{}, err
	}
	_, knowsFrom := sides[book.Last.From]
	_, knowsTo := sides[book.Last.Revision]
	return report.Input{
		Tuning: tuning, Recording: book.Last, Entry: entry.Entry, Changes: entry.Values, Fields: entry.Fields,
		KnowsChanges: knowsFrom && knowsTo, Events: told, Now: c.Clock.Now(),
	}, entry, nil
}

// events are those that Kubernetes still has of the time of the recording. They are an extra: without them
// the report is made all the same.
func (c *commands) events(ctx context.Context, way *access, tuning *v1alpha1.MongoTuning, recorded *recording.Recording) ([]report.Event, error) {
	selector := fields.Set{"involvedObject.kind": "MongoTuning", "involvedObject.name": tuning.Name}.AsSelector().String()
	list, err := way.kubernetes.CoreV1().Events(tuning.Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		missing := explained(err, "list events", corev1.SchemeGroupVersion.WithResource("events"), tuning.Namespace)
		return nil, c.warn("the report is without events: " + firstLine(missing))
	}
	var all []report.Event
	for _, event := range list.Items {
		moment := event.EventTime.Time
		if moment.IsZero() {
			moment = event.FirstTimestamp.Time
		}
		const after = 10 * time.Second
		if moment.Before(recorded.Began) || !recorded.Ended.IsZero() && moment.After(recorded.Ended.Add(after)) || event.InvolvedObject.UID != tuning.UID {
			continue
		}
		all = append(all, report.Event{At: moment, Type: event.Type, Reason: event.Reason, Text: event.Message})
	}
	slices.SortStableFunc(all, func(a, b report.Event) int { return a.At.Compare(b.At) })
	return all, nil
}

func reportViewOf(input report.Input, entry historyEntry) reportView {
	recorded := input.Recording
	view := reportView{
		Name: input.Tuning.Name, Namespace: input.Tuning.Namespace, Change: entry,
		Marks: recorded.Marks, Began: recorded.Began, PointsSeconds: recorded.Spacing.Seconds(),
	}
	for _, series := range recorded.Series {
		line := seriesView{Member: series.Member, Gauge: series.Gauge, Limit: series.Limit, Values: make([]*float64, len(series.Values))}
		for i, value := range series.Values {
			if !math.IsNaN(value) {
				line.Values[i] = &value
			}
		}
		view.Series = append(view.Series, line)
	}
	return view
}
