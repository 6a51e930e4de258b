// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch

// observeTrials reads how the trial starts of a cluster went.
func (r *MongoTuningReconciler) observeTrials(ctx context.Context, tuning *v1alpha1.MongoTuning, pods map[string]*corev1.Pod) (map[string]observed.Trial, error) {
	jobs := &batchv1.JobList{}
	if err := r.List(ctx, jobs, client.InNamespace(tuning.Namespace), client.MatchingLabels(naming.Labels(tuning.Name)), client.HasLabels{naming.LabelTrial}); err != nil {
		return nil, fmt.Errorf("list trial starts: %w", err)
	}
	trials := map[string]observed.Trial{}
	for i := range jobs.Items {
		id := jobs.Items[i].Labels[naming.LabelTrial]
		trials[id] = trialOf(&jobs.Items[i], lastWords(pods, id))
	}
	return trials, nil
}

func trialOf(job *batchv1.Job, words string) observed.Trial {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return observed.Trial{State: observed.TrialPassed}
		case batchv1.JobFailed:
			if words == "" {
				words = fmt.Sprintf("its pod failed without a word (%s); it is tried again in ten minutes, or once Job %s is deleted", condition.Message, job.Name)
			}
			return observed.Trial{State: observed.TrialFailed, Message: words}
		case batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet:
		}
	}
	return observed.Trial{State: observed.TrialRunning}
}

// lastWords are what the container of a trial start said at its end.
func lastWords(pods map[string]*corev1.Pod, id string) string {
	for _, pod := range pods {
		if pod.Labels[naming.LabelTrial] != id {
			continue
		}
		for _, container := range pod.Status.ContainerStatuses {
			if ended := container.State.Terminated; ended != nil {
				return ended.Message
			}
		}
	}
	return ""
}
