// SPDX-License-Identifier: Apache-2.0

// Package profile lays a TuningProfile and the overrides of a MongoTuning together into one resolved
// tuning, and refuses what contradicts itself or what the server version cannot do. It is pure.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
)

// Resolved is a tuning with nothing left open: every declared value of every component.
type Resolved struct {
	// Version of the servers the tuning was checked against.
	Version catalog.Version `json:"version"`
	// Settings by component.
	Settings map[v1alpha1.Component]catalog.Settings `json:"settings"`
	// Sources of the values, by component and knob.
	Sources map[v1alpha1.Component]map[string]v1alpha1.ValueSource `json:"sources"`
	// Host is what nodes are set to; nil while host tuning is off.
	Host *v1alpha1.HostTuningSpec `json:"host,omitempty"`
	// Warnings are what to know about the tuning although it can be declared, each with the path of the
	// field below spec.
	Warnings []string `json:"warnings,omitempty"`
}

// RefusedError says why a tuning cannot be declared.
type RefusedError struct {
	// Reason is the condition reason: KnobUnsupported or InvalidTuning.
	Reason string
	// Problems found, each with the path of the field below spec.
	Problems []string
}

// Error is all problems in one sentence each.
func (e *RefusedError) Error() string {
	return strings.Join(e.Problems, "; ")
}

// blocks of one component: where its values can come from and what its container may use.
type blocks struct {
	component v1alpha1.Component
	path      string
	base      any
	override  any
	limits    catalog.ContainerLimits
	hasCache  bool
}

// Resolve lays the profile (nil when none is referred to) and the overrides of spec together. It
// returns a *RefusedError that names every problem when the result cannot be declared.
func Resolve(spec v1alpha1.MongoTuningSpec, base *v1alpha1.TuningProfileSpec) (Resolved, error) {
	version, err := catalog.ParseVersion(spec.MongoDB.Version)
	if err != nil {
		return Resolved{}, &RefusedError{Reason: v1alpha1.ReasonInvalidTuning, Problems: []string{"mongodb.version: " + err.Error()}}
	}
	if base == nil {
		base = &v1alpha1.TuningProfileSpec{}
	}
	resolved := Resolved{
		Version:  version,
		Settings: map[v1alpha1.Component]catalog.Settings{},
		Sources:  map[v1alpha1.Component]map[string]v1alpha1.ValueSource{},
	}
	resolved.Host = hostTuning(spec.HostTuning)
	refused := &RefusedError{Reason: v1alpha1.ReasonKnobUnsupported}
	for _, b := range componentBlocks(spec, base) {
		settings, sources, err := b.overlay()
		if err != nil {
			return Resolved{}, err
		}
		for _, problem := range b.complete(version.Line(), settings, sources) {
			refused.Problems = append(refused.Problems, b.path+problem.String())
			if !problem.Unsupported {
				refused.Reason = v1alpha1.ReasonInvalidTuning
			}
		}
		for _, warning := range catalog.Warnings(b.component, version.Line(), settings, b.limits) {
			resolved.Warnings = append(resolved.Warnings, b.path+warning.String())
		}
		resolved.Settings[b.component] = settings
		resolved.Sources[b.component] = sources
	}
	if problems := limitProblems(spec.Verification, version.Line(), resolved.Settings[v1alpha1.ComponentShardMember]); len(problems) > 0 {
		refused.Problems, refused.Reason = append(refused.Problems, problems...), v1alpha1.ReasonInvalidTuning
	}
	if len(refused.Problems) > 0 {
		return Resolved{}, refused
	}
	return resolved, nil
}

func componentBlocks(spec v1alpha1.MongoTuningSpec, base *v1alpha1.TuningProfileSpec) []blocks {
	return []blocks{
		{
			component: v1alpha1.ComponentShardMember, path: "tuning.",
			base: base.Tuning, override: spec.Tuning,
			limits: containerLimits(spec.Shards.Resources), hasCache: true,
		},
		{
			component: v1alpha1.ComponentConfigServer, path: "configServers.tuning.",
			base: base.ConfigServerTuning, override: spec.ConfigServers.Tuning,
			limits: containerLimits(spec.ConfigServers.Resources), hasCache: true,
		},
		{
			component: v1alpha1.ComponentMongos, path: "mongos.tuning.",
			base: base.MongosTuning, override: spec.Mongos.Tuning,
		},
	}
}

func containerLimits(resources v1alpha1.Resources) catalog.ContainerLimits {
	var limits catalog.ContainerLimits
	if resources.Limits.Memory != nil {
		limits.MemoryBytes = resources.Limits.Memory.Value()
	}
	if resources.Limits.CPU != nil {
		limits.MilliCPUs = resources.Limits.CPU.MilliValue()
	}
	return limits
}

// overlay lays the override over the base, knob by knob. The two ways to declare the cache replace
// each other, so that an override with percent wins over a profile with GB.
func (b blocks) overlay() (catalog.Settings, map[string]v1alpha1.ValueSource, error) {
	settings, err := catalog.Flatten(b.component, b.base)
	if err != nil {
		return nil, nil, err
	}
	sources := map[string]v1alpha1.ValueSource{}
	for name := range settings {
		sources[name] = v1alpha1.SourceProfile
	}
	overrides, err := catalog.Flatten(b.component, b.override)
	if err != nil {
		return nil, nil, err
	}
	for name, value := range overrides {
		for _, other := range alternatives(name) {
			delete(settings, other)
			delete(sources, other)
		}
		settings[name] = value
		sources[name] = v1alpha1.SourceOverride
	}
	return settings, sources, nil
}

// alternatives are the other ways to declare the same thing.
func alternatives(name string) []string {
	switch name {
	case catalog.CacheSizeGB:
		return []string{catalog.CacheSizePercent}
	case catalog.CacheSizePercent:
		return []string{catalog.CacheSizeGB}
	default:
		return nil
	}
}

// complete derives the cache size, drops values that render nothing on a version without the knob,
// and judges the result.
func (b blocks) complete(line catalog.Line, settings catalog.Settings, sources map[string]v1alpha1.ValueSource) []catalog.Problem {
	var problems []catalog.Problem
	if b.hasCache {
		problem, bad := b.deriveCache(settings, sources)
		if bad {
			problems = append(problems, problem)
		}
	}
	problems = append(problems, catalog.Check(b.component, line, settings, b.limits.MemoryBytes)...)
	for _, knob := range catalog.Knobs(b.component) {
		if value, declared := settings[knob.Name]; declared && value == knob.Inert && !knob.Versions.Includes(line) {
			delete(settings, knob.Name)
			delete(sources, knob.Name)
		}
	}
	return problems
}

// deriveCache makes sure that exactly one cache size in GB is declared, since servers before 6.0 do not
// see the container's limit and would size their cache from the node.
func (b blocks) deriveCache(settings catalog.Settings, sources map[string]v1alpha1.ValueSource) (catalog.Problem, bool) {
	if _, declared := settings[catalog.CacheSizeGB]; declared {
		return catalog.Problem{}, false
	}
	percent, declared := settings[catalog.CacheSizePercent]
	if b.limits.MemoryBytes == 0 {
		if declared {
			return catalog.Problem{Knob: catalog.CacheSizePercent, Value: percent, Allowed: "needs resources.limits.memory to be set, since it is a share of it"}, true
		}
		return catalog.Problem{Knob: catalog.CacheSizeGB, Allowed: "must be set when resources.limits.memory is not: the server would size its cache from the whole node"}, true
	}
	wantedGB := catalog.DefaultCacheGB(b.limits.MemoryBytes)
	if share, ok := percent.AsFloat(); declared && ok {
		wantedGB = float64(b.limits.MemoryBytes) / (1 << 30) * share / 100
	}
	delete(settings, catalog.CacheSizePercent)
	delete(sources, catalog.CacheSizePercent)
	wholeMiB := math.Floor(max(wantedGB, catalog.MinCacheSizeGB) * 1024)
	settings[catalog.CacheSizeGB] = catalog.Decimal(wholeMiB / 1024)
	sources[catalog.CacheSizeGB] = v1alpha1.SourceDerived
	return catalog.Problem{}, false
}

// Effective lists every declared value for status, in the order of the catalogue.
func (r Resolved) Effective() []v1alpha1.EffectiveValue {
	var values []v1alpha1.EffectiveValue
	for _, component := range []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer, v1alpha1.ComponentMongos} {
		for _, name := range r.Settings[component].Names() {
			values = append(values, v1alpha1.EffectiveValue{
				Component: component, Knob: name,
				Value: string(r.Settings[component][name]), Source: r.Sources[component][name],
				Note: note(component, name, r.Settings[component][name]),
			})
		}
	}
	return slices.Clip(values)
}

// note is what the catalogue has to say about a declared value.
func note(component v1alpha1.Component, name string, value catalog.Value) string {
	knob, known := catalog.Lookup(name)
	switch {
	case !known || value == knob.Inert:
		return ""
	case component == v1alpha1.ComponentMongos && knob.Note != "":
		return knob.Note + "; " + mongosNote
	case component == v1alpha1.ComponentMongos:
		return mongosNote
	default:
		return knob.Note
	}
}

// mongosNote is said of every value of the routers: what a real mongos reports was never seen.
const mongosNote = "declared and in the file of mongos; it is not read back, so it is not proved"

// Hash names the tuning: two tunings with the same settings on the same release line have the same
// hash, wherever the values came from.
func (r Resolved) Hash() string {
	encoded, _ := json.Marshal(struct {
		Line     catalog.Line
		Settings map[v1alpha1.Component]catalog.Settings
	}{r.Version.Line(), r.Settings})
	sum := fnv.New64a()
	_, _ = sum.Write(encoded)
	return fmt.Sprintf("%016x", sum.Sum64())[:10]
}

// AsRefused finds the *RefusedError in an error chain.
func AsRefused(err error) (*RefusedError, bool) {
	var refused *RefusedError
	ok := errors.As(err, &refused)
	return refused, ok
}
