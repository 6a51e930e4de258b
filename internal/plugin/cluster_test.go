// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/recording"
)

// before is a person before the demo, as it was saved from a real cluster in some moment: the object, and
// where they were saved its revisions, its recording and its events.
func before(t *testing.T, moment string, seconds time.Duration, others ...runtime.Object) *desk {
	t.Helper()
	file := func(kind string) string { return filepath.Join("testdata", "cluster", moment+kind+".yaml") }
	tuning := read[v1alpha1.MongoTuning](t, file(""))
	objects := append(others, tuning)
	if exists(file(".revisions")) {
		for _, record := range read[appsv1.ControllerRevisionList](t, file(".revisions")).Items {
			objects = append(objects, &record)
		}
		objects = append(objects, read[corev1.ConfigMap](t, file(".recording")))
		for _, event := range read[corev1.EventList](t, file(".events")).Items {
			objects = append(objects, &event)
		}
	}
	d := newDesk(t, objects...)
	d.namespace = tuning.Namespace
	latest := tuning.CreationTimestamp.Time
	for _, condition := range tuning.Status.Conditions {
		if condition.LastTransitionTime.After(latest) {
			latest = condition.LastTransitionTime.Time
		}
	}
	d.now = latest.Add(seconds * time.Second)
	return d
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestStatusIsGolden shows a real cluster in the moments of a change that went well, of one that was taken
// back, and of others.
func TestStatusIsGolden(t *testing.T) {
	for _, moment := range []string{"ready", "trial", "soaking", "restarting", "changed", "refused", "suspended", "returned"} {
		t.Run(moment, func(t *testing.T) {
			golden(t, "status/"+moment+".txt", before(t, moment, 5).prints("status", "demo"))
		})
	}
	golden(t, "status/soaking.yaml", before(t, "soaking", 5).prints("status", "demo", "-o", "yaml"))
	golden(t, "status/list.txt", before(t, "soaking", 5).prints("status"))
	coloured := before(t, "restarting", 5)
	coloured.colours = true
	golden(t, "status/restarting.coloured.txt", coloured.prints("status", "demo"))
}

func TestStatusBeforeTheFirstLook(t *testing.T) {
	out := newDesk(t, tuningNamed("test", "demo")).prints("status", "demo")
	contains(t, out, "Ready Unknown", "has not looked at the newest spec yet", "Proved - members")
}

func TestStatusOfNothing(t *testing.T) {
	contains(t, newDesk(t).fails("status"), "no MongoTuning in namespace test", "kubectl get mtune -A")
	if out := newDesk(t).prints("status", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("no objects are %q", out)
	}
}

// page of metrics as the operator serves it.
const page = `# HELP mongotuning_dirty_cache_ratio Share of the WiredTiger cache that is not on disk yet.
# TYPE mongotuning_dirty_cache_ratio gauge
mongotuning_dirty_cache_ratio{member="demo-shard-0-0",name="demo",namespace="mongotuning-demo",replica_set="demo-shard-0"} 0.0725
mongotuning_dirty_cache_ratio{member="demo-shard-0-1",name="demo",namespace="elsewhere",replica_set="demo-shard-0"} 0.5
# TYPE mongotuning_replication_lag_seconds gauge
mongotuning_replication_lag_seconds{member="demo-shard-0-0",name="demo",namespace="mongotuning-demo",replica_set="demo-shard-0"} 1.5
`

// metricsPage is a metrics endpoint.
type metricsPage struct {
	text   string
	err    error
	asked  int
	closed bool
}

func (m *metricsPage) page(context.Context) (string, error) {
	m.asked++
	return m.text, m.err
}

func (m *metricsPage) close() { m.closed = true }

// change changes the demo of a desk.
func (d *desk) change(change func(*v1alpha1.MongoTuning)) {
	d.t.Helper()
	object, err := d.dynamic.Resource(tuningsResource).Namespace(d.namespace).Get(d.t.Context(), "demo", metav1.GetOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	tuning, err := into[v1alpha1.MongoTuning](object)
	if err != nil {
		d.t.Fatal(err)
	}
	change(tuning)
	if _, err := d.dynamic.Resource(tuningsResource).Namespace(d.namespace).Update(d.t.Context(), untyped(d.t, tuning), metav1.UpdateOptions{}); err != nil {
		d.t.Fatal(err)
	}
}

// untyped is an object as the dynamic client has it.
func untyped(t *testing.T, object runtime.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// reopenAs gives a desk of an earlier moment the recording of the change, as it was then.
func reopenAs(t *testing.T, d *desk) {
	t.Helper()
	object := read[corev1.ConfigMap](t, "testdata/cluster/changed.recording.yaml")
	recorded := decoded(t, object)
	point := int(d.now.Sub(recorded.Began) / recorded.Spacing)
	for i := range recorded.Series {
		recorded.Series[i].Values = recorded.Series[i].Values[:point+1]
		recorded.Series[i].Latest = recorded.Series[i].Values[point]
	}
	recorded.Points, recorded.Ended, recorded.LastAt = point+1, time.Time{}, d.now.Add(-3*time.Second)
	encode(t, object, recorded)
	if err := d.kubernetes.Tracker().Add(object); err != nil {
		t.Fatal(err)
	}
}

func decoded(t *testing.T, object *corev1.ConfigMap) *recording.Recording {
	t.Helper()
	recorded, err := recording.Decode(object.BinaryData[naming.RecordingGauges])
	if err != nil {
		t.Fatal(err)
	}
	return recorded
}

func encode(t *testing.T, object *corev1.ConfigMap, recorded *recording.Recording) {
	t.Helper()
	var err error
	if object.BinaryData[naming.RecordingGauges], err = recorded.Encode(); err != nil {
		t.Fatal(err)
	}
}

// reopen makes the recording of a desk one that is on its way.
func reopen(t *testing.T, d *desk) {
	t.Helper()
	object := read[corev1.ConfigMap](t, "testdata/cluster/changed.recording.yaml")
	recorded := decoded(t, object)
	recorded.Ended, d.now = time.Time{}, recorded.LastAt.Add(10*time.Second)
	encode(t, object, recorded)
	if err := d.kubernetes.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), object, d.namespace); err != nil {
		t.Fatal(err)
	}
}

func TestFiguresFromTheMetrics(t *testing.T) {
	for _, row := range []struct {
		name, want string
		served     *metricsPage
		source     string
	}{
		{"served", "", &metricsPage{text: page}, figuresFromMetrics},
		{"no right", "the Role mongotuning-figures", &metricsPage{err: apierrors.NewForbidden(corev1.Resource("serviceaccounts/token"), "x", nil)}, figuresFromNowhere},
		{"not installed", "the Role mongotuning-figures", &metricsPage{err: apierrors.NewNotFound(corev1.Resource("serviceaccounts"), "x")}, figuresFromNowhere},
		{"broken", "connection lost", &metricsPage{err: errors.New("connection lost")}, figuresFromNowhere},
		{"of a standby", "have nothing of demo yet", &metricsPage{text: "# TYPE a gauge\na 1\n"}, figuresFromNowhere},
		{"no page", "read metrics", &metricsPage{text: "<html>"}, figuresFromNowhere},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := before(t, "changed", 5)
			d.metrics = row.served
			var view statusView
			if err := yaml.UnmarshalStrict([]byte(d.prints("status", "demo", "-o", "yaml")), &view); err != nil {
				t.Fatal(err)
			}
			if view.Figures.Source != row.source || !strings.Contains(view.Figures.Hint, row.want) || !row.served.closed {
				t.Errorf("figures %+v, closed %v", view.Figures, row.served.closed)
			}
			member := view.Members[0]
			hasFigures := member.DirtyCachePercent != nil && *member.DirtyCachePercent == 7.25 && member.ReplicationLagSeconds != nil && *member.ReplicationLagSeconds == 1.5
			if hasFigures != (row.source == figuresFromMetrics) || view.Members[1].DirtyCachePercent != nil {
				t.Errorf("members %+v", view.Members[:2])
			}
		})
	}
}

func TestTheMetricsAreNotAskedOnTheWay(t *testing.T) {
	d := before(t, "changed", 5)
	// Open the recording again, as it was on the way.
	served := &metricsPage{text: page}
	d.metrics = served
	reopen(t, d)
	var view statusView
	if err := yaml.UnmarshalStrict([]byte(d.prints("status", "demo", "-o", "yaml")), &view); err != nil {
		t.Fatal(err)
	}
	if view.Figures.Source != figuresFromRecording || served.asked != 0 || view.Members[0].DirtyCachePercent == nil {
		t.Errorf("figures %+v, the metrics were asked %d times", view.Figures, served.asked)
	}
}

func TestDiffIsGolden(t *testing.T) {
	for moment, differs := range map[string]bool{"ready": false, "restarting": true, "changed": false} {
		d := before(t, moment, 5)
		out, err := d.run("diff", "demo")
		if code := ExitCode(err); (code == 1) != differs || code > 1 {
			t.Errorf("%s ends with code %d (%v)", moment, code, err)
		}
		golden(t, "diff/"+moment+".txt", out)
		out, _ = d.run("diff", "demo", "--all")
		golden(t, "diff/"+moment+".all.txt", out)
	}
	out, _ := before(t, "restarting", 5).run("diff", "demo", "-o", "yaml")
	golden(t, "diff/restarting.yaml", out)
}

func TestDiffBeforeTheFirstLook(t *testing.T) {
	contains(t, newDesk(t, tuningNamed("test", "demo")).fails("diff", "demo"), "nothing was looked at yet on demo")
}

func TestHistoryIsGolden(t *testing.T) {
	golden(t, "history/changed.txt", before(t, "changed", 60).prints("history", "demo"))
	golden(t, "history/returned.txt", before(t, "returned", 60).prints("history", "demo"))
	golden(t, "history/returned.yaml", before(t, "returned", 60).prints("history", "demo", "-o", "yaml"))
}

// TestHistoryOfAnOlderOperator has revisions and no recording.
func TestHistoryOfAnOlderOperator(t *testing.T) {
	d := before(t, "changed", 60)
	if err := d.kubernetes.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), d.namespace, "demo-recording"); err != nil {
		t.Fatal(err)
	}
	golden(t, "history/older.txt", d.prints("history", "demo"))
	contains(t, d.fails("report", "demo"), "no change of demo was recorded")
}

func TestHistoryOfNothing(t *testing.T) {
	contains(t, newDesk(t, tuningNamed("test", "demo")).prints("history", "demo"), "No revision was recorded yet.")
}

func TestNoRightToReadWhatWasRecorded(t *testing.T) {
	forbidden := func(resource string) clienttesting.ReactionFunc {
		return func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource(resource), "demo-recording", nil)
		}
	}
	for resource, says := range map[string]string{
		"configmaps":          "kubectl auth can-i get configmaps -n mongotuning-demo",
		"controllerrevisions": "kubectl auth can-i list controllerrevisions.apps -n mongotuning-demo",
	} {
		for _, command := range []string{"history", "report"} {
			d := before(t, "changed", 5)
			d.kubernetes.PrependReactor("*", resource, forbidden(resource))
			contains(t, d.fails(command, "demo"), says, "the role view")
		}
	}
	d := before(t, "changed", 5)
	d.kubernetes.PrependReactor("*", "events", forbidden("events"))
	out, errOut, err := d.runFor(t.Context(), "report", "demo", "--file", "-")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, errOut, "warning: the report is without events")
	contains(t, out, "Kubernetes has none any more")
}

func TestADamagedRecordingIsTold(t *testing.T) {
	d := before(t, "changed", 5)
	object := read[corev1.ConfigMap](t, "testdata/cluster/changed.recording.yaml")
	object.BinaryData["gauges"] = []byte("nonsense")
	if err := d.kubernetes.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), object, d.namespace); err != nil {
		t.Fatal(err)
	}
	contains(t, d.fails("report", "demo"), "ConfigMap demo-recording", "damaged")
}

// TestReportIsGolden renders the pages of a change that went well and of one that was taken back.
func TestReportIsGolden(t *testing.T) {
	for _, moment := range []string{"changed", "returned"} {
		golden(t, "report/"+moment+".html", before(t, moment, 60).prints("report", "demo", "--file", "-"))
	}
}

func TestReportWritesAFile(t *testing.T) {
	d := before(t, "changed", 60)
	t.Chdir(t.TempDir())
	contains(t, d.prints("report", "demo"), "Wrote demo-001061e62f.html", "verified")
	contains(t, d.prints("report", "demo", "--file", "ticket.html"), "Wrote ticket.html")
	for _, file := range []string{"demo-001061e62f.html", "ticket.html"} {
		if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "<!DOCTYPE html>") {
			t.Errorf("%s: %v", file, err)
		}
	}
	contains(t, d.fails("report", "demo", "--file", "no/such/directory.html"), "write report")
}

func TestReportForPrograms(t *testing.T) {
	var view reportView
	if err := yaml.UnmarshalStrict([]byte(before(t, "changed", 60).prints("report", "demo", "-o", "json")), &view); err != nil {
		t.Fatal(err)
	}
	if len(view.Series) < 100 || len(view.Marks) < 20 || view.Change.Revision != "demo-001061e62f" || len(view.Change.Values) == 0 {
		t.Errorf("%d series, %d marks, %+v", len(view.Series), len(view.Marks), view.Change)
	}
}
