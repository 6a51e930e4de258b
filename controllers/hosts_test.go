// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
)

var reported = hosttune.Report{Revision: "a", Lines: []hosttune.Line{{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "60", Wanted: "1", Result: hosttune.Applied}}}

func terminated(message string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Message: message, FinishedAt: metav1.NewTime(time.Unix(100, 0))}
}

func TestObserveHostPod(t *testing.T) {
	words := hosttune.Encode(reported, hosttune.MessageLimit)
	for _, row := range []struct {
		name                   string
		containers             []string
		status                 []corev1.ContainerStatus
		tunes, waits, hasWords bool
	}{
		{"a member without host tuning", []string{"prepare"}, nil, false, false, false},
		{"one that has not begun", []string{"prepare", naming.HostTuneContainer}, nil, true, true, false},
		{"one that waits for the settings of its node", []string{naming.HostTuneContainer}, []corev1.ContainerStatus{{
			Name: naming.HostTuneContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}, true, true, false},
		{"one that tuned its node", []string{naming.HostTuneContainer}, []corev1.ContainerStatus{{
			Name: naming.HostTuneContainer, State: corev1.ContainerState{Terminated: terminated(words)},
		}}, true, false, true},
		{"one that failed and is tried again still has told why", []string{naming.HostTuneContainer}, []corev1.ContainerStatus{{
			Name: naming.HostTuneContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: terminated(words)},
		}}, true, true, true},
		{"one that ended without a word", []string{naming.HostTuneContainer}, []corev1.ContainerStatus{{
			Name: naming.HostTuneContainer, State: corev1.ContainerState{Terminated: terminated("")},
		}}, true, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: row.status}}
			for _, name := range row.containers {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name})
			}
			seen := observeHostPod(pod)
			if seen.Tunes != row.tunes || seen.Waits != row.waits || (seen.Report != nil) != row.hasWords {
				t.Errorf("tunes %t, waits %t, report %v", seen.Tunes, seen.Waits, seen.Report)
			}
			if seen.Report != nil && (seen.Report.Revision != "a" || !seen.Report.At.Equal(time.Unix(100, 0))) {
				t.Errorf("the report is %+v", seen.Report)
			}
		})
	}
}

func TestObserveHostJob(t *testing.T) {
	job := func(condition batchv1.JobConditionType) *batchv1.Job {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Name: "demo-host-1", Labels: map[string]string{naming.LabelHostJob: naming.HostJobApply},
			Annotations: map[string]string{naming.AnnotationHostNode: "node-1", naming.AnnotationHostRevision: "a"},
		}}
		if condition != "" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Message: "Job was active longer than specified deadline"}}
		}
		return job
	}
	pod := func(status corev1.ContainerStatus) map[string]*corev1.Pod {
		return map[string]*corev1.Pod{"demo-host-1-x": {
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: "demo-host-1"}},
			Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}},
		}}
	}
	ended := pod(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: terminated(hosttune.Encode(reported, hosttune.MessageLimit))}})
	stuck := pod(corev1.ContainerStatus{Name: naming.HostTuneContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}}})
	for _, row := range []struct {
		name      string
		condition batchv1.JobConditionType
		pods      map[string]*corev1.Pod
		state     observed.TrialState
		hasReport bool
		says      string
	}{
		{"one under way", "", nil, observed.TrialRunning, false, ""},
		{"one that is done", batchv1.JobComplete, ended, observed.TrialPassed, true, ""},
		{"one that failed has a report all the same", batchv1.JobFailed, ended, observed.TrialFailed, true, "deadline"},
		{"one whose pod never started says why", batchv1.JobFailed, stuck, observed.TrialFailed, false, "no such image"},
		{"one without a pod says what Kubernetes says", batchv1.JobFailed, nil, observed.TrialFailed, false, "longer than specified deadline"},
	} {
		t.Run(row.name, func(t *testing.T) {
			seen := observeHostJob(job(row.condition), row.pods)
			if seen.Node != "node-1" || seen.Revision != "a" || seen.Does != naming.HostJobApply {
				t.Errorf("read %+v", seen)
			}
			if seen.State != row.state || (seen.Report != nil) != row.hasReport || !strings.Contains(seen.Message, row.says) {
				t.Errorf("state %d, report %v, message %q", seen.State, seen.Report, seen.Message)
			}
		})
	}
}

// answers is a network on which everybody gives one answer.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(request *http.Request) (*http.Response, error) { return a(request) }

func TestHTTPHostReaders(t *testing.T) {
	asked := ""
	answer := func(status int, body string) *HTTPHostReaders {
		return &HTTPHostReaders{Client: &http.Client{Transport: answers(func(request *http.Request) (*http.Response, error) {
			asked = request.URL.String()
			return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body))}, nil
		})}}
	}
	reading, err := answer(http.StatusOK, `{"revision":"a","writers":["tuned"],"lines":[{"setting":"vm.swappiness","result":"Differs"}]}`).Read(t.Context(), "10.1.2.3")
	if err != nil || reading.Revision != "a" || len(reading.Lines) != 1 || reading.Lines[0].Result != hosttune.Differs {
		t.Errorf("read %+v, %v", reading, err)
	}
	if asked != "http://10.1.2.3:9217/reading" {
		t.Errorf("asked %s", asked)
	}
	if _, err := answer(http.StatusOK, `{}`).Read(t.Context(), "fd00::1"); err != nil || asked != "http://[fd00::1]:9217/reading" {
		t.Errorf("asked %s: %v", asked, err)
	}
	for name, bad := range map[string]*HTTPHostReaders{
		"an error of the reader": answer(http.StatusInternalServerError, `{}`),
		"something else there":   answer(http.StatusOK, `<html>`),
		"an answer without end":  answer(http.StatusOK, `{"revision":"`+strings.Repeat("x", longestReading)),
		"nobody there": {Client: &http.Client{Transport: answers(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("no route")
		})}},
	} {
		if _, err := bad.Read(t.Context(), "10.1.2.3"); err == nil {
			t.Errorf("%s is taken for a reading", name)
		}
	}
}

func TestRefusalsOfPods(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo-shard-0-preflight"}}
	forbidden := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New(why))
	}
	const command = "kubectl label namespace shop pod-security.kubernetes.io/enforce=privileged --overwrite"
	if says := refusal(pod, forbidden(`violates PodSecurity "baseline:latest": privileged`)); !strings.Contains(says, command) || !strings.Contains(says, "baseline:latest") {
		t.Errorf("Pod Security: %s", says)
	}
	if says := refusal(pod, forbidden("exceeded quota: small")); strings.Contains(says, "label") || !strings.Contains(says, "exceeded quota: small") {
		t.Errorf("a quota: %s", says)
	}
}
