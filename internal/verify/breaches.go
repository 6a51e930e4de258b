// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Verdict is how a gauge stands to a limit.
type Verdict string

// The verdicts.
const (
	// InRange means that the gauge is on the good side of its bound.
	InRange Verdict = "InRange"
	// Pending means that it is out of range, and not for long enough yet.
	Pending Verdict = "Pending"
	// Breached means that it was out of range for long enough, and has not been back for as long. No
	// answer does not end a breach.
	Breached Verdict = "Breached"
	// UnknownVerdict means that nothing is known. It never opens a gate.
	UnknownVerdict Verdict = "Unknown"
)

// Verdicts are all of them.
func Verdicts() []Verdict {
	return []Verdict{InRange, Pending, Breached, UnknownVerdict}
}

// Watch is what has to be remembered of one limit on one member between looks.
type Watch struct {
	// OutSince is when the gauge left its range, with Found; BackSince when it came back during a breach.
	OutSince, BackSince time.Time
	// Found and Bound are value and limit at OutSince, with their units.
	Found, Bound string
}

// WatchKey names a limit on a member.
type WatchKey struct {
	Limit, Member string
}

// Judgement is one limit on one member.
type Judgement struct {
	Limit
	Member  string
	Verdict Verdict
	// Measurement is what the verdict follows from.
	Measurement Measurement
	// Since, Found and BoundText are those of the moment at which the gauge left its range; set while
	// the verdict is Pending or Breached.
	Since            time.Time
	Found, BoundText string
}

// judge holds one measurement against one limit. recorded is the breach that status has of it, nil when
// there is none: it survives a restart of the operator, what is pending does not.
func judge(limit Limit, measurement Measurement, watch Watch, recorded *v1alpha1.Breach, now time.Time) (Judgement, Watch) {
	judgement := Judgement{Limit: limit, Measurement: measurement}
	if recorded != nil {
		watch.OutSince, watch.Found, watch.Bound = recorded.Since.Time, recorded.Found, recorded.Bound
	}
	switch {
	case measurement.State == Unmeasured:
		judgement.Verdict = UnknownVerdict
		if recorded != nil {
			judgement.Verdict = Breached
		}
	case measurement.State == Measured && !limit.allows(measurement.Value):
		if watch.OutSince.IsZero() || isOver(recorded, watch) {
			watch = newWatch(limit, measurement, now)
		}
		watch.BackSince = time.Time{}
		judgement.Verdict = Pending
		if recorded != nil || now.Sub(watch.OutSince) >= limit.For {
			judgement.Verdict = Breached
		}
	case recorded != nil:
		judgement.Verdict, watch = back(limit, watch, now)
	default:
		judgement.Verdict, watch = InRange, Watch{}
	}
	if judgement.Verdict == Pending || judgement.Verdict == Breached {
		judgement.Since, judgement.Found, judgement.BoundText = watch.OutSince, watch.Found, watch.Bound
	}
	return judgement, watch
}

// back is what becomes of a breach while the gauge is in range. Since when it is back stays known until status
// has it: what is written may be refused.
func back(limit Limit, watch Watch, now time.Time) (Verdict, Watch) {
	if watch.BackSince.IsZero() {
		watch.BackSince = now
	}
	if now.Sub(watch.BackSince) >= limit.For {
		return InRange, watch
	}
	return Breached, watch
}

// isOver tells that a breach has ended, and that status has it.
func isOver(recorded *v1alpha1.Breach, watch Watch) bool {
	return recorded == nil && !watch.BackSince.IsZero()
}

func newWatch(limit Limit, measurement Measurement, now time.Time) Watch {
	gauge, _ := GaugeOf(limit.Gauge)
	// Status keeps whole seconds.
	return Watch{
		OutSince: now.Truncate(time.Second),
		Found:    gauge.textBeside(measurement.Value, limit.Bound), Bound: gauge.Text(limit.Bound),
	}
}

// Breach is the judgement as status keeps it.
func (j Judgement) Breach() v1alpha1.Breach {
	return v1alpha1.Breach{
		Limit: j.Name, Member: j.Member, Gauge: j.Gauge, Found: j.Found, Bound: j.BoundText,
		Enforcement: j.Enforcement, Since: metav1.NewTime(j.Since),
	}
}

// Reason is the reason of the condition Verified when the limit is breached.
func (j Judgement) Reason() string {
	gauge, _ := GaugeOf(j.Gauge)
	reason := gauge.above
	if j.IsMin {
		reason = gauge.below
	}
	if reason == "" {
		return v1alpha1.ReasonGaugeOutOfRange
	}
	return reason
}

// IsBreachReason tells whether a reason of the condition Verified is that of a breach.
func IsBreachReason(reason string) bool {
	return reason == v1alpha1.ReasonGaugeOutOfRange || reason != "" && slices.ContainsFunc(gauges, func(gauge Gauge) bool {
		return gauge.above == reason || gauge.below == reason
	})
}

// Sentence says what left its range, with the number and the limit of that moment. It stays the same as
// long as the breach lasts.
func (j Judgement) Sentence() string {
	gauge, _ := GaugeOf(j.Gauge)
	left := "rose above"
	if j.IsMin {
		left = "fell below"
	}
	return fmt.Sprintf("%s of %s was %s when it %s the limit of %s", gauge.noun, j.Member, j.Found, left, j.BoundText)
}

// UnknownSentence says what could not be measured and why.
func (j Judgement) UnknownSentence() string {
	gauge, _ := GaugeOf(j.Gauge)
	return fmt.Sprintf("%s of %s could not be measured: %s", gauge.noun, j.Member, j.Measurement.Evidence)
}

func recordedBreach(breaches []v1alpha1.Breach, limit Limit, member string) *v1alpha1.Breach {
	i := slices.IndexFunc(breaches, func(breach v1alpha1.Breach) bool {
		return breach.Limit == limit.Name && breach.Member == member && breach.Gauge == limit.Gauge
	})
	if i < 0 {
		return nil
	}
	return &breaches[i]
}
