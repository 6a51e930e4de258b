// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// outcome is what a perturbed run is compared by: how everything stands in the end, and how often members
// were disturbed on the way.
type outcome struct {
	Proved    string
	Status    v1alpha1.MongoTuningStatus
	Shards    []string
	Files     map[string]string
	PodsMade  map[string]int
	StepDowns int
	// Changes are the revisions of the recorded history with what became of them.
	Changes []string
}

func (w *world) outcome() outcome {
	w.t.Helper()
	tuning := w.tuning()
	result := outcome{
		Proved: tuning.Status.ProvedMembers, Status: tuning.Status, Shards: w.servers.Shards(),
		Files: map[string]string{}, PodsMade: map[string]int{}, StepDowns: w.servers.Counted("StepDown"),
	}
	slices.Sort(result.Shards)
	for i := range result.Status.Conditions {
		result.Status.Conditions[i].LastTransitionTime.Reset()
	}
	files := &corev1.ConfigMapList{}
	w.must(w.admin.List(w.ctx, files, client.InNamespace(w.namespace)))
	for _, file := range files.Items {
		if file.Name == naming.Recording("demo") {
			continue // it has times in it; what became of changes is compared
		}
		for key, content := range file.Data {
			result.Files[file.Name+"/"+key] = strings.ReplaceAll(content, w.namespace, "NAMESPACE")
		}
	}
	for _, entry := range w.recorded().History {
		result.Changes = append(result.Changes, entry.Revision+" "+string(entry.Outcome))
	}
	maps.DeleteFunc(w.kubernetes.made, func(pod string, _ int) bool { return strings.Contains(pod, "-mongos-") })
	maps.Copy(result.PodsMade, w.kubernetes.made)
	return result
}

// bootstrap is the first story that is perturbed: from nothing to Ready.
func bootstrap(w *world) {
	w.create(small())
	w.untilReady()
}

// onlineAndRestart is the second: a change of which one half is set online and the other takes restarts.
func onlineAndRestart(w *world) {
	w.change(func(tuning *v1alpha1.MongoTuning) {
		changed := small().DirtyTrigger(30).Executor(v1alpha1.ServiceExecutorAdaptive).Object()
		tuning.Spec.Tuning = changed.Spec.Tuning
	})
	w.untilReady()
}

// perturbed runs a story with a fault at its k-th write. The writes of what comes before are not counted.
func perturbed(t *testing.T, before, story func(*world), k int, fault fault) (outcome, []string) {
	t.Helper()
	w := newWorld(t)
	before(w)
	start := w.journal.count()
	if fault != none {
		w.journal.failAt(start+k, fault)
	}
	story(w)
	writes := w.journal.since(start)
	w.step() // an operator that has just started applies every object once, which changes none
	w.isQuiet()
	return w.outcome(), writes
}

// kindsOfFault is how many faults a write can have.
const kindsOfFault = 3

// stride is the distance of the writes at which one kind of fault happens. The kinds begin one write
// apart, so that by default every write has one of them; CRASH_STRIDE=1 gives every write all of them.
func stride(t *testing.T) int {
	t.Helper()
	asked := os.Getenv("CRASH_STRIDE")
	if asked == "" {
		return kindsOfFault
	}
	stride, err := strconv.Atoi(asked)
	if err != nil || stride < 1 {
		t.Fatalf("CRASH_STRIDE is %q", asked)
	}
	return stride
}

func TestFaultAtEveryWrite(t *testing.T) {
	nothing := func(*world) {}
	for _, story := range []struct {
		name          string
		before, story func(*world)
	}{
		{"bootstrap", nothing, bootstrap},
		{"change with an online half and a restart half", bootstrap, onlineAndRestart},
	} {
		t.Run(story.name, func(t *testing.T) {
			want, writes := perturbed(t, story.before, story.story, 0, none)
			t.Logf("%d writes: %s", len(writes), strings.Join(writes, ", "))
			for kind, fault := range []struct {
				name  string
				fault fault
			}{
				{"the operator ends before the write", crashBefore},
				{"the operator ends after the write", crashAfter},
				{"the answer to the write is lost", answerLost},
			} {
				for k := 1 + kind%stride(t); k <= len(writes); k += stride(t) {
					t.Run(fmt.Sprintf("%s, write %d, %s", fault.name, k, writes[k-1]), func(t *testing.T) {
						t.Parallel()
						got, _ := perturbed(t, story.before, story.story, k, fault.fault)
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("another end than without the fault (-want +got):\n%s", diff)
						}
					})
				}
			}
		})
	}
}

func TestAConflictAtEveryWriteOnce(t *testing.T) {
	want, _ := perturbed(t, bootstrap, onlineAndRestart, 0, none)
	w := newWorld(t)
	w.journal.conflictFirst = true
	bootstrap(w)
	onlineAndRestart(w)
	if diff := cmp.Diff(want, w.outcome()); diff != "" {
		t.Errorf("another end than without conflicts (-want +got):\n%s", diff)
	}
	w.isQuiet()
}

func TestRestartsOfAChangeAreCounted(t *testing.T) {
	got, _ := perturbed(t, bootstrap, onlineAndRestart, 0, none)
	want := map[string]int{"demo-shard-0-0": 2, "demo-shard-0-1": 2, "demo-shard-0-2": 2, "demo-config-0": 1}
	if diff := cmp.Diff(want, got.PodsMade); diff != "" {
		t.Errorf("pods were made another number of times than wanted (-want +got):\n%s", diff)
	}
	if got.StepDowns != 1 {
		t.Errorf("%d step downs, wanted 1", got.StepDowns)
	}
}
