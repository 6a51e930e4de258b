// SPDX-License-Identifier: Apache-2.0

// Package metrics shows what the last look at each MongoTuning found, in Prometheus' words: every gauge
// of every member, the limit it is held to and the verdict, how many knobs are proved, the conditions.
// The series of an object are made anew from one snapshot at every scrape, so that they vanish with the
// object and only then. What could not be measured has no series; it is never shown as nought.
package metrics

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Cluster is what the series of one MongoTuning are made of.
type Cluster struct {
	// LookedAt is the time of the look.
	LookedAt time.Time
	// Period is the declared time between two looks.
	Period time.Duration
	// MongoDBVersion and Profile as declared.
	MongoDBVersion, Profile string
	// Members in any order.
	Members []Member
	// Conditions of the object.
	Conditions []metav1.Condition
	// Hosts are the nodes of the members.
	Hosts []Host
	// HostWarnings is how often nodes of one shard differ from each other.
	HostWarnings int
	// Step that a change on its way has reached, empty while there is none.
	Step v1alpha1.RolloutStep
	// Waiting is what is waited for, nil when nothing is.
	Waiting *v1alpha1.WaitStatus
}

// Member is one mongod.
type Member struct {
	// IsAnswering tells that it answered everything it was asked.
	IsAnswering bool
	// Proved, Declared and Mismatched count knobs.
	Proved, Declared, Mismatched int32
	// Gauges are what was measured, and how it stands to the limits.
	Gauges verify.MemberGauges
}

// Host is one node.
type Host struct {
	Name string
	// Results count its settings by what became of them.
	Results map[v1alpha1.HostResult]int
	// WriteMiBPerSecond is what its data volume took when that was measured; 0 when it was not.
	WriteMiBPerSecond int64
}

// Recorder keeps the snapshots and the counters. A nil Recorder takes everything and shows nothing.
type Recorder struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]Cluster

	lookDuration prometheus.Histogram
	actions      *prometheus.CounterVec
	turns        *prometheus.CounterVec
	commands     *prometheus.CounterVec
	abandoned    *prometheus.CounterVec
	build        *prometheus.GaugeVec
	slots        prometheus.Gauge
}

// New makes a Recorder of an operator of this version.
func New(version string) *Recorder {
	recorder := &Recorder{
		clusters: map[types.NamespacedName]Cluster{},
		lookDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: lookDurationFamily.name, Help: lookDurationFamily.help,
			// A look is given up after 3 s.
			Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5},
		}),
		actions:   counter(actionsFamily),
		turns:     counter(turnsFamily),
		commands:  counter(commandsFamily),
		abandoned: counter(hostAbandonedFamily),
		slots:     prometheus.NewGauge(prometheus.GaugeOpts{Name: slotsFamily.name, Help: slotsFamily.help}),
		build:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildFamily.name, Help: buildFamily.help}, buildFamily.labels),
	}
	recorder.build.WithLabelValues(version, runtime.Version()).Set(1)
	return recorder
}

func counter(f family) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
}

// Register makes a registry show everything that is recorded.
func (r *Recorder) Register(registry prometheus.Registerer) error {
	for _, collector := range []prometheus.Collector{r, r.lookDuration, r.actions, r.turns, r.commands, r.abandoned, r.slots, r.build} {
		if err := registry.Register(collector); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Record puts what was found of an object in the place of what was found before.
func (r *Recorder) Record(object types.NamespacedName, cluster Cluster) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.clusters[object]; !known {
		// Counters that begin at nought, so that their first increase is one.
		for _, step := range []string{string(v1alpha1.StepCanary), string(v1alpha1.StepReturning), Done} {
			r.turns.WithLabelValues(object.Namespace, object.Name, step)
		}
	}
	r.clusters[object] = cluster
}

// Forget drops every series of an object that is gone.
func (r *Recorder) Forget(object types.NamespacedName) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clusters, object)
	of := prometheus.Labels{"namespace": object.Namespace, "name": object.Name}
	r.actions.DeletePartialMatch(of)
	r.turns.DeletePartialMatch(of)
}

// Done is the step of a change that has arrived and is on its way no more.
const Done = "Done"

// Turned counts that a change went to a step, which is empty when it has arrived.
func (r *Recorder) Turned(object types.NamespacedName, step v1alpha1.RolloutStep) {
	if r != nil {
		r.turns.WithLabelValues(object.Namespace, object.Name, cmp.Or(string(step), Done)).Inc()
	}
}

// HasSlots shows how many objects may roll out at once, 0 for no bound.
func (r *Recorder) HasSlots(slots int) {
	if r != nil {
		r.slots.Set(float64(slots))
	}
}

// Performed counts an action that was carried out.
func (r *Recorder) Performed(object types.NamespacedName, kind string) {
	if r != nil {
		r.actions.WithLabelValues(object.Namespace, object.Name, kind).Inc()
	}
}

// Looked notes how long a look took.
func (r *Recorder) Looked(took time.Duration) {
	if r != nil {
		r.lookDuration.Observe(took.Seconds())
	}
}

// Commanded counts a command that a server has answered, or not. Its names are those that the operator
// sends, so they are few.
func (r *Recorder) Commanded(command, result string) {
	if r != nil {
		r.commands.WithLabelValues(command, result).Inc()
	}
}

// HostRestoreAbandoned counts a node that was not put back when its MongoTuning went, by the reason. It
// has no label of the object, whose series go with it.
func (r *Recorder) HostRestoreAbandoned(reason string) {
	if r != nil {
		r.abandoned.WithLabelValues(reason).Inc()
	}
}

// Describe lists the metrics of the snapshots, as prometheus.Collector asks.
func (r *Recorder) Describe(descriptions chan<- *prometheus.Desc) {
	for _, f := range snapshotFamilies() {
		descriptions <- f.desc()
	}
}

// Collect makes the series of every snapshot, as prometheus.Collector asks.
func (r *Recorder) Collect(series chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for object, cluster := range r.clusters {
		collect(series, object, cluster)
	}
}
