// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
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
