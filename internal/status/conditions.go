// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// conditions are all conditions that hold; abnormal-true ones only when they do.
func conditions(facts Facts) []metav1.Condition {
	var all []metav1.Condition
	if len(facts.Cluster.ReplicaSets) > 0 {
		all = append(all, available(facts.Cluster), applied(facts), verified(facts.Cluster))
		if condition, tuned := hostTuned(facts.Cluster); tuned {
			all = append(all, condition)
		}
	} else {
		for _, name := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionApplied, v1alpha1.ConditionVerified} {
			all = append(all, unknown(name, v1alpha1.ReasonMembersUnknown, "there is no tuning to hold the members to"))
		}
	}
	if rollout := facts.progress().Rollout; rollout.Step == v1alpha1.StepReturning || rollout.Step == v1alpha1.StepReturned {
		all = append(all, isTrue(v1alpha1.ConditionRolledBack, v1alpha1.ReasonRolledBack,
			fmt.Sprintf("revision %s was taken back: %s", rollout.Revision, rollout.Breach)))
	}
	stall := stallOf(facts)
	switch {
	case stall != nil:
		all = append(all,
			isTrue(v1alpha1.ConditionStalled, stall.Reason, stall.Message),
			isFalse(v1alpha1.ConditionReady, stall.Reason, stall.Message))
	case facts.Suspended:
		// Ready keeps its last value: Flux would wait for one that turned Unknown.
	case facts.Action.Kind == plan.Nothing:
		all = append(all, isTrue(v1alpha1.ConditionReady, facts.Action.Reason, facts.Action.Message))
	default:
		all = append(all,
			isTrue(v1alpha1.ConditionReconciling, facts.Action.Reason, facts.Action.Message),
			unknown(v1alpha1.ConditionReady, facts.Action.Reason, facts.Action.Message))
	}
	if facts.Suspended {
		all = append(all, isTrue(v1alpha1.ConditionSuspended, v1alpha1.ReasonSuspendedByUser,
			"changes are suspended; looking and judging go on. Set spec.suspend to false or remove the annotation "+v1alpha1.AnnotationSuspend+" to go on"))
	}
	return all
}

// available says whether every replica set has a primary and mongos answers.
func available(cluster plan.Cluster) metav1.Condition {
	for _, set := range cluster.ReplicaSets {
		if set.Seen.Primary() != nil {
			continue
		}
		if set.Seen.Initiated() || set.Seen.UninitiatedWhole() {
			return isFalse(v1alpha1.ConditionAvailable, v1alpha1.ReasonNoPrimary, "replica set "+set.Name+" has no primary")
		}
		return unknown(v1alpha1.ConditionAvailable, v1alpha1.ReasonMembersUnknown, "no member of replica set "+set.Name+" answers")
	}
	if !cluster.Mongos.Answered {
		return isFalse(v1alpha1.ConditionAvailable, v1alpha1.ReasonMongosUnavailable, "no mongos answers: "+cluster.Mongos.Error)
	}
	return isTrue(v1alpha1.ConditionAvailable, v1alpha1.ReasonAllMembersServe, "every replica set has a primary and mongos answers")
}

// applied says whether every member has the newest file and runs on the newest template.
func applied(facts Facts) metav1.Condition {
	if rollout := facts.progress().Rollout; rollout.Step != "" {
		return isFalse(v1alpha1.ConditionApplied, v1alpha1.ReasonApplying, fmt.Sprintf("revision %s has come to step %s", rollout.Revision, rollout.Step))
	}
	var pending []string
	for _, set := range facts.Cluster.ReplicaSets {
		for _, member := range set.Seen.Members {
			switch {
			case !member.Pod.Exists:
				return unknown(v1alpha1.ConditionApplied, v1alpha1.ReasonBuilding, "pod "+member.Name+" does not exist yet")
			case member.Pod.TemplateHash != set.TemplateHash || set.Verdicts[member.Name].NeedsRestart():
				pending = append(pending, member.Name)
			case set.Verdicts[member.Name].NeedsSetting():
				return isFalse(v1alpha1.ConditionApplied, v1alpha1.ReasonApplying, member.Name+" does not run on the declared values yet")
			}
		}
	}
	if len(pending) > 0 {
		return isFalse(v1alpha1.ConditionApplied, v1alpha1.ReasonRestartPending,
			fmt.Sprintf("%d members wait for a restart, the first is %s", len(pending), pending[0]))
	}
	return isTrue(v1alpha1.ConditionApplied, v1alpha1.ReasonApplied, "every member runs on the newest file and template")
}

// verified says whether every declared value is in force and every gauge in range; a difference weighs
// more than a breach, and both more than silence.
func verified(cluster plan.Cluster) metav1.Condition {
	silent := ""
	for _, set := range cluster.ReplicaSets {
		for _, member := range set.Seen.Members {
			verdict := set.Verdicts[member.Name]
			if verdict.Unknown != "" && silent == "" {
				silent = fmt.Sprintf("%s could not be judged: %s", member.Name, verdict.Unknown)
			}
			for _, knob := range verdict.Knobs {
				switch knob.Verdict {
				case v1alpha1.KnobMismatched, v1alpha1.KnobPendingRestart:
					return isFalse(v1alpha1.ConditionVerified, v1alpha1.ReasonKnobMismatch,
						fmt.Sprintf("%s on %s is %q, declared is %q (%s)", knob.Name, member.Name, knob.Found, knob.Wanted, knob.Evidence))
				case v1alpha1.KnobUnknown:
					if silent == "" {
						silent = fmt.Sprintf("%s on %s could not be read: %s", knob.Name, member.Name, knob.Evidence)
					}
				case v1alpha1.KnobProved, v1alpha1.KnobUnverifiable, v1alpha1.KnobNotApplicable:
				}
			}
		}
	}
	breaches := cluster.Gauges.BreachOfEachLimit()
	switch {
	case len(breaches) > 0:
		return isFalse(v1alpha1.ConditionVerified, breaches[0].Reason(), breachSentences(breaches))
	case silent != "":
		return unknown(v1alpha1.ConditionVerified, v1alpha1.ReasonMembersUnknown, silent)
	}
	return measured(cluster.Gauges)
}

// toldBreaches is of how many limits a condition tells the breach; status.breaches has all.
const toldBreaches = 3

// breachSentences tell the breaches of limits, one for each: what breaks together often has one cause.
func breachSentences(breaches []verify.Judgement) string {
	var sentences []string
	for _, breach := range breaches[:min(len(breaches), toldBreaches)] {
		sentences = append(sentences, breach.Sentence())
	}
	if more := len(breaches) - toldBreaches; more > 0 {
		sentences = append(sentences, fmt.Sprintf("%d more limits are broken, see status.breaches", more))
	}
	return strings.Join(sentences, "; ")
}

// measured says whether every gauge is in range, where no knob differs and no limit is breached.
func measured(gauges verify.ClusterGauges) metav1.Condition {
	missing := gauges.Unknown()
	switch {
	case missing == nil:
		return isTrue(v1alpha1.ConditionVerified, v1alpha1.ReasonVerified,
			"every declared value was read back from every member, and every gauge is in range")
	case missing.Measurement.IsTooEarly():
		return unknown(v1alpha1.ConditionVerified, v1alpha1.ReasonFirstSample, missing.UnknownSentence())
	default:
		return unknown(v1alpha1.ConditionVerified, v1alpha1.ReasonGaugeUnknown, missing.UnknownSentence())
	}
}

func isTrue(name, reason, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func isFalse(name, reason, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func unknown(name, reason, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}
