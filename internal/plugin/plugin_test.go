// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// desk is a person at a terminal before a cluster of some objects.
type desk struct {
	t          *testing.T
	dynamic    *dynamicfake.FakeDynamicClient
	kubernetes *kubernetesfake.Clientset
	namespace  string
	now        time.Time
	colours    bool
	// metrics is what the operator's endpoint serves; nil without one.
	metrics *metricsPage
	// offline is why there is no way to the cluster.
	offline error
}

// at is when the objects of testdata were saved, and a little later.
var at = time.Date(2026, time.November, 21, 18, 30, 0, 0, time.UTC)

func newDesk(t *testing.T, objects ...runtime.Object) *desk {
	t.Helper()
	var ours, theirs []runtime.Object
	for _, object := range objects {
		switch object.(type) {
		case *v1alpha1.MongoTuning, *v1alpha1.TuningProfile:
			ours = append(ours, untyped(t, object))
		default:
			theirs = append(theirs, object)
		}
	}
	kinds := map[schema.GroupVersionResource]string{tuningsResource: "MongoTuningList", profilesResource: "TuningProfileList"}
	return &desk{
		t: t, now: at, namespace: "test",
		dynamic:    dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, ours...),
		kubernetes: kubernetesfake.NewClientset(theirs...),
	}
}

// run types a command and returns what it printed, and its error.
func (d *desk) run(args ...string) (out string, err error) {
	d.t.Helper()
	out, _, err = d.runFor(d.t.Context(), args...)
	return out, err
}

func (d *desk) runFor(ctx context.Context, args ...string) (out, errOut string, err error) {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	c := &commands{
		Environment: Environment{
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr},
			Clock:     clocktesting.NewFakeClock(d.now), Colours: d.colours, Version: "v0.0.0-test",
		},
		flags: genericclioptions.NewConfigFlags(true),
		connect: func() (*access, error) {
			if d.offline != nil {
				return nil, d.offline
			}
			way := &access{dynamic: d.dynamic, kubernetes: d.kubernetes, namespace: d.namespace}
			if d.metrics != nil {
				way.served = d.metrics
			}
			return way, nil
		},
	}
	root := c.root() //nolint:contextcheck // cobra hands the context to the command that runs
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// prints runs a command that succeeds.
func (d *desk) prints(args ...string) string {
	d.t.Helper()
	out, err := d.run(args...)
	if err != nil {
		d.t.Fatalf("%v: %v", args, err)
	}
	return out
}

// fails runs a command that fails, and returns why.
func (d *desk) fails(args ...string) string {
	d.t.Helper()
	out, err := d.run(args...)
	if err == nil {
		d.t.Fatalf("%v does not fail and prints\n%s", args, out)
	}
	return err.Error()
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), or go test -update:\n%s", path, diff)
	}
}

// read reads an object of testdata.
func read[T any](t *testing.T, path string) *T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return object
}

// answers makes the API server answer every request for MongoTunings with an error.
func (d *desk) answers(verb string, err error) {
	d.dynamic.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}

func tuningNamed(namespace, name string) *v1alpha1.MongoTuning {
	return &v1alpha1.MongoTuning{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MongoTuning"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1},
		Spec:       v1alpha1.MongoTuningSpec{MongoDB: v1alpha1.MongoDBSpec{Version: "4.4.2"}},
	}
}

// contains looks for words, wherever the lines break.
func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), word) {
			t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
}

// TestErrorsSayWhatToDo asks every command that reads a MongoTuning, before clusters that cannot answer.
func TestErrorsSayWhatToDo(t *testing.T) {
	resource := tuningsResource.GroupResource()
	missingKind := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
	for _, row := range []struct {
		name    string
		objects []runtime.Object
		err     error
		want    []string
	}{
		{"no such object, one with a similar name", []runtime.Object{tuningNamed("test", "demo")}, nil,
			[]string{"there is no MongoTuning dmeo in namespace test", "did you mean demo?"}},
		{"no such object, others of other names", []runtime.Object{tuningNamed("test", "orders"), tuningNamed("test", "billing")}, nil,
			[]string{"there is no MongoTuning dmeo", "there are billing, orders"}},
		{"no object at all", nil, nil, []string{"and no other either", "kubectl get mtune -A"}},
		{"the object is in another namespace", []runtime.Object{tuningNamed("shop", "dmeo")}, nil, []string{"there is one in namespace shop", "-n shop"}},
		{"the operator is not installed", nil, missingKind, []string{"does not know mongotunings.mongotuning.io", "kubectl apply --server-side -f dist/install.yaml", "kubectl config current-context"}},
		{"no right to read", nil, apierrors.NewForbidden(resource, "dmeo", nil), []string{"forbidden", "kubectl auth can-i get mongotunings.mongotuning.io -n test", "the role view"}},
		{"nobody is logged in", nil, apierrors.NewUnauthorized("Unauthorized"), []string{"log in again", "--context"}},
		{"a busy cluster", nil, apierrors.NewTooManyRequestsError("busy"), []string{"too busy", "try again"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, command := range []string{"status", "suspend", "resume", "retry", "proceed"} {
				d := newDesk(t, row.objects...)
				if row.err != nil {
					d.answers("*", row.err)
				}
				contains(t, d.fails(command, "dmeo"), row.want...)
			}
		})
	}
}

func TestNoRightToAnnotate(t *testing.T) {
	d := newDesk(t, tuningNamed("test", "demo"))
	d.answers("patch", apierrors.NewForbidden(tuningsResource.GroupResource(), "demo", nil))
	contains(t, d.fails("suspend", "demo"), "kubectl auth can-i patch mongotunings.mongotuning.io -n test", "the role edit")
}

func TestSomebodyElseWasFaster(t *testing.T) {
	d := newDesk(t, tuningNamed("test", "demo"))
	d.answers("patch", apierrors.NewConflict(tuningsResource.GroupResource(), "demo", nil))
	contains(t, d.fails("suspend", "demo"), "changed in this moment", "kubectl mongotuning status demo")
}

// TestUnconfigured runs as somebody without any kubeconfig.
func TestUnconfigured(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	var out bytes.Buffer
	root := New(Environment{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, Clock: clocktesting.NewFakeClock(at)})
	root.SetArgs([]string{"status", "demo"})
	err := root.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("there is a cluster")
	}
	contains(t, err.Error(), "no cluster is configured", "--kubeconfig")
}

func TestHelpIsGolden(t *testing.T) {
	golden(t, "help.txt", newDesk(t).prints("--help"))
}

// TestFlagsOfKubectlAreTaken uses some that help does not list.
func TestFlagsOfKubectlAreTaken(t *testing.T) {
	d := newDesk(t, tuningNamed("test", "demo"))
	contains(t, d.prints("status", "demo", "--as", "somebody", "--request-timeout", "5s", "-n", "test"), "demo")
}

func TestCompletion(t *testing.T) {
	d := newDesk(t, tuningNamed("test", "demo"), tuningNamed("test", "orders"), tuningNamed("shop", "drinks"),
		&v1alpha1.TuningProfile{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TuningProfile"}, ObjectMeta: metav1.ObjectMeta{Name: "ours"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	for _, row := range []struct {
		name string
		args []string
		want []string
	}{
		{"names of the namespace", []string{"status", ""}, []string{"demo", "orders"}},
		{"names that begin so", []string{"retry", "d"}, []string{"demo"}},
		{"one name only", []string{"retry", "demo", ""}, nil},
		{"knobs", []string{"explain", "checkpoint."}, []string{"checkpoint.waitSeconds", "checkpoint.logSizeGB"}},
		{"parameters of the list", []string{"explain", "setParameters.ttl"}, nil},
		{"profiles of the cluster", []string{"profiles", ""}, []string{"ours"}},
		{"namespaces", []string{"status", "demo", "-n", ""}, []string{"shop"}},
		{"formats", []string{"status", "demo", "-o", ""}, []string{"json", "yaml"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for line := range strings.Lines(d.prints(append([]string{"__complete"}, row.args...)...)) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, ":") {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProfilesAreCompletedWithoutACluster(t *testing.T) {
	d := newDesk(t)
	d.offline = context.DeadlineExceeded
	contains(t, d.prints("__complete", "profiles", "million"), "million-tps-v1", "million-tps-v3")
}

// annotationsOf are the annotations of an object in the cluster.
func (d *desk) annotationsOf(name string) map[string]string {
	d.t.Helper()
	object, err := d.dynamic.Resource(tuningsResource).Namespace(d.namespace).Get(d.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return object.GetAnnotations()
}
