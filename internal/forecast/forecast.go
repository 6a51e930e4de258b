// SPDX-License-Identifier: Apache-2.0

// Package forecast says what a changed MongoTuning would do before anybody applies it: which values change
// and how each comes into force, which members restart in which order, what becomes of caches and memory
// limits. It works from the rows of the catalogue and the templates that the operator itself uses. It is
// pure, and applies nothing.
package forecast

import (
	"maps"
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/profile"
	"github.com/mongotuning/mongotuning/internal/revision"
)

// Side is a MongoTuning with its resolved tuning, before or after the change.
type Side struct {
	Tuning   *v1alpha1.MongoTuning
	Resolved profile.Resolved
}

func (s Side) cluster() desired.Cluster {
	return desired.Cluster{Tuning: s.Tuning, Resolved: s.Resolved}
}

// Effect is how a changed value comes into force.
type Effect string

// The effects.
const (
	// Online means that running processes take it.
	Online Effect = "Online"
	// Restart means that members restart one by one.
	Restart Effect = "Restart"
	// Roll means that the mongos Deployment rolls.
	Roll Effect = "Roll"
	// NoEffect means that no server of this version does anything with it.
	NoEffect Effect = "NoEffect"
	// Released means that nobody holds the members to a value any more: it is no longer declared, and its
	// default depends on the machine. What is in force stays until the member starts anew.
	Released Effect = "Released"
	// Operator means that only the operator does something else than before.
	Operator Effect = "Operator"
)

// Change is one knob of one kind of process.
type Change struct {
	Component v1alpha1.Component `json:"component"`
	Knob      string             `json:"knob"`
	// From and To are values; an undeclared one is the server's default, as the flags tell.
	From        string `json:"from"`
	To          string `json:"to"`
	FromDefault bool   `json:"fromDefault,omitempty"`
	ToDefault   bool   `json:"toDefault,omitempty"`
	Effect      Effect `json:"effect"`
	// Source says where the new value comes from.
	Source v1alpha1.ValueSource `json:"source,omitempty"`
	Note   string               `json:"note,omitempty"`
}

// Forecast is what a change would do.
type Forecast struct {
	// Revision is the name of what would travel, From that of what is in force.
	Revision string `json:"revision"`
	From     string `json:"from,omitempty"`
	// IsNew tells that there is no such object yet: everything is built.
	IsNew bool `json:"new,omitempty"`
	// Changes of knobs, Fields of the rest of the spec.
	Changes []Change      `json:"changes,omitempty"`
	Fields  []FieldChange `json:"fields,omitempty"`
	// Memory says what becomes of caches and memory limits.
	Memory []Memory `json:"memory,omitempty"`
	// Steps the change travels in; none when nothing has to travel.
	Steps []Step `json:"steps,omitempty"`
	// Restarted are the members that restart, in their order.
	Restarted []string `json:"restarted,omitempty"`
	// RolesUnknown tells that it is not known who leads, so that the first of each set is taken for it.
	RolesUnknown bool `json:"rolesUnknown,omitempty"`
	// Notes are what to know besides.
	Notes []string `json:"notes,omitempty"`
}

// IsEmpty tells that the change does nothing at all.
func (f Forecast) IsEmpty() bool {
	return !f.IsNew && len(f.Changes) == 0 && len(f.Fields) == 0 && len(f.Steps) == 0
}

// Between says what it would do to bring a cluster from one side to the other. before.Tuning is nil when
// there is no such object.
func Between(before, after Side) Forecast {
	forecast := Forecast{Revision: revision.Name(after.Tuning, after.Resolved), IsNew: before.Tuning == nil}
	forecast.Notes = append(forecast.Notes, after.Resolved.Warnings...)
	if forecast.IsNew {
		forecast.Changes = declared(after)
		return forecast
	}
	forecast.From = revision.Name(before.Tuning, before.Resolved)
	forecast.Changes = changes(before, after)
	forecast.Fields = fieldChanges(before.Tuning.Spec, after.Tuning.Spec)
	forecast.Memory = memoryChanges(before, after)
	journey := journeyOf(before, after, forecast.Changes)
	forecast.Steps, forecast.Restarted = journey.steps, journey.restarted
	forecast.RolesUnknown = len(before.Tuning.Status.Members) == 0
	return forecast
}

// components in the order in which a change reaches them.
var components = []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer, v1alpha1.ComponentMongos}

// declared are all values of a new cluster, which are there from the start.
func declared(after Side) []Change {
	var all []Change
	for _, component := range components {
		settings := after.Resolved.Settings[component]
		for _, name := range settings.Names() {
			knob, _ := catalog.Lookup(name)
			all = append(all, Change{
				Component: component, Knob: name, To: string(settings[name]), Effect: effectOf(knob, component, false),
				From: string(knob.On(after.Resolved.Version.Line()).Default), FromDefault: true,
				Source: after.Resolved.Sources[component][name], Note: noteOf(knob, settings[name]),
			})
		}
	}
	return all
}

// changes are the knobs that differ.
func changes(before, after Side) []Change {
	var all []Change
	line := after.Resolved.Version.Line()
	for _, component := range components {
		from, to := before.Resolved.Settings[component], after.Resolved.Settings[component]
		for _, name := range union(from, to) {
			if from[name] == to[name] {
				continue
			}
			knob, _ := catalog.Lookup(name)
			knob = knob.On(line)
			change := Change{
				Component: component, Knob: name, From: string(from[name]), To: string(to[name]),
				Source: after.Resolved.Sources[component][name], Note: noteOf(knob, to[name]),
			}
			if !from.Declares(name) {
				change.From, change.FromDefault = string(knob.Default), true
			}
			if !to.Declares(name) {
				change.To, change.ToDefault = string(knob.Default), true
			}
			change.Effect = effectOf(knob, component, change.ToDefault && knob.Default == "")
			all = append(all, change)
		}
	}
	return all
}

// union are the knobs that one of the settings declares, in the order of the table.
func union(a, b catalog.Settings) []string {
	both := maps.Clone(b)
	if both == nil {
		both = catalog.Settings{}
	}
	maps.Copy(both, a)
	return both.Names()
}

func effectOf(knob catalog.Knob, component v1alpha1.Component, isReleased bool) Effect {
	switch {
	case !knob.HasEffect():
		return NoEffect
	case component == v1alpha1.ComponentMongos:
		return Roll
	case knob.NeedsRestart():
		return Restart
	case isReleased:
		return Released
	default:
		return Online
	}
}

func noteOf(knob catalog.Knob, value catalog.Value) string {
	if value == "" || value == knob.Inert {
		return ""
	}
	return knob.Note
}

// Memory is the direction in which cache and memory limit of one kind of process go.
type Memory struct {
	Component v1alpha1.Component `json:"component"`
	// Caches in GB, limits as declared; empty for none.
	CacheFrom string `json:"cacheFrom"`
	CacheTo   string `json:"cacheTo"`
	LimitFrom string `json:"limitFrom,omitempty"`
	LimitTo   string `json:"limitTo,omitempty"`
	// Order says what comes first on each member, so that no cache outgrows its limit.
	Order string `json:"order"`
}

func memoryChanges(before, after Side) []Memory {
	var all []Memory
	for _, component := range components[:2] {
		change := Memory{
			Component: component,
			CacheFrom: string(before.Resolved.Settings[component][catalog.CacheSizeGB]),
			CacheTo:   string(after.Resolved.Settings[component][catalog.CacheSizeGB]),
		}
		from, to := limitOf(before.Tuning, component), limitOf(after.Tuning, component)
		change.LimitFrom, change.LimitTo = from.text, to.text
		if change.CacheFrom == change.CacheTo && from.bytes == to.bytes {
			continue
		}
		change.Order = orderOf(change, from.bytes, to.bytes)
		all = append(all, change)
	}
	return all
}

type limit struct {
	text  string
	bytes int64
}

func limitOf(tuning *v1alpha1.MongoTuning, component v1alpha1.Component) limit {
	resources := tuning.Spec.Shards.Resources
	if component == v1alpha1.ComponentConfigServer {
		resources = tuning.Spec.ConfigServers.Resources
	}
	if resources.Limits.Memory == nil {
		return limit{}
	}
	return limit{text: resources.Limits.Memory.String(), bytes: resources.Limits.Memory.Value()}
}

func orderOf(change Memory, from, to int64) string {
	cacheFrom, _ := catalog.Value(change.CacheFrom).AsFloat()
	cacheTo, _ := catalog.Value(change.CacheTo).AsFloat()
	grows := to == 0 && from != 0 || from != 0 && to > from
	switch {
	case from == to && cacheTo > cacheFrom:
		return "the cache grows online, within the same limit"
	case from == to:
		return "the cache shrinks online, within the same limit"
	case cacheFrom == cacheTo && grows:
		return "the limit is raised by the restart, the cache stays"
	case cacheFrom == cacheTo:
		return "the limit is lowered by the restart, the cache stays"
	case grows && cacheTo > cacheFrom:
		return "the limit is raised first, by the restart, then the cache grows online"
	case grows:
		return "the cache shrinks online, the limit is raised by the restart"
	case cacheTo > cacheFrom:
		return "the limit is lowered by the restart, then the cache grows online"
	default:
		return "the cache shrinks first, online, then the limit is lowered by the restart"
	}
}

// differs tells that one kind of process has other values.
func differs(changes []Change, component v1alpha1.Component) bool {
	return slices.ContainsFunc(changes, func(change Change) bool { return change.Component == component })
}
