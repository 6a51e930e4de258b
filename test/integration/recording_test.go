// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/recording"
)

// recorded is what is recorded of the changes; nothing when nothing is.
func (w *world) recorded() recording.Book {
	w.t.Helper()
	object := &corev1.ConfigMap{}
	err := w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: naming.Recording("demo")}, object)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	var book recording.Book
	if book.History, err = recording.DecodeHistory(object.Data[naming.RecordingHistory]); err != nil {
		w.t.Fatal(err)
	}
	if encoded := object.BinaryData[naming.RecordingGauges]; len(encoded) > 0 {
		if book.Last, err = recording.Decode(encoded); err != nil {
			w.t.Fatal(err)
		}
	}
	return book
}

func steps(recorded *recording.Recording) []string {
	var names []string
	for _, mark := range recorded.Marks {
		if mark.Kind != recording.MarkAct {
			names = append(names, mark.Name)
		}
	}
	return names
}

func changes(book recording.Book) []string {
	var all []string
	for _, entry := range book.History {
		all = append(all, fmt.Sprintf("%s %v", entry.Outcome, entry.Began != nil && entry.Ended != nil))
	}
	return all
}

func TestAChangeIsRecorded(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	if book := w.recorded(); book.Last != nil || len(book.History) != 1 || book.History[0].Outcome != recording.Verified {
		t.Fatalf("the first revision is recorded as %+v", book)
	}
	onlineAndRestart(w)
	book := w.recorded()
	if diff := cmp.Diff([]string{"Verified false", "Verified true"}, changes(book)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	want := []string{"Canary", "CanarySoak", "CanaryLeads", "LeadSoak", "RestOfShard", "OtherShards", "ConfigServers", "Mongos", "Verifying", "Verified"}
	if diff := cmp.Diff(want, steps(book.Last)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	restarts := 0
	for _, mark := range book.Last.Marks {
		if mark.Kind == recording.MarkAct && mark.Name == "Restart" {
			restarts++
		}
	}
	if restarts != 3 {
		t.Errorf("%d restarts are recorded, wanted 3: %+v", restarts, book.Last.Marks)
	}
	lag := recording.Key{Member: "demo-shard-0-0", Gauge: string(v1alpha1.GaugeReplicationLag)}
	if series, found := book.Last.Of(lag); !found || len(series.Values) != book.Last.Points {
		t.Errorf("no lag is recorded among %d series", len(book.Last.Series))
	}
	w.isQuiet()
}

// TestARecordingGoesOnAfterARestart ends the operator in the middle of a soak.
func TestARecordingGoesOnAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.create(small().Soak(600))
	w.untilReady()
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Tuning = small().DirtyTrigger(30).Object().Spec.Tuning })
	soaks := func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Step == v1alpha1.StepCanarySoak }
	w.until("the soak", soaks)
	for range 10 {
		w.step()
	}
	before := w.recorded().Last
	if !before.IsOpen() || before.Points < 5 {
		t.Fatalf("recorded %+v", before)
	}
	w.startOperator()
	for range 10 {
		w.step()
	}
	after := w.recorded().Last
	if !after.Began.Equal(before.Began) || after.Points <= before.Points || !slices.Equal(steps(before), steps(after)) {
		t.Errorf("began %s, %d points, %v; after the restart %s, %d points, %v",
			before.Began, before.Points, steps(before), after.Began, after.Points, steps(after))
	}
}

// TestASuspendedChangeIsNotRecorded proves that nothing is written for as long as people want nothing to
// happen, however long that is.
func TestASuspendedChangeIsNotRecorded(t *testing.T) {
	w := newWorld(t)
	w.create(small().Soak(600))
	w.untilReady()
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Tuning = small().DirtyTrigger(30).Object().Spec.Tuning })
	w.until("the soak", func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Step == v1alpha1.StepCanarySoak })
	w.change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Annotations = map[string]string{v1alpha1.AnnotationSuspend: "true"}
	})
	w.step()
	w.isQuiet()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.isQuiet()
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Annotations = nil })
	w.untilReady()
	if book := w.recorded(); !slices.Equal(changes(book), []string{"Verified false", "Verified true"}) {
		t.Errorf("history is %v", changes(book))
	}
}

// TestARecordingThatNobodyCanReadIsBegunAnew writes nonsense into the object.
func TestARecordingThatNobodyCanReadIsBegunAnew(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: naming.Recording("demo")}}
	w.get(object)
	object.Data[naming.RecordingHistory] = "{"
	object.BinaryData = map[string][]byte{naming.RecordingGauges: []byte("nonsense")}
	w.must(w.admin.Update(w.ctx, object))
	w.startOperator()
	onlineAndRestart(w)
	if book := w.recorded(); !strings.HasPrefix(strings.Join(changes(book), ","), "Verified") || book.Last.IsOpen() {
		t.Errorf("recorded %v", changes(book))
	}
	w.isQuiet()
}

// TestTheRecordingGoesWithItsObject looks at who owns it: the owner, and not as a controller, so that a write
// wakes nobody.
func TestTheRecordingGoesWithItsObject(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: naming.Recording("demo")}}
	w.get(object)
	owners := object.OwnerReferences
	if len(owners) != 1 || owners[0].UID != w.tuning().UID || metav1.GetControllerOf(object) != nil {
		t.Errorf("owners are %+v", owners)
	}
}

// TestSomebodyElsesObjectIsLeftAlone has an object of the recording's name that belongs to another.
func TestSomebodyElsesObjectIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	theirs := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: naming.Recording("demo")}, Data: map[string]string{"theirs": "yes"},
	}
	w.must(w.admin.Create(w.ctx, theirs))
	bootstrap(w)
	w.get(theirs)
	if len(theirs.Data) != 1 || theirs.Data["theirs"] != "yes" {
		t.Errorf("it is now %v", theirs.Data)
	}
}
