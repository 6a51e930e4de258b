// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// wholeReports is up to how many nodes status keeps reports whole; an object in etcd has its limit.
const wholeReports = 64

// hostTuning is what status remembers of the nodes. A node on which a member with host tuning has landed
// is listed before anything is written there, and until it was put back or is gone.
func hostTuning(old v1alpha1.HostTuningStatus, cluster plan.Cluster) v1alpha1.HostTuningStatus {
	status := v1alpha1.HostTuningStatus{Warnings: cluster.HostWarnings}
	touched := slices.Clone(old.NodesTouched)
	for _, host := range cluster.Hosts {
		switch {
		case host.IsLeft && (host.IsGone || host.IsRestored):
			touched = slices.DeleteFunc(touched, func(name string) bool { return name == host.Name })
		case len(host.Pods) > 0 && !slices.Contains(touched, host.Name):
			touched = append(touched, host.Name)
		}
	}
	slices.Sort(touched)
	status.NodesTouched = touched
	for _, host := range cluster.Hosts {
		if slices.Contains(touched, host.Name) && (host.Status.ReportTime != nil || host.Status.Failure != "") {
			status.Nodes = append(status.Nodes, keptReport(host.Status, len(cluster.Hosts)))
		}
	}
	slices.SortFunc(status.Nodes, func(a, b v1alpha1.HostNodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	return status
}

func keptReport(report v1alpha1.HostNodeStatus, nodes int) v1alpha1.HostNodeStatus {
	if nodes > wholeReports {
		report.Settings = slices.DeleteFunc(slices.Clone(report.Settings), func(setting v1alpha1.HostSettingStatus) bool {
			return setting.Result == v1alpha1.HostApplied || setting.Result == v1alpha1.HostAlreadySet
		})
	}
	return report
}

// bad are the results that keep a node from being tuned, the reason of the condition, and what to say.
var bad = []struct {
	result       v1alpha1.HostResult
	reason, says string
}{
	{v1alpha1.HostConflict, v1alpha1.ReasonHostConflict, "is wanted otherwise by another MongoTuning"},
	{v1alpha1.HostRefused, v1alpha1.ReasonHostTuningFailed, "was refused"},
	{v1alpha1.HostDiffers, v1alpha1.ReasonHostDrift, "was changed by somebody else"},
}

// hostTuned says whether every node has the declared host settings. There is nothing to say while host
// tuning is off and no node is left to be put back.
func hostTuned(cluster plan.Cluster) (metav1.Condition, bool) {
	if len(cluster.Hosts) == 0 {
		return metav1.Condition{}, false
	}
	for _, row := range bad {
		for _, host := range cluster.Hosts {
			for _, setting := range host.Status.Settings {
				if setting.Result == row.result && !host.IsLeft {
					return isFalse(v1alpha1.ConditionHostTuned, row.reason, sentence(host, setting, row.says)), true
				}
			}
		}
	}
	for _, host := range cluster.Hosts {
		if host.Status.Failure != "" {
			return isFalse(v1alpha1.ConditionHostTuned, v1alpha1.ReasonHostTuningFailed, fmt.Sprintf("node %s: %s", host.Name, host.Status.Failure)), true
		}
	}
	for _, host := range cluster.Hosts {
		switch {
		case host.IsLeft:
			return unknown(v1alpha1.ConditionHostTuned, v1alpha1.ReasonTuningHosts, "node "+host.Name+" has to be put back: no member that tunes it is there any more"), true
		case host.Status.Revision != host.Target.Revision:
			return unknown(v1alpha1.ConditionHostTuned, v1alpha1.ReasonTuningHosts, "there is no report of node "+host.Name+" about the declared settings yet"), true
		}
	}
	return isTrue(v1alpha1.ConditionHostTuned, v1alpha1.ReasonHostsTuned, fmt.Sprintf("%d nodes have the declared host settings", len(cluster.Hosts))), true
}

func sentence(host plan.Host, setting v1alpha1.HostSettingStatus, says string) string {
	text := fmt.Sprintf("%s on node %s %s: wanted %q, found %q", setting.Name, host.Name, says, setting.Wanted, setting.Found)
	if setting.Detail != "" {
		text += " (" + setting.Detail + ")"
	}
	if setting.Result == v1alpha1.HostDiffers && len(host.Writers) > 0 {
		text += "; " + host.Writers[0] + " runs there and writes settings by itself"
	}
	return text
}
