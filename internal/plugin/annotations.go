// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// request is what a person asks the operator for by an annotation.
type request struct {
	// annotations to set, or with nil to take away; none when all is so already.
	annotations map[string]any
	// follows says what happens next and what to look at.
	follows []string
}

// ask makes a command that sets annotations. decide says which, from how the object stands.
func (c *commands) ask(command *cobra.Command, decide func(*v1alpha1.MongoTuning) (request, error)) *cobra.Command {
	command.GroupID, command.Args, command.ValidArgsFunction = groupAct, cobra.ExactArgs(1), c.completeTunings
	command.RunE = func(command *cobra.Command, args []string) error {
		return c.request(command.Context(), args[0], decide)
	}
	return command
}

func (c *commands) request(ctx context.Context, name string, decide func(*v1alpha1.MongoTuning) (request, error)) error {
	way, err := c.connect()
	if err != nil {
		return err
	}
	tuning, err := way.tuning(ctx, name)
	if err != nil {
		return err
	}
	asked, err := decide(tuning)
	if err != nil {
		return err
	}
	if len(asked.annotations) > 0 {
		if err := way.annotate(ctx, tuning, asked.annotations); err != nil {
			return err
		}
	}
	return c.say(asked.follows...)
}

func watchHint(tuning *v1alpha1.MongoTuning) string {
	return fmt.Sprintf("Watch it: kubectl mongotuning status %s -n %s --watch", tuning.Name, tuning.Namespace)
}

func (c *commands) suspend() *cobra.Command {
	return c.ask(&cobra.Command{
		Use: "suspend NAME", Short: "Stop every change; looking and judging go on",
		Long: `Stop every change to the cluster, by the annotation ` + v1alpha1.AnnotationSuspend + `. A change on its way stays where
it is. Members are still looked at and judged, and alerts still fire. What is suspended stays so until
kubectl mongotuning resume.`,
	}, suspension)
}

func suspension(tuning *v1alpha1.MongoTuning) (request, error) {
	if isSuspended(tuning) {
		return request{follows: []string{tuning.Name + " is suspended already; nothing was changed."}}, nil
	}
	asked := request{
		annotations: map[string]any{v1alpha1.AnnotationSuspend: "true"},
		follows:     []string{fmt.Sprintf("%s is suspended: the operator finishes the act in hand, a few seconds at most, and changes nothing more. It goes on looking and judging.", tuning.Name)},
	}
	if step := tuning.Status.Rollout.Step; isUnderWay(tuning) {
		asked.follows = append(asked.follows, fmt.Sprintf("The change on its way stays at step %s: members that have it keep it, and it is not taken back by itself while suspended.", step))
	}
	asked.follows = append(asked.follows, fmt.Sprintf("To go on: kubectl mongotuning resume %s -n %s", tuning.Name, tuning.Namespace))
	return asked, nil
}

func (c *commands) resume() *cobra.Command {
	return c.ask(&cobra.Command{
		Use: "resume NAME", Short: "Let changes go on after a suspend",
		Long: `Let changes go on, by taking the annotation ` + v1alpha1.AnnotationSuspend + ` away. What was changed meanwhile, in
the spec or by hand on a server, is then carried out or set back.`,
	}, resumption)
}

func resumption(tuning *v1alpha1.MongoTuning) (request, error) {
	_, annotated := tuning.Annotations[v1alpha1.AnnotationSuspend]
	declared := tuning.Spec.Suspend != nil && *tuning.Spec.Suspend
	switch {
	case declared && !annotated:
		return request{}, fmt.Errorf("%s is suspended by spec.suspend: set it to false where the spec comes from, usually Git; this command only takes the annotation away", tuning.Name)
	case !annotated:
		return request{follows: []string{tuning.Name + " is not suspended; nothing was changed."}}, nil
	}
	asked := request{annotations: map[string]any{v1alpha1.AnnotationSuspend: nil}}
	if declared {
		asked.follows = []string{"The annotation is gone, and " + tuning.Name + " stays suspended by spec.suspend: set it to false where the spec comes from, usually Git."}
		return asked, nil
	}
	asked.follows = []string{tuning.Name + " goes on: " + whatIsNext(tuning), watchHint(tuning)}
	return asked, nil
}

// whatIsNext says what an operator that may act again does.
func whatIsNext(tuning *v1alpha1.MongoTuning) string {
	switch {
	case isUnderWay(tuning):
		return fmt.Sprintf("the change on its way continues at step %s; a soak starts anew only if the operator was restarted meanwhile.", tuning.Status.Rollout.Step)
	case tuning.Status.ObservedGeneration != tuning.Generation:
		return "the newest spec is looked at and, if it changes anything, travels from its canary on."
	default:
		return "values that differ from what is declared are set back, member by member."
	}
}

func (c *commands) retry() *cobra.Command {
	return c.ask(&cobra.Command{
		Use: "retry NAME", Short: "Try a change again that was taken back, paused or held back",
		Long: `Try a revision again that was taken back after a breach, that paused at one, or that is held back because
its profile was taken back on another cluster, by the annotation ` + v1alpha1.AnnotationRetry + `. It travels
from its canary on like the first time.`,
	}, repetition)
}

func repetition(tuning *v1alpha1.MongoTuning) (request, error) {
	status := tuning.Status
	stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	heldBack := stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == v1alpha1.ReasonHeldBack
	revision, why := status.Rollout.Revision, status.Rollout.Breach
	if heldBack {
		revision, why = status.Revisions.Current, stalled.Message
	}
	switch {
	case revision == "" || why == "":
		return request{}, fmt.Errorf("%s has nothing to try again: no change was taken back, paused or held back (%s)", tuning.Name, readySentence(tuning))
	case status.ObservedGeneration != tuning.Generation:
		return request{}, fmt.Errorf("%s has a newer spec that the operator has not looked at yet; it is tried by itself", tuning.Name)
	case status.Rollout.Step == v1alpha1.StepReturning && !heldBack:
		return request{}, fmt.Errorf("%s is still taking revision %s back; try again once kubectl mongotuning status %s shows step %s", tuning.Name, revision, tuning.Name, v1alpha1.StepReturned)
	}
	asked := request{
		annotations: map[string]any{v1alpha1.AnnotationRetry: nextRetry(revision, tuning.Annotations[v1alpha1.AnnotationRetry], status.LastHandledRetry)},
		follows: []string{
			fmt.Sprintf("Revision %s is tried again, from its canary on. What stopped it last time: %s", revision, strings.TrimSuffix(why, ".")+"."),
			"If that has not changed, it will be taken back again.",
		},
	}
	if isSuspended(tuning) {
		asked.follows = append(asked.follows, fmt.Sprintf("%s is suspended, so nothing happens until kubectl mongotuning resume %s.", tuning.Name, tuning.Name))
	}
	asked.follows = append(asked.follows, watchHint(tuning))
	return asked, nil
}

// nextRetry is a value of the retry annotation that names the revision and was not handled yet.
func nextRetry(revision string, used ...string) string {
	highest, isUsed := 1, false
	for _, value := range used {
		named, counter, _ := strings.Cut(value, "/")
		if named != revision {
			continue
		}
		isUsed = true
		if number, err := strconv.Atoi(counter); err == nil {
			highest = max(highest, number)
		}
	}
	if !isUsed {
		return revision
	}
	return fmt.Sprintf("%s/%d", revision, highest+1)
}

func (c *commands) proceed() *cobra.Command {
	return c.ask(&cobra.Command{
		Use: "proceed NAME", Short: "Let a change restart members although a limit was broken before it began",
		Long: `Let a change restart members although a gauge was out of range before the change began, by the annotation
` + v1alpha1.AnnotationProceed + `. Without it only what can be set online goes ahead: the change may be the cure,
and a restart may be the last straw. All other gates stay as they are.`,
	}, consent)
}

func consent(tuning *v1alpha1.MongoTuning) (request, error) {
	status := tuning.Status
	switch broken := status.Rollout.BreachedBefore; {
	case !isUnderWay(tuning):
		return request{}, fmt.Errorf("%s has no change on its way, so nothing waits for consent (%s)", tuning.Name, readySentence(tuning))
	case len(broken) == 0:
		return request{}, fmt.Errorf("%s needs no consent: no limit was broken when the change began; it is at step %s (%s)", tuning.Name, status.Rollout.Step, readySentence(tuning))
	case status.Rollout.Step == v1alpha1.StepReturning:
		return request{}, fmt.Errorf("%s is taking the change back, and a return needs no consent", tuning.Name)
	case tuning.Annotations[v1alpha1.AnnotationProceed] == status.Revisions.Current:
		return request{follows: []string{fmt.Sprintf("%s has your consent for revision %s already; nothing was changed. It is at step %s: %s", tuning.Name, status.Revisions.Current, status.Rollout.Step, readySentence(tuning))}}, nil
	}
	asked := request{
		annotations: map[string]any{v1alpha1.AnnotationProceed: status.Revisions.Current},
		follows: []string{
			fmt.Sprintf("Revision %s may restart members although %s was out of range before it began.", status.Revisions.Current, strings.Join(status.Rollout.BreachedBefore, ", ")),
			"Members restart one at a time, each only while every other member of its replica set serves and is caught up. The consent holds for this revision only.",
		},
	}
	if isSuspended(tuning) {
		asked.follows = append(asked.follows, fmt.Sprintf("%s is suspended, so nothing happens until kubectl mongotuning resume %s.", tuning.Name, tuning.Name))
	}
	asked.follows = append(asked.follows, watchHint(tuning))
	return asked, nil
}

func isSuspended(tuning *v1alpha1.MongoTuning) bool {
	declared := tuning.Spec.Suspend != nil && *tuning.Spec.Suspend
	return declared || tuning.Annotations[v1alpha1.AnnotationSuspend] == "true"
}

// isUnderWay tells that a change travels, also backwards.
func isUnderWay(tuning *v1alpha1.MongoTuning) bool {
	step := tuning.Status.Rollout.Step
	return step != "" && step != v1alpha1.StepReturned
}

// readySentence is what the condition Ready says, for the end of a sentence.
func readySentence(tuning *v1alpha1.MongoTuning) string {
	ready := meta.FindStatusCondition(tuning.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return "the operator has not looked at it yet"
	}
	return cmp.Or(ready.Message, ready.Reason)
}
