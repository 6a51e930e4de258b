package node

import (
	"text/template"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/process"
)

// kubeletConfig: what differs from the defaults says why.
var kubeletConfig = template.Must(template.New("kubelet").Parse(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {{.HostAddress}}
port: {{.Port}}
healthzBindAddress: {{.HostAddress}}
healthzPort: {{.HealthPort}}
tlsCertFile: {{.Certificate}}
tlsPrivateKeyFile: {{.Key}}
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: {{.CA}}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://{{.Socket}}
cgroupDriver: cgroupfs
cgroupRoot: {{.CgroupRoot}}
# The machine may have version 1 of control groups, and may swap.
failCgroupV1: false
failSwapOn: false
clusterDNS: ["{{.HostAddress}}"]
clusterDomain: cluster.local
# An empty one: the host's search domains would otherwise be tried for every
# cluster name, and outside names are not served.
resolvConf: {{.ResolvConf}}
podLogsDir: {{.PodLogs}}
volumePluginDir: {{.VolumePlugins}}
maxPods: 110
# Pods are routed without iptables, and the host's rules are not ours.
makeIPTablesUtilChains: false
# Images are loaded from files and could not be pulled again; a developer's
# disk is often nearly full without that being a reason to end pods.
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  memory.available: 100Mi
  nodefs.available: 1%
  nodefs.inodesFree: 1%
  imagefs.available: 1%
  imagefs.inodesFree: 1%
# Lowering the score needs a capability that this machine's root may lack.
oomScoreAdj: 0
# The defaults save a large cluster's API server; here they only slow starts.
kubeAPIQPS: 100
kubeAPIBurst: 200
eventRecordQPS: 0
serializeImagePulls: false
`))

func kubelet(l layout.Layout, programs map[string]string) (process.Spec, error) {
	config := l.State("config", "kubelet.yaml")
	resolv := l.State("config", "resolv.conf")
	if err := writeFile(resolv, "", 0o644); err != nil {
		return process.Spec{}, err
	}
	err := writeTemplate(config, kubeletConfig, map[string]any{
		"HostAddress": l.HostAddress(), "Port": layout.KubeletPort, "HealthPort": layout.KubeletHealthPort,
		"Certificate": certificate(l, "kubelet-serving"), "Key": privateKey(l, "kubelet-serving"), "CA": certificate(l, "ca"),
		"Socket": l.ContainerdSocket(), "CgroupRoot": l.CgroupRoot(), "ResolvConf": resolv,
		"PodLogs": l.State("pod-logs"), "VolumePlugins": l.State("volume-plugins"),
	})
	return process.Spec{
		Part: "kubelet", Program: programs["kubelet"], Log: l.LogFile("kubelet"),
		Args: []string{
			"--config=" + config, "--kubeconfig=" + l.Kubeconfig(userKubelet), "--root-dir=" + l.State("kubelet"),
			"--hostname-override=" + l.Name, "--node-ip=" + l.HostAddress(),
		},
		Files: []string{config},
	}, err
}
