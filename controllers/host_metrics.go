// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/metrics"
)

// hostMetrics shows the reports of the nodes.
func hostMetrics(status v1alpha1.HostTuningStatus) []metrics.Host {
	hosts := make([]metrics.Host, 0, len(status.Nodes))
	for _, node := range status.Nodes {
		host := metrics.Host{Name: node.Name, WriteMiBPerSecond: node.Facts.WriteMiBPerSecond, Results: map[v1alpha1.HostResult]int{}}
		for _, setting := range node.Settings {
			host.Results[setting.Result]++
		}
		hosts = append(hosts, host)
	}
	return hosts
}
