// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/status"
)

// tellHosts tells which nodes were put back or are gone, and how nodes of one shard differ. How settings
// went is told when the condition HostTuned turns.
func (r *MongoTuningReconciler) tellHosts(tuning *v1alpha1.MongoTuning, before v1alpha1.HostTuningStatus, facts status.Facts) {
	after := tuning.Status.HostTuning
	var restored, gone []string
	for _, host := range facts.Cluster.Hosts {
		switch {
		case !slices.Contains(before.NodesTouched, host.Name) || slices.Contains(after.NodesTouched, host.Name):
		case host.IsGone:
			gone = append(gone, "node "+host.Name+" does not exist any more and keeps nothing to put back")
		default:
			restored = append(restored, "node "+host.Name+" was put back")
		}
	}
	r.say(tuning, corev1.EventTypeNormal, v1alpha1.EventHostRestored, "RestoreHost", restored...)
	r.say(tuning, corev1.EventTypeNormal, v1alpha1.EventHostRestored, "RestoreHost", gone...)
	r.say(tuning, corev1.EventTypeWarning, v1alpha1.EventHostsDiffer, "Compare", slices.DeleteFunc(slices.Clone(after.Warnings), func(warning string) bool {
		return slices.Contains(before.Warnings, warning)
	})...)
}
