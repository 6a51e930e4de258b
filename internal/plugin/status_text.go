// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

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
