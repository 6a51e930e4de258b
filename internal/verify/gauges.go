// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"math"
	"strconv"
	"strings"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// Gauge is one thing that is measured on a running member.
type Gauge struct {
	// Name in the API.
	Name v1alpha1.Gauge
	// Unit as it follows a number in a sentence, empty for counts.
	Unit string
	// Help says in one sentence what is measured and where it is read.
	Help string

	// noun begins a sentence about the gauge.
	noun string
	// above and below are the reasons of the condition Verified; an empty one is the unusual side.
	above, below string
	measure      func(Subject) Measurement
}

// gauges in the order in which they are judged and told.
var gauges = []Gauge{
	dirtyCache, cacheFill, applicationThreadEvictions, replicationLag, majorityLag, oplogWindow,
	flowControlLagged, pinnedHistory, ticketsAvailable, queuedOperations, checkpointDuration, checkpointInterval,
	slowOperations, readLatency, writeLatency, commandLatency, connectionsUsed, memoryBudget,
}

// Gauges are all gauges, in the order in which they are judged and told.
func Gauges() []Gauge {
	return append([]Gauge{}, gauges...)
}

// GaugeOf finds a gauge by its name in the API.
func GaugeOf(name v1alpha1.Gauge) (Gauge, bool) {
	for _, gauge := range gauges {
		if gauge.Name == name {
			return gauge, true
		}
	}
	return Gauge{}, false
}

// Subject is one member as its gauges are measured: what it answered now and before.
type Subject struct {
	// Now is the time of the look.
	Now time.Time
	// Set the member belongs to, as it was seen.
	Set observed.ReplicaSet
	// Member as it was seen.
	Member observed.Member
	// Host is the member's address in the configuration of its set.
	Host string
	// Settings the member is held to; they stand in where the process does not show a value.
	Settings catalog.Settings
	// Line of the server.
	Line catalog.Line
	// Period is the time between two looks; rates need samples at least half of it apart.
	Period time.Duration
	// History is what was kept of earlier looks.
	History History
	// Before is what a change has to leave no worse than it was.
	Before Before
	// PeakConnections is the most that were open at once on the member, in whichever of its processes,
	// since this operator began to look.
	PeakConnections int64
}

// State tells whether there is a figure.
type State int

// The states of a measurement.
const (
	// Unmeasured means that nothing is known, which is never good.
	Unmeasured State = iota
	// Measured means that Value is the gauge.
	Measured
	// Exempt means that there is nothing to hold to a limit now: a mean of no operations, a gauge of
	// primaries on a secondary. It counts as in range.
	Exempt
)

// Unknown is why a gauge is Unmeasured.
type Unknown string

// Why a gauge is Unmeasured.
const (
	// FirstSample means that a counter was read once since this operator began to look.
	FirstSample Unknown = "FirstSample"
	// Restarted means that the process is another one than that of the sample before.
	Restarted Unknown = "Restarted"
	// Unanswered means that the question was not answered.
	Unanswered Unknown = "Unanswered"
	// NotShown means that the server's answer does not have the figure.
	NotShown Unknown = "NotShown"
	// NoPrimary means that only a primary can tell, and there is none.
	NoPrimary Unknown = "NoPrimary"
	// NotKnownToPrimary means that the primary does not hear from the member.
	NotKnownToPrimary Unknown = "NotKnownToPrimary"
)

// Measurement is one gauge on one member at one time.
type Measurement struct {
	Gauge v1alpha1.Gauge
	State State
	// Value in the unit of the gauge; meaningful when HasValue.
	Value float64
	// HasValue tells that there is a figure, also of a gauge that is Exempt.
	HasValue bool
	// Weight is how many operations a mean of operations is made of; 0 for other gauges.
	Weight float64
	// Why the gauge is Unmeasured.
	Why Unknown
	// Evidence says where the figure was read, or why there is none.
	Evidence string
}

// IsTooEarly tells that the next look will know more: only one sample of this process is there.
func (m Measurement) IsTooEarly() bool {
	return m.State == Unmeasured && (m.Why == FirstSample || m.Why == Restarted)
}

func measured(value float64, evidence string) Measurement {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return unmeasured(NotShown, evidence+" cannot be computed")
	}
	return Measurement{State: Measured, Value: value, HasValue: true, Evidence: evidence}
}

func exempt(evidence string) Measurement {
	return Measurement{State: Exempt, Evidence: evidence}
}

func unmeasured(why Unknown, evidence string) Measurement {
	return Measurement{State: Unmeasured, Why: why, Evidence: evidence}
}

// measureAll measures every gauge of a member.
func measureAll(subject Subject) []Measurement {
	all := make([]Measurement, 0, len(gauges))
	for _, gauge := range gauges {
		measurement := gauge.measure(subject)
		measurement.Gauge = gauge.Name
		all = append(all, measurement)
	}
	return all
}

// status is the member's answer of serverStatus; ok is false when there is none, and then the
// measurement says so.
func (s Subject) status() (status serverstatus.Status, none Measurement, ok bool) {
	if s.Member.Look.Status == nil {
		return status, unmeasured(Unanswered, "serverStatus was not answered: "+s.silence()), false
	}
	return *s.Member.Look.Status, Measurement{}, true
}

// silence is why a member did not answer.
func (s Subject) silence() string {
	switch look := s.Member.Look; {
	case look.Error != "":
		return look.Error
	case look.LockedOut:
		return "it does not know the operator's user yet"
	default:
		return "it was not asked"
	}
}

// version is the server's release line, for sentences about what it does not show.
func (s Subject) version() string {
	return "MongoDB " + s.Line.String()
}

func (s Subject) notShown(path string) Measurement {
	return unmeasured(NotShown, "serverStatus of "+s.version()+" does not show "+path)
}

// ratio is a share in percent of two figures of serverStatus.
func (s Subject) ratio(part, whole *int64, path string) Measurement {
	if part == nil || whole == nil || *whole <= 0 {
		return s.notShown(path)
	}
	return measured(percent*float64(*part)/float64(*whole), "serverStatus "+path)
}

const (
	percent = 100
	// millisPerSecond and microsPerMilli turn the server's units into those of the gauges.
	millisPerSecond = 1000
	microsPerMilli  = 1000
	microsPerSecond = 1000000
)

// Text is a value of the gauge with its unit, with no more digits than are of use.
func (g Gauge) Text(value float64) string {
	digits := 0
	if math.Abs(value) < 100 {
		digits = 1
	}
	return g.withUnit(value, digits)
}

// textBeside is the text of a value that must not read like the bound it has crossed.
func (g Gauge) textBeside(value, bound float64) string {
	text := g.Text(value)
	if text == g.Text(bound) {
		return g.withUnit(value, 3)
	}
	return text
}

func (g Gauge) withUnit(value float64, digits int) string {
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if g.Unit == "" {
		return text
	}
	return text + " " + g.Unit
}
