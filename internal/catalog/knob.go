// SPDX-License-Identifier: Apache-2.0

// Package catalog is the table of tuning knobs: for each its name, unit, range, versions, where it goes
// in the configuration file, how it is set online or that it takes a restart, how the value in force
// is read back from the running process, what goes wrong when it is wrong, and the source of all that.
// Validation, rendering, application and proof are driven by the rows. The package is pure: it looks
// at documents that others have fetched and never talks to a server.
package catalog

import (
	"math"
	"slices"
	"sync"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Kind is the type of a knob's value.
type Kind int

// The kinds of value.
const (
	KindInteger Kind = iota + 1
	KindDecimal
	KindBoolean
	KindEnum
	// KindList is an ordered list of values of Enum, written "snappy,zlib".
	KindList
	KindText
)

// Online says how a running process takes a new value.
type Online int

// The ways to set a value online.
const (
	// RestartOnly means that only a process that starts anew takes the value.
	RestartOnly Online = iota + 1
	// OnlineWiredTiger means setParameter wiredTigerEngineRuntimeConfig, always with the full string.
	OnlineWiredTiger
	// OnlineParameter means setParameter under the knob's MongoDB name.
	OnlineParameter
	// OnlineProfile means the command profile, which takes the threshold and the sample rate together.
	OnlineProfile
	// OnlineOplog means the command replSetResizeOplog.
	OnlineOplog
	// WithoutEffect means that no supported server does anything with the value.
	WithoutEffect
)

// Knob is one row of the catalogue.
type Knob struct {
	// Name is the path of the API field below tuning: "eviction.dirtyTriggerPercent".
	Name string
	// MongoDBName is what the server calls it: for a knob with Parameter set, the parameter.
	MongoDBName string
	// Components are the kinds of process that take it.
	Components []v1alpha1.Component
	// Versions are the release lines that have it.
	Versions LineRange
	// Variants are what differs between release lines; Knob.On applies them.
	Variants []Variant
	// Kind is the type of its value.
	Kind Kind
	// Unit of the value, empty where there is none.
	Unit string
	// Min and Max bound numbers, both included.
	Min, Max float64
	// Enum lists the values of a KindEnum or KindList knob.
	Enum []Value
	// Default is what the server does when nothing is declared; empty when it depends on the machine,
	// so that an undeclared value cannot be held to anything.
	Default Value
	// Inert is the value that renders nothing and so can be declared on every version to undo a
	// profile; empty when there is none.
	Inert Value
	// DerivedInto names the knob that this one is only another way to declare. Such a row is never
	// rendered or read back itself.
	DerivedInto string
	// Fixed marks a row that has no API field: the operator holds it to its default.
	Fixed bool

	// ConfigKey is the dotted path in mongod.conf; empty when the value goes elsewhere.
	ConfigKey string
	// WiredTigerKey is the key in the WiredTiger string, nested ones dotted: "eviction.threads_min".
	WiredTigerKey string
	// Parameter tells that MongoDBName is a server parameter, which the file sets under setParameter
	// unless ConfigKey names a better place.
	Parameter bool
	// Online says how a running process takes a new value.
	Online Online

	// Nearest says what to use instead on versions that do not have the knob.
	Nearest string
	// Note says what a user has to know whenever the knob is declared; empty for most.
	Note string
	// TooHigh and TooLow say what goes wrong in each direction, Source where that is known from.
	TooHigh, TooLow, Source string

	read reader
	same func(wanted, found Value) bool
	// toServer and fromServer translate between the knob's terms and the server's option or parameter;
	// nil where they are the same.
	toServer   func(Value) any
	fromServer func(raw any) (Value, bool)
}

// Variant is what differs from the row on some release lines. A field that is not set is as in the row.
type Variant struct {
	// Versions are the lines the variant holds for.
	Versions LineRange
	// MongoDBName, Default and Enum are as in Knob.
	MongoDBName string
	Default     Value
	Enum        []Value
	// WithoutDefault tells that on these lines the default depends on the machine.
	WithoutDefault bool

	read reader
}

// On is the row as it is on one release line.
func (k Knob) On(line Line) Knob {
	for _, variant := range k.Variants {
		if !variant.Versions.Includes(line) {
			continue
		}
		if variant.MongoDBName != "" {
			k.MongoDBName = variant.MongoDBName
		}
		if variant.Default != "" || variant.WithoutDefault {
			k.Default = variant.Default
		}
		if variant.Enum != nil {
			k.Enum = variant.Enum
		}
		if variant.read != nil {
			k.read = variant.read
		}
	}
	return k
}

// AppliesTo tells whether a kind of process takes the knob.
func (k Knob) AppliesTo(component v1alpha1.Component) bool {
	return slices.Contains(k.Components, component)
}

// NeedsRestart tells whether only a process that starts anew takes a new value.
func (k Knob) NeedsRestart() bool {
	return k.Online == RestartOnly
}

// isUnbounded tells that the row only knows the type of a number.
func (k Knob) isUnbounded() bool {
	return k.Min <= math.MinInt64
}

// ReturnsByRestart tells whether a process that starts without the value is back at the default. The
// size of the oplog, for one, is on disk.
func (k Knob) ReturnsByRestart() bool {
	return k.Online == RestartOnly || k.Online == OnlineParameter
}

// HasEffect tells whether any supported server does something with the value.
func (k Knob) HasEffect() bool {
	return k.Online != WithoutEffect
}

// Same tells whether a value found in a process is the wanted one, however it is spelled.
func (k Knob) Same(wanted, found Value) bool {
	if k.same != nil {
		return k.same(wanted, found)
	}
	if wanted == found {
		return true
	}
	if k.Kind != KindInteger && k.Kind != KindDecimal {
		return false
	}
	a, okWanted := wanted.AsFloat()
	b, okFound := found.AsFloat()
	return okWanted && okFound && a == b
}

// Read reads the value in force from what a process reports.
func (k Knob) Read(process Process) Reading {
	if k.read == nil {
		return Reading{Evidence: "no version shows it"}
	}
	return k.read(k, process)
}

// server is the value as the server takes it.
func (k Knob) server(value Value) any {
	if k.toServer != nil {
		return k.toServer(value)
	}
	return value.plain(k.Kind)
}

// Knobs are the rows that apply to a kind of process, in the order of the table. Nobody may change them.
func Knobs(component v1alpha1.Component) []Knob { return rowsOfKind[component] }

// rowsOfKind holds what Knobs answers: every reconcile goes through it several times.
var rowsOfKind = func() map[v1alpha1.Component][]Knob {
	rows := map[v1alpha1.Component][]Knob{}
	for _, knob := range table {
		for _, component := range knob.Components {
			rows[component] = append(rows[component], knob)
		}
	}
	return rows
}()

// KnobsOn are the rows that apply to a kind of process of one release line, as they are on that line. They
// are made once, since every look at every member goes through them; nobody may change them.
func KnobsOn(component v1alpha1.Component, line Line) []Knob {
	key := kindOnLine{component, line}
	if rows, made := rowsOn.Load(key); made {
		return rows.([]Knob) //nolint:forcetypeassert // only stored below
	}
	var rows []Knob
	for _, knob := range Knobs(component) {
		if knob.Versions.Includes(line) {
			rows = append(rows, knob.On(line))
		}
	}
	rows = slices.Clip(rows)
	rowsOn.Store(key, rows)
	return rows
}

type kindOnLine struct {
	component v1alpha1.Component
	line      Line
}

// rowsOn holds what KnobsOn has made.
var rowsOn sync.Map

// All are all rows, in the order of the table.
func All() []Knob {
	return slices.Clone(table)
}

// Lookup finds a row by name.
func Lookup(name string) (Knob, bool) {
	i, known := placeOf[name]
	if !known {
		return Knob{}, false
	}
	return table[i], true
}

// placeOf is where in the table a row is.
var placeOf = func() map[string]int {
	places := make(map[string]int, len(table))
	for i, knob := range table {
		places[knob.Name] = i
	}
	return places
}()
