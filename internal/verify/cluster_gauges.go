// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// MemberGauges is everything measured on one member and how it stands to the limits.
type MemberGauges struct {
	Member, ReplicaSet string
	// Measurements of every gauge, in the order of Gauges.
	Measurements []Measurement
	// Judgements of every limit the member is held to.
	Judgements []Judgement
	// DirtyTarget and DirtyTrigger are the shares of the cache in percent between which background
	// eviction and then client threads write dirty pages, as in force on the member. nil when the server
	// has neither shown them nor a default for them.
	DirtyTarget, DirtyTrigger *float64
}

// ClusterGauges is that of every member, in the order in which they were seen.
type ClusterGauges struct {
	Members []MemberGauges
	// Watches is what has to be remembered until the next look.
	Watches map[WatchKey]Watch
}

// JudgeGauges measures every gauge of every member and holds it to the limits. breaches are those that
// status has, watches what was remembered of the last look.
func JudgeGauges(spec *v1alpha1.VerificationSpec, subjects []Subject, breaches []v1alpha1.Breach, watches map[WatchKey]Watch) ClusterGauges {
	judged := ClusterGauges{Watches: map[WatchKey]Watch{}}
	for _, subject := range subjects {
		member := MemberGauges{
			Member: subject.Member.Name, ReplicaSet: subject.Set.Name, Measurements: measureAll(subject),
			DirtyTarget: subject.share(catalog.EvictionDirtyTarget), DirtyTrigger: subject.share(catalog.EvictionDirtyTrigger),
		}
		for _, limit := range Limits(spec, subject) {
			key := WatchKey{Limit: limit.Name, Member: member.Member}
			judgement, watch := judge(limit, member.measurement(limit.Gauge), watches[key], recordedBreach(breaches, limit, member.Member), subject.Now)
			judgement.Member = member.Member
			member.Judgements = append(member.Judgements, judgement)
			if watch != (Watch{}) {
				judged.Watches[key] = watch
			}
		}
		judged.Members = append(judged.Members, member)
	}
	return judged
}

func (m MemberGauges) measurement(name v1alpha1.Gauge) Measurement {
	i := slices.IndexFunc(m.Measurements, func(other Measurement) bool { return other.Gauge == name })
	if i < 0 {
		return unmeasured(NotShown, "there is no gauge of this name")
	}
	return m.Measurements[i]
}

// Judgement finds the judgement over a limit by its name.
func (m MemberGauges) Judgement(limit string) (Judgement, bool) {
	i := slices.IndexFunc(m.Judgements, func(other Judgement) bool { return other.Name == limit })
	if i < 0 {
		return Judgement{}, false
	}
	return m.Judgements[i], true
}

// Of is what was found on one member.
func (c ClusterGauges) Of(member string) MemberGauges {
	i := slices.IndexFunc(c.Members, func(other MemberGauges) bool { return other.Member == member })
	if i < 0 {
		return MemberGauges{Member: member}
	}
	return c.Members[i]
}

// Breach is the first breach of an enforced limit on the member, nil when there is none.
func (m MemberGauges) Breach() *Judgement {
	return m.first(func(j Judgement) bool { return j.Verdict == Breached })
}

// BreachOfEachLimit are the first breaches of each enforced limit, in the order of Breach.
func (c ClusterGauges) BreachOfEachLimit() []Judgement {
	var found []Judgement
	for _, member := range c.Members {
		for _, judgement := range member.Judgements {
			isNew := !slices.ContainsFunc(found, func(other Judgement) bool { return other.Name == judgement.Name })
			if judgement.Verdict == Breached && judgement.Enforcement == v1alpha1.EnforcementEnforce && isNew {
				found = append(found, judgement)
			}
		}
	}
	return found
}

// Unknown is the first enforced limit that nothing is known about, nil when there is none. One for which
// only a second sample is missing comes last.
func (m MemberGauges) Unknown() *Judgement {
	if lasting := m.first(func(j Judgement) bool { return j.Verdict == UnknownVerdict && !j.Measurement.IsTooEarly() }); lasting != nil {
		return lasting
	}
	return m.first(func(j Judgement) bool { return j.Verdict == UnknownVerdict })
}

// Pending is the first enforced limit whose gauge is out of range, not yet for long enough.
func (m MemberGauges) Pending() *Judgement {
	return m.first(func(j Judgement) bool { return j.Verdict == Pending })
}

func (m MemberGauges) first(holds func(Judgement) bool) *Judgement {
	for i, judgement := range m.Judgements {
		if judgement.Enforcement == v1alpha1.EnforcementEnforce && holds(judgement) {
			return &m.Judgements[i]
		}
	}
	return nil
}

// Breach is the first breach of an enforced limit, nil when there is none.
func (c ClusterGauges) Breach() *Judgement {
	for _, member := range c.Members {
		if breach := member.Breach(); breach != nil {
			return breach
		}
	}
	return nil
}

// Unknown is the first enforced limit that nothing is known about, nil when there is none; one for which
// only a second sample is missing comes last.
func (c ClusterGauges) Unknown() *Judgement {
	var early *Judgement
	for _, member := range c.Members {
		unknown := member.Unknown()
		switch {
		case unknown == nil:
		case !unknown.Measurement.IsTooEarly():
			return unknown
		case early == nil:
			early = unknown
		}
	}
	return early
}

// mostBreaches bounds the list in status; enforced ones are kept first.
const mostBreaches = 512

// Breaches are all breaches as status keeps them.
func (c ClusterGauges) Breaches() []v1alpha1.Breach {
	var enforced, reported []v1alpha1.Breach
	for _, member := range c.Members {
		for _, judgement := range member.Judgements {
			switch {
			case judgement.Verdict != Breached:
			case judgement.Enforcement == v1alpha1.EnforcementEnforce:
				enforced = append(enforced, judgement.Breach())
			default:
				reported = append(reported, judgement.Breach())
			}
		}
	}
	all := append(enforced, reported...)
	return all[:min(len(all), mostBreaches)]
}
