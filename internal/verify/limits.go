// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// Limit is what a gauge of one member is held to, with every default filled in.
type Limit struct {
	Name  string
	Gauge v1alpha1.Gauge
	// Bound in the unit of the gauge; a value on it is in range.
	Bound float64
	// IsMin tells that the bound is the least value in range rather than the greatest.
	IsMin bool
	// For is how long the gauge has to be out of range before that is a breach, and in range before the
	// breach is over.
	For         time.Duration
	Scope       v1alpha1.LimitScope
	Enforcement v1alpha1.Enforcement
	// Source says where the bound of a built-in limit comes from, empty for a declared one.
	Source string
}

const (
	// defaultPeriod is the time between two looks when nobody declares it.
	defaultPeriod = 10 * time.Second
	// defaultFor is how long a gauge has to be out of range when nobody declares it: three looks, so that
	// a single spike is none.
	defaultFor = 30 * time.Second
)

// Period is the time between two looks.
func Period(spec *v1alpha1.VerificationSpec) time.Duration {
	if spec == nil || spec.PeriodSeconds == nil {
		return defaultPeriod
	}
	return time.Duration(*spec.PeriodSeconds) * time.Second
}

// Limits are what a member is held to: the built-in limits, which follow the tuning in force on that
// member, each replaced by a declared one of its name, then the other declared ones. Those that are Off
// or do not concern the member are left out.
func Limits(spec *v1alpha1.VerificationSpec, subject Subject) []Limit {
	limits := builtInLimits(subject)
	if spec != nil {
		for _, declared := range spec.Limits {
			limit := declaredLimit(declared)
			i := slices.IndexFunc(limits, func(other Limit) bool { return other.Name == limit.Name })
			if i >= 0 {
				limits[i] = limit
			} else {
				limits = append(limits, limit)
			}
		}
	}
	limits = slices.DeleteFunc(limits, func(limit Limit) bool {
		return limit.Enforcement == v1alpha1.EnforcementOff || !subject.isIn(limit.Scope)
	})
	return append(limits, subject.Before.limits(subject, limits)...)
}

func declaredLimit(declared v1alpha1.Limit) Limit {
	limit := Limit{
		Name: declared.Name, Gauge: declared.Gauge, For: defaultFor,
		Scope: v1alpha1.ScopeShardMembers, Enforcement: v1alpha1.EnforcementEnforce,
	}
	switch {
	case declared.Max != nil:
		limit.Bound = float64(*declared.Max)
	case declared.Min != nil:
		limit.Bound, limit.IsMin = float64(*declared.Min), true
	}
	if declared.ForSeconds != nil {
		limit.For = time.Duration(*declared.ForSeconds) * time.Second
	}
	if declared.Scope != "" {
		limit.Scope = declared.Scope
	}
	if declared.Enforcement != "" {
		limit.Enforcement = declared.Enforcement
	}
	return limit
}

func (s Subject) isIn(scope v1alpha1.LimitScope) bool {
	shard := s.Set.Component == v1alpha1.ComponentShardMember
	switch scope {
	case v1alpha1.ScopePrimaries:
		return shard && s.Member.Look.State == observed.StatePrimary
	case v1alpha1.ScopeSecondaries:
		return shard && s.Member.Look.State == observed.StateSecondary
	case v1alpha1.ScopeConfigServers:
		return s.Set.Component == v1alpha1.ComponentConfigServer
	case v1alpha1.ScopeAllMembers:
		return true
	case v1alpha1.ScopeShardMembers:
		return shard
	default:
		return shard
	}
}

// allows tells whether a value is in range.
func (l Limit) allows(value float64) bool {
	if l.IsMin {
		return value >= l.Bound
	}
	return value <= l.Bound
}

// share is a numeric knob in force on a member that answers, nil when there is none: a value that nobody
// has read is no value in force.
func (s Subject) share(name string) *float64 {
	if _, _, ok := s.status(); !ok {
		return nil
	}
	value, ok := s.inForce(name)
	if !ok {
		return nil
	}
	return &value
}

// inForce is the value of a numeric knob on the member: what the process reports, else what it is held
// to, else the server's default. ok is false when none of them is a number.
func (s Subject) inForce(name string) (value float64, ok bool) {
	row, known := catalog.Lookup(name)
	if !known {
		return 0, false
	}
	row = row.On(s.Line)
	for _, candidate := range []catalog.Value{row.Read(s.Member.Look.Process).Value, s.Settings[name], row.Default} {
		if value, ok = candidate.AsFloat(); ok {
			return value, true
		}
	}
	return 0, false
}
