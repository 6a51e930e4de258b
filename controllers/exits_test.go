// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/mongotuning/mongotuning/internal/observed"
)

// containerLogs is a cluster whose only answer is the log of an ended container.
type containerLogs struct {
	text string
	fail error
	// asked are the options of each reading, by namespace and pod.
	asked []corev1.PodLogOptions
}

func (l *containerLogs) reader() *ExitLogs {
	clients := fake.NewClientset()
	clients.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		options, ok := action.(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions)
		if !ok || action.GetSubresource() != "log" || action.GetNamespace() != "shop" {
			return true, nil, errors.New("only logs of pods of shop can be had")
		}
		l.asked = append(l.asked, *options)
		return true, &runtime.Unknown{Raw: []byte(l.text)}, l.fail
	})
	return &ExitLogs{Pods: clients.CoreV1()}
}

// ended is a member whose server does not answer and ended so often.
func ended(restarts int32) *observed.Member {
	return &observed.Member{
		Name: "demo-shard-0-1", Look: observed.Look{State: observed.StateUnknown},
		Pod: observed.Pod{Exists: true, UID: "a", Exited: &observed.Exit{Code: 14, Restarts: restarts}},
	}
}

func TestTheLogOfTheEndedContainerIsRead(t *testing.T) {
	logs := &containerLogs{text: "{\"s\":\"F\",\"id\":1,\"msg\":\"no room\"}\n"}
	member := ended(2)
	logs.reader().explain(t.Context(), "shop", member, secrets{})
	if got := member.Pod.Exited.Line; got != "no room" {
		t.Errorf("the exit is explained by %q", got)
	}
	want := []corev1.PodLogOptions{{Container: "mongodb", Previous: true, TailLines: ptr.To[int64](200), LimitBytes: ptr.To[int64](1 << 20)}}
	if diff := cmp.Diff(want, logs.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func TestKnownCausesExplainAnExitFirst(t *testing.T) {
	const fatal = `{"s":"F","id":23091,"msg":"Fatal assertion"}` + "\n"
	for name, row := range map[string]struct{ log, want string }{
		"WiredTiger":            {fatal + `{"s":"E","id":22435,"msg":"WiredTiger error","attr":{"message":"bad target"}}`, "WiredTiger error: bad target"},
		"majority read concern": {fatal + `{"s":"F","id":5324700,"msg":"cannot be turned off"}`, "cannot be turned off"},
		"nothing known":         {`{"s":"I","id":1,"msg":"starting"}` + "\n" + fatal, "Fatal assertion"},
	} {
		t.Run(name, func(t *testing.T) {
			member := ended(2)
			(&containerLogs{text: row.log}).reader().explain(t.Context(), "shop", member, secrets{})
			if got := member.Pod.Exited.Line; got != row.want {
				t.Errorf("the exit is explained by %q, wanted %q", got, row.want)
			}
		})
	}
}

func TestEachExitIsReadOnce(t *testing.T) {
	logs := &containerLogs{text: "first", fail: errors.New("not yet")}
	reader := logs.reader()
	for _, step := range []struct {
		says     string
		change   func()
		restarts int32
		line     string
		asked    int
	}{
		{"a log that cannot be had explains nothing", func() {}, 2, "", 1},
		{"and is asked for again", func() { logs.fail = nil }, 2, "first", 2},
		{"an exit that was read is remembered", func() { logs.text = "second" }, 2, "first", 2},
		{"the next exit of the pod is another one", func() {}, 3, "second", 3},
	} {
		step.change()
		member := ended(step.restarts)
		reader.explain(t.Context(), "shop", member, secrets{})
		if got := member.Pod.Exited.Line; got != step.line || len(logs.asked) != step.asked {
			t.Errorf("%s: %q after %d readings, wanted %q after %d", step.says, got, len(logs.asked), step.line, step.asked)
		}
	}
}

func TestOnlyExitsOfServersThatAreDownAreRead(t *testing.T) {
	logs := &containerLogs{text: "no reason"}
	serving, running := ended(2), ended(2)
	serving.Look.State = observed.StateSecondary
	running.Pod.Exited = nil
	for _, member := range []*observed.Member{serving, running} {
		logs.reader().explain(t.Context(), "shop", member, secrets{})
	}
	(*ExitLogs)(nil).explain(t.Context(), "shop", ended(2), secrets{})
	if len(logs.asked) > 0 || serving.Pod.Exited.Line != "" {
		t.Errorf("%d logs were read", len(logs.asked))
	}
}

// TestNoSecretIsShown tries secrets where a server might print them: whole, in quotes, cut off by the
// bound on what is shown, and a key file that somebody made with line breaks.
func TestNoSecretIsShown(t *testing.T) {
	key := strings.Repeat("kE7+", 252)
	broken := strings.Repeat("aB3/", 16) + "\n" + strings.Repeat("cD5=", 16) + "\n"
	as := secrets{keyFile: []byte(key), operator: login{password: "0perator-secret"}, app: login{password: `app "secret"`}}
	withBreaks := as
	withBreaks.keyFile = []byte(broken)
	for name, row := range map[string]struct {
		as        secrets
		log, want string
	}{
		"the operator's password":        {as, "cannot log in with 0perator-secret", "cannot log in with [secret]"},
		"the application's, plain":       {as, `cannot log in with app "secret"`, "cannot log in with [secret]"},
		"the application's, in a string": {as, `{"s":"F","id":1,"msg":"refused","attr":{"error":"by app \"secret\" twice: app \"secret\""}}`, "refused: by [secret] twice: [secret]"},
		"the key file":                   {as, "bad key " + key, "bad key [secret]"},
		"the key file, in a string":      {as, `{"s":"F","id":1,"msg":"bad key","attr":{"error":"` + key + `"}}`, "bad key: [secret]"},
		"a password at the bound":        {as, strings.Repeat("x", 290) + "0perator-secret", strings.Repeat("x", 290) + "[secret]"},
		"a line of the key file":         {withBreaks, "bad key " + strings.Repeat("cD5=", 16), "bad key [secret]"},
		"nothing secret":                 {secrets{}, "no room", "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			member := ended(2)
			(&containerLogs{text: row.log}).reader().explain(t.Context(), "shop", member, row.as)
			if got := member.Pod.Exited.Line; got != row.want {
				t.Errorf("shown is %q, wanted %q", got, row.want)
			}
		})
	}
}
