// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// statusView is how one MongoTuning stands.
type statusView struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   string `json:"version"`
	Profile   string `json:"profile,omitempty"`

	// Ready, Reason and Message are those of the condition Ready, or of Suspended while it holds.
	Ready   string `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when the condition turned.
	Since *metav1.Time `json:"since,omitempty"`
	// Outdated tells that the operator has not looked at the newest spec yet.
	Outdated bool `json:"outdated,omitempty"`

	Revisions v1alpha1.RevisionsStatus `json:"revisions"`
	Rollout   *rolloutView             `json:"rollout,omitempty"`
	// Alarms are the conditions that are not as they should be.
	Alarms []alarmView `json:"alarms,omitempty"`

	Proved   string            `json:"proved"`
	Members  []memberView      `json:"members,omitempty"`
	Breaches []v1alpha1.Breach `json:"breaches,omitempty"`
	// Figures says where the live figures were read.
	Figures figuresView `json:"figures"`
}

// rolloutView is a change on its way.
type rolloutView struct {
	Revision       string       `json:"revision"`
	Step           string       `json:"step"`
	Since          *metav1.Time `json:"since,omitempty"`
	AtLeastSeconds int64        `json:"atLeastSeconds,omitempty"`
	Canary         string       `json:"canary,omitempty"`
	Breach         string       `json:"breach,omitempty"`
	BreachedBefore []string     `json:"breachedBefore,omitempty"`
}

type alarmView struct {
	Condition string       `json:"condition"`
	Status    string       `json:"status"`
	Reason    string       `json:"reason"`
	Message   string       `json:"message"`
	Since     *metav1.Time `json:"since,omitempty"`
}

type memberView struct {
	Name           string `json:"name"`
	ReplicaSet     string `json:"replicaSet"`
	Role           string `json:"role"`
	Proved         int32  `json:"proved"`
	Declared       int32  `json:"declared"`
	PendingRestart bool   `json:"pendingRestart,omitempty"`
	Canary         bool   `json:"canary,omitempty"`
	Mismatches     int    `json:"mismatches,omitempty"`

	DirtyCachePercent     *float64 `json:"dirtyCachePercent,omitempty"`
	ReplicationLagSeconds *float64 `json:"replicationLagSeconds,omitempty"`
}

// figuresView says where figures were read and when, or why there are none.
type figuresView struct {
	Source string       `json:"source"`
	At     *metav1.Time `json:"at,omitempty"`
	Hint   string       `json:"hint,omitempty"`
}

func (c *commands) status() *cobra.Command {
	var watch bool
	var every time.Duration
	command := &cobra.Command{
		Use: "status [NAME]", GroupID: groupLook, Args: cobra.MaximumNArgs(1),
		Short: "Show the members, what is proved, and what is waited for since when",
		Long: `Show how a MongoTuning stands: whether it is ready, which step a change has reached and what
is waited for since when; and for each member its role, how many declared values were read back from
the running process, its dirty cache and its replication lag.

Without a name all MongoTunings of the namespace are listed, one line each.`,
		Example: `  kubectl mongotuning status demo
  kubectl mongotuning status demo --watch`,
		ValidArgsFunction: c.completeTunings,
	}
	chosen := addFormat(command)
	command.Flags().BoolVarP(&watch, "watch", "w", false, "show it again whenever the interval is over, until interrupted")
	command.Flags().DurationVar(&every, "interval", 2*time.Second, "time between two looks of --watch, at least 1s")
	command.RunE = func(command *cobra.Command, args []string) error {
		way, err := c.connect()
		if err != nil {
			return err
		}
		look := func(ctx context.Context) (string, error) { return c.overview(ctx, way, *chosen) }
		if len(args) == 1 {
			figures := newFigures(way, c.Clock)
			defer figures.close()
			look = func(ctx context.Context) (string, error) {
				view, err := statusOf(ctx, way, args[0], figures)
				if err != nil {
					return "", err
				}
				return c.rendered(*chosen, view, func(screen *terminal.Screen) { view.show(screen, c.Clock.Now()) })
			}
		}
		if watch {
			return c.watch(command.Context(), max(every, time.Second), look)
		}
		text, err := look(command.Context())
		if err != nil {
			return err
		}
		return c.write(text)
	}
	return command
}

func (c *commands) write(text string) error {
	if _, err := io.WriteString(c.Out, text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Control sequences of ECMA-48: to the upper left corner; to the end of the line, or of the screen, erase.
const (
	home         = "\x1b[H"
	eraseLine    = "\x1b[K"
	eraseBelow   = "\x1b[J"
	eraseAll     = "\x1b[2J"
	hideCursor   = "\x1b[?25l"
	unhideCursor = "\x1b[?25h"
)

// watch shows what look says again and again. On a terminal it is drawn over the last, line by line so
// that it does not flicker; elsewhere one follows the other. A look that fails is shown and tried again:
// somebody who watches a rollout wants to see it come back.
func (c *commands) watch(ctx context.Context, every time.Duration, look func(context.Context) (string, error)) error {
	if c.Terminal {
		if err := c.write(hideCursor + eraseAll); err != nil {
			return err
		}
		defer func() { _ = c.write(unhideCursor) }()
	}
	tick := c.Clock.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		text, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			text = "error: " + err.Error() + "\n"
		}
		if c.Terminal {
			text = home + strings.ReplaceAll(text, "\n", eraseLine+"\n") + eraseBelow
		} else if !first {
			text = "\n" + text
		}
		if err := c.write(text); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
	}
}

func statusOf(ctx context.Context, way *access, name string, figures *figures) (statusView, error) {
	tuning, err := way.tuning(ctx, name)
	if err != nil {
		return statusView{}, err
	}
	view := viewOf(tuning)
	figures.fill(ctx, tuning, &view)
	return view, nil
}

// viewOf is what the object itself says.
func viewOf(tuning *v1alpha1.MongoTuning) statusView {
	status := tuning.Status
	view := statusView{
		Name: tuning.Name, Namespace: tuning.Namespace, Version: tuning.Spec.MongoDB.Version,
		Ready: string(metav1.ConditionUnknown), Outdated: status.ObservedGeneration != tuning.Generation,
		Revisions: status.Revisions, Proved: status.ProvedMembers, Breaches: status.Breaches,
	}
	if ref := tuning.Spec.ProfileRef; ref != nil {
		view.Profile = ref.Name
	}
	if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
		view.Ready, view.Reason, view.Message, view.Since = string(ready.Status), ready.Reason, ready.Message, &ready.LastTransitionTime
	}
	if rollout := status.Rollout; rollout.Step != "" {
		view.Rollout = &rolloutView{
			Revision: rollout.Revision, Step: string(rollout.Step), Since: rollout.Since, Canary: rollout.Canary,
			Breach: rollout.Breach, BreachedBefore: rollout.BreachedBefore,
			AtLeastSeconds: int64(soakOf(rollout.Step, plan.PolicyOf(tuning.Spec.Rollout)) / time.Second),
		}
	}
	for _, alarm := range alarming {
		condition := meta.FindStatusCondition(status.Conditions, alarm.condition)
		if condition != nil && condition.Status == alarm.bad {
			view.Alarms = append(view.Alarms, alarmView{
				Condition: condition.Type, Status: string(condition.Status), Reason: condition.Reason, Message: condition.Message,
				Since: &condition.LastTransitionTime,
			})
		}
	}
	for _, member := range status.Members {
		view.Members = append(view.Members, memberView{
			Name: member.Name, ReplicaSet: member.ReplicaSet, Role: string(member.Role), Proved: member.Proved, Declared: member.Declared,
			PendingRestart: member.PendingRestart, Canary: status.Rollout.Canary == member.Name, Mismatches: len(member.Mismatches),
		})
	}
	return view
}

// alarming are the conditions to show when they stand so. That of Ready is shown anyway, and Stalled says
// the same as Ready.
var alarming = []struct {
	condition string
	bad       metav1.ConditionStatus
}{
	{v1alpha1.ConditionSuspended, metav1.ConditionTrue},
	{v1alpha1.ConditionAvailable, metav1.ConditionFalse},
	{v1alpha1.ConditionRolledBack, metav1.ConditionTrue},
	{v1alpha1.ConditionVerified, metav1.ConditionFalse},
}

// soakOf is how long a step takes at least.
func soakOf(step v1alpha1.RolloutStep, policy plan.Policy) time.Duration {
	switch step {
	case v1alpha1.StepCanarySoak:
		return policy.Soak
	case v1alpha1.StepLeadSoak:
		return policy.LeadSoak
	default:
		return 0
	}
}

func (v statusView) show(screen *terminal.Screen, now time.Time) {
	screen.Line(terminal.Text(v.Name).In(terminal.Bold), terminal.Text(fmt.Sprintf("   namespace %s   MongoDB %s%s", v.Namespace, v.Version, prefixed("   profile ", v.Profile))))
	screen.Line()
	state := fmt.Sprintf("%s%s%s", v.Ready, prefixed("   ", v.Reason), ago("   for ", v.Since, now))
	screen.Line(label("Ready"), terminal.Text(state).In(readyPaint(v.Ready)))
	if v.Message != "" {
		screen.Paragraph(indent, v.Message)
	}
	if v.Outdated {
		screen.Paragraph(indent, "The operator has not looked at the newest spec yet.")
	}
	if v.Rollout != nil {
		v.Rollout.show(screen, now)
	}
	for _, alarm := range v.Alarms {
		if alarm.Condition == v1alpha1.ConditionRolledBack && v.Rollout != nil && v.Rollout.Breach != "" {
			continue // the rollout says so already
		}
		screen.Line(label(alarm.Condition), terminal.Text(alarm.Status+"   "+alarm.Reason+ago("   for ", alarm.Since, now)).In(terminal.Bad))
		if alarm.Message != v.Message {
			screen.Paragraph(indent, alarm.Message)
		}
	}
	screen.Line(label("Proved"), terminal.Text(cmp.Or(v.Proved, "-")+" members   revision "+cmp.Or(v.Revisions.Current, "-")+v.standing()))
	if len(v.Members) > 0 {
		screen.Line()
		v.showMembers(screen)
	}
	if len(v.Breaches) > 0 {
		screen.Line()
		showBreaches(screen, v.Breaches, now)
	}
	if told := cmp.Or(v.Figures.Hint, v.Figures.age(now)); told != "" {
		screen.Line()
		screen.Paragraph("", told)
	}
}

// indent is as wide as the labels.
const indent = "            "

func label(text string) terminal.Cell {
	return terminal.Text(fmt.Sprintf("%-*s", len(indent), text)).In(terminal.Bold)
}

// standing says how the wanted revision stands to the one verified last.
func (v statusView) standing() string {
	switch verified := v.Revisions.Verified; verified {
	case "":
		return ", none verified yet"
	case v.Revisions.Current:
		return ", verified"
	default:
		return ", verified last was " + verified
	}
}

func (r rolloutView) show(screen *terminal.Screen, now time.Time) {
	text := r.Step + ago("   for ", r.Since, now)
	if r.AtLeastSeconds > 0 {
		text += " of at least " + terminal.Span(time.Duration(r.AtLeastSeconds)*time.Second)
	}
	screen.Line(label("Rollout"), terminal.Text(text+prefixed("   canary ", r.Canary)+prefixed("   revision ", r.Revision)))
	if r.Breach != "" {
		screen.Paragraph(indent, "Stopped by: "+r.Breach)
	}
	if len(r.BreachedBefore) > 0 {
		screen.Paragraph(indent, "Out of range before it began: "+strings.Join(r.BreachedBefore, ", ")+". Members restart only after kubectl mongotuning proceed.")
	}
}

func (v statusView) showMembers(screen *terminal.Screen) {
	rows := make([][]terminal.Cell, 0, len(v.Members))
	for _, member := range v.Members {
		rows = append(rows, []terminal.Cell{
			terminal.Text(member.ReplicaSet), terminal.Text(member.Name), terminal.Text(member.Role).In(rolePaint(member.Role)),
			terminal.Number(fmt.Sprintf("%d/%d", member.Proved, member.Declared)).In(provedPaint(member)),
			terminal.Number(figure(member.DirtyCachePercent)), terminal.Number(figure(member.ReplicationLagSeconds)),
			terminal.Text(member.notes()),
		})
	}
	screen.Table([]string{"REPLICA SET", "MEMBER", "ROLE", "PROVED", "DIRTY %", "LAG s", "NOTE"}, rows)
}

func (m memberView) notes() string {
	var notes []string
	if m.Canary {
		notes = append(notes, "canary")
	}
	if m.PendingRestart {
		notes = append(notes, "waits for its restart")
	}
	if m.Mismatches > 0 {
		notes = append(notes, terminal.Count(m.Mismatches, "value")+" not proved")
	}
	return strings.Join(notes, ", ")
}

func showBreaches(screen *terminal.Screen, breaches []v1alpha1.Breach, now time.Time) {
	rows := make([][]terminal.Cell, 0, len(breaches))
	for _, breach := range breaches {
		paint := terminal.Bad
		if breach.Enforcement == v1alpha1.EnforcementReport {
			paint = terminal.Warn
		}
		rows = append(rows, []terminal.Cell{
			terminal.Text(breach.Limit).In(paint), terminal.Text(breach.Member), terminal.Text(string(breach.Gauge)),
			terminal.Number(breach.Found), terminal.Number(breach.Bound), terminal.Number(terminal.Span(now.Sub(breach.Since.Time))), terminal.Text(string(breach.Enforcement)),
		})
	}
	screen.Table([]string{"OUT OF RANGE", "MEMBER", "GAUGE", "FOUND", "LIMIT", "FOR", "ENFORCEMENT"}, rows)
}

// figure is a live figure with one digit, or a dash for one that is not known.
func figure(value *float64) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *value)
}

func readyPaint(ready string) terminal.Paint {
	switch metav1.ConditionStatus(ready) {
	case metav1.ConditionTrue:
		return terminal.Good
	case metav1.ConditionFalse:
		return terminal.Bad
	default:
		return terminal.Warn
	}
}

func rolePaint(role string) terminal.Paint {
	switch v1alpha1.MemberRole(role) {
	case v1alpha1.MemberPrimary:
		return terminal.Bold
	case v1alpha1.MemberSecondary:
		return terminal.Plain
	default:
		return terminal.Bad
	}
}

func provedPaint(member memberView) terminal.Paint {
	if member.Proved < member.Declared {
		return terminal.Warn
	}
	return terminal.Good
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func ago(prefix string, since *metav1.Time, now time.Time) string {
	if since == nil || since.IsZero() {
		return ""
	}
	return prefix + terminal.Span(now.Sub(since.Time))
}

// overview is one line for each MongoTuning of the namespace.
func (c *commands) overview(ctx context.Context, way *access, chosen format) (string, error) {
	tunings, err := way.tunings(ctx, way.namespace)
	if err != nil {
		return "", err
	}
	if len(tunings) == 0 && chosen == formatText {
		return "", fmt.Errorf("there is no MongoTuning in namespace %s; kubectl get mtune -A lists those of all namespaces", way.namespace)
	}
	views := make([]statusView, 0, len(tunings))
	for i := range tunings {
		views = append(views, viewOf(&tunings[i]))
	}
	return c.rendered(chosen, views, func(screen *terminal.Screen) {
		rows := make([][]terminal.Cell, 0, len(views))
		for _, view := range views {
			step := "-"
			if view.Rollout != nil {
				step = view.Rollout.Step + ago(" for ", view.Rollout.Since, c.Clock.Now())
			}
			rows = append(rows, []terminal.Cell{
				terminal.Text(view.Name), terminal.Text(view.Ready).In(readyPaint(view.Ready)), terminal.Text(cmp.Or(view.Reason, "-")),
				terminal.Number(cmp.Or(view.Proved, "-")), terminal.Text(view.Version), terminal.Text(cmp.Or(view.Profile, "-")), terminal.Text(step),
			})
		}
		screen.Table([]string{"NAME", "READY", "REASON", "PROVED", "MONGODB", "PROFILE", "ROLLOUT"}, rows)
	})
}
