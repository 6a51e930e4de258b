package node

import (
	"fmt"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/pki"
)

// Users with a kubeconfig. Groups and names are those to which Kubernetes
// itself binds the rights of each part.
const (
	userAdmin             = "admin"
	userControllerManager = "kube-controller-manager"
	userScheduler         = "kube-scheduler"
	userProxy             = "kube-proxy"
	userKubelet           = "kubelet"
)

const administrators = "system:masters"

func subjects(l layout.Layout) []pki.Subject {
	return []pki.Subject{
		{Name: "kube-apiserver", User: "kube-apiserver", Hosts: []string{
			l.HostAddress(), l.ServiceAddress(), "127.0.0.1", "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
		{Name: "kube-apiserver-kubelet-client", User: "kube-apiserver-kubelet-client", Groups: []string{administrators}},
		{Name: "etcd", User: "etcd", Hosts: []string{l.LoopbackAddress()}},
		{Name: "kubelet-serving", User: "system:node:" + l.Name, Groups: []string{"system:nodes"}, Hosts: []string{l.HostAddress(), l.Name}},
		{Name: userAdmin, User: "cluster-administrator", Groups: []string{administrators}},
		{Name: userControllerManager, User: "system:kube-controller-manager"},
		{Name: userScheduler, User: "system:kube-scheduler"},
		{Name: userProxy, User: "system:kube-proxy"},
		{Name: userKubelet, User: "system:node:" + l.Name, Groups: []string{"system:nodes"}},
	}
}

// ensureCredentials makes certificates and kubeconfigs. DNS and the storage
// provisioner use the administrator's: they are this program's own helpers.
func ensureCredentials(l layout.Layout) error {
	if err := pki.Ensure(l.State("pki"), subjects(l)); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	for _, user := range []string{userAdmin, userControllerManager, userScheduler, userProxy, userKubelet} {
		if err := pki.WriteKubeconfig(l.Kubeconfig(user), l.State("pki"), l.Name, l.APIServerURL(), user); err != nil {
			return err
		}
	}
	return nil
}

func certificate(l layout.Layout, name string) string { return l.State("pki", name+".crt") }

func privateKey(l layout.Layout, name string) string { return l.State("pki", name+".key") }
