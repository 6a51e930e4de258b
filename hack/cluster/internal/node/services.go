package node

import (
	"fmt"
	"os"
	"text/template"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/process"
)

// provisionerName is what the storage class names.
const provisionerName = "mongotuning.io/local"

// proxy runs where the pods' packets pass. Its conntrack limits are left to the
// kernel: they would be settings of the whole host.
func proxy(l layout.Layout, programs map[string]string) process.Spec {
	return process.Spec{
		Part: "kube-proxy", Program: programs["kube-proxy"], Log: l.LogFile("kube-proxy"), Netns: l.Netns(),
		Args: []string{
			"--kubeconfig=" + l.Kubeconfig(userProxy), "--hostname-override=" + l.Name,
			"--proxy-mode=nftables", "--cluster-cidr=" + l.PodCIDR(),
			"--nodeport-addresses=" + l.LinkCIDR(),
			"--conntrack-max-per-core=0", "--conntrack-min=0",
			"--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
			"--oom-score-adj=0",
			fmt.Sprintf("--healthz-bind-address=%s:%d", l.NodeAddress(), layout.ProxyHealthPort),
			fmt.Sprintf("--metrics-bind-address=%s:%d", l.NodeAddress(), layout.ProxyMetricsPort),
		},
	}
}

// corefile answers for the cluster's names only. A short time to live lets a
// test see a pod's new address soon.
var corefile = template.Must(template.New("Corefile").Parse(`cluster.local:{{.Port}} in-addr.arpa:{{.Port}} {
    bind {{.Address}}
    errors
    cache 2
    kubernetes cluster.local in-addr.arpa {
        kubeconfig {{.Kubeconfig}} {{.Context}}
        ttl 2
    }
}
`))

func dns(l layout.Layout, programs map[string]string) (process.Spec, error) {
	config := l.State("config", "Corefile")
	err := writeTemplate(config, corefile, map[string]any{
		"Port": layout.DNSPort, "Address": l.HostAddress(), "Kubeconfig": l.Kubeconfig(userAdmin), "Context": l.Name,
	})
	return process.Spec{
		Part: "coredns", Program: programs["coredns"], Log: l.LogFile("coredns"),
		Args: []string{"-conf", config}, Files: []string{config},
	}, err
}

func provisioner(l layout.Layout, programs map[string]string) (process.Spec, error) {
	if err := os.MkdirAll(l.State("volumes"), 0o711); err != nil {
		return process.Spec{}, fmt.Errorf("make volume directory: %w", err)
	}
	return process.Spec{
		Part: "storage-provisioner", Program: programs["storage-provisioner"], Log: l.LogFile("storage-provisioner"),
		Args: []string{
			"--kubeconfig=" + l.Kubeconfig(userAdmin), "--root=" + l.State("volumes"),
			"--node=" + l.Name, "--provisioner=" + provisionerName,
		},
	}, nil
}

// storageClass waits for a consumer, as the classes of real clusters do.
const storageClass = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: local
  annotations:
    storageclass.kubernetes.io/is-default-class: "true"
provisioner: ` + provisionerName + `
volumeBindingMode: WaitForFirstConsumer
reclaimPolicy: Delete
`
