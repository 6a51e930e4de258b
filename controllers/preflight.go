// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// preflightSuffix ends the names of pods that are tried. A name of their own keeps a pod that exists out
// of the way, and a fixed one keeps the answer, which ends in status, the same at every look.
const preflightSuffix = "-preflight"

// podRefusedError says that Kubernetes would not let a pod be made, and what to do.
type podRefusedError struct {
	says string
}

func (e *podRefusedError) Error() string { return e.says }

// preflightMember asks Kubernetes whether it would let a member's pod be made, before its template is
// written: a StatefulSet whose pods are refused keeps the members down that it has to make anew. Only
// pods that ask for more than the restricted profile gives are asked for.
func (r *MongoTuningReconciler) preflightMember(ctx context.Context, cluster desired.Cluster, set desired.ReplicaSet) error {
	if !cluster.TunesHosts() {
		return nil
	}
	described, err := typed[appsv1.StatefulSet](cluster.StatefulSet(set))
	if err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: described.Spec.Template.ObjectMeta, Spec: described.Spec.Template.Spec}
	pod.Name, pod.Namespace = set.Name+preflightSuffix, cluster.Tuning.Namespace
	pod.Spec.Hostname, pod.Spec.Subdomain = naming.Member(set.Name, 0), set.Name
	for _, claim := range described.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + naming.Member(set.Name, 0)},
		}})
	}
	refused := r.preflight(ctx, pod)
	if refused == nil || !strings.Contains(refused.Error(), "exceeded quota") {
		return refused
	}
	pods, err := r.pods(ctx, cluster.Tuning)
	if err != nil {
		return err
	}
	if pods[naming.Member(set.Name, 0)] != nil {
		return nil // it makes room before its successor is made
	}
	return refused
}

// preflight is a creation that the API server carries out to the last check and does not keep.
func (r *MongoTuningReconciler) preflight(ctx context.Context, pod *corev1.Pod) error {
	err := r.Create(ctx, pod, client.DryRunAll)
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "cannot create resource"), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("try to make a pod: %w", err)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &podRefusedError{says: refusal(pod, err)}
	default:
		return fmt.Errorf("try to make a pod: %w", err)
	}
}

func refusal(pod *corev1.Pod, err error) string {
	says := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		says = status.Status().Message
	}
	text := "Kubernetes would refuse the pods that tune hosts, so nothing was changed: " + says
	if strings.Contains(says, "violates PodSecurity") {
		text += fmt.Sprintf(". They need a namespace that allows privileged pods: kubectl label namespace %s pod-security.kubernetes.io/enforce=privileged --overwrite", pod.Namespace)
	}
	return text
}
