// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// TestALostKeyFileIsMadeAnew shows that the members are started with another key, and that nothing else
// is made anew: data, users and shards are those of before.
func TestALostKeyFileIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	acts := len(w.servers.Acts())
	w.must(w.admin.Delete(w.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo-keyfile"}}))
	w.step()
	w.untilReady()
	for pod, made := range w.outcome().PodsMade {
		if made != 2 {
			t.Errorf("%s was made %d times, wanted 2", pod, made)
		}
	}
	if after := w.servers.Acts()[acts:]; len(after) > 0 {
		t.Errorf("a new key file led to acts on the data: %v", after)
	}
	w.isQuiet()
}

// TestALostPasswordIsReset shows that the operator gets back in through the members' own identity.
func TestALostPasswordIsReset(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	for _, name := range []string{"demo-operator", "demo-app"} {
		w.must(w.admin.Delete(w.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}))
	}
	w.step()
	w.untilReady()
	for act, want := range map[string]int{"CreateOperator": 4, "CreateApp": 2, "Initiate": 2} {
		if got := w.servers.Counted(act); got != want {
			t.Errorf("%s happened %d times, wanted %d", act, got, want)
		}
	}
	for pod, made := range w.outcome().PodsMade {
		if made != 1 {
			t.Errorf("%s was made %d times for a password", pod, made)
		}
	}
}

func TestTheApplicationsPasswordIsRotatedByEditing(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo-app"}}
	w.get(secret)
	secret.Data["password"] = []byte("another")
	w.must(w.admin.Update(w.ctx, secret))
	w.step()
	w.untilReady()
	w.get(secret)
	if !strings.Contains(string(secret.Data["uri"]), "another") || string(secret.Data["password"]) != "another" {
		t.Errorf("the connection string does not follow: %s", secret.Data["uri"])
	}
	if got := w.servers.Counted("CreateApp"); got != 2 {
		t.Errorf("the password was set %d times, wanted 2", got)
	}
}

// TestAMemberThatEndsAtItsStartIsTold shows a server that refuses its file: Kubernetes starts it again and
// again, and the object says so once it is no accident.
func TestAMemberThatEndsAtItsStartIsTold(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	pod := w.kubernetes.pods(w.ctx)["demo-shard-0-2"]
	w.servers.Stop(string(pod.UID))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "mongodb", RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 14}},
	}}
	w.must(w.admin.Status().Update(w.ctx, pod))
	tuning := w.untilStalled(v1alpha1.ReasonMemberRefusesConfiguration)
	if text := describe(tuning); !strings.Contains(text, "demo-shard-0-2") || !strings.Contains(text, "exit code 14") {
		t.Errorf("member and exit code are not told:\n%s", text)
	}
	if !conditionIs(tuning, v1alpha1.ConditionAvailable, metav1.ConditionTrue) {
		t.Errorf("a set with a primary is available:\n%s", describe(tuning))
	}
}

// TestPodsThatGoAwayComeBackAsTheyWere takes pods away by hand: one, a whole shard, all.
func TestPodsThatGoAwayComeBackAsTheyWere(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	acts := len(w.servers.Acts())
	for _, prefix := range []string{"demo-shard-0-0", "demo-shard-0", "demo-"} {
		for name, pod := range w.kubernetes.pods(w.ctx) {
			if strings.HasPrefix(name, prefix) {
				w.must(w.admin.Delete(w.ctx, pod))
			}
		}
		w.step()
		tuning := w.untilReady()
		if tuning.Status.ProvedMembers != "4/4" {
			t.Errorf("after the end of %s* only %s are proved", prefix, tuning.Status.ProvedMembers)
		}
	}
	if after := w.servers.Acts()[acts:]; len(after) > 0 {
		t.Errorf("pods that came back led to acts on the data: %v", after)
	}
}
