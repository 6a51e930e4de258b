package node

import (
	"fmt"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/process"
)

// etcd does not wait for the disk: the cluster's content may be lost with the
// machine's power, and everything else becomes much faster.
func etcd(l layout.Layout, programs map[string]string) process.Spec {
	client := fmt.Sprintf("https://%s:%d", l.LoopbackAddress(), layout.EtcdClientPort)
	peer := fmt.Sprintf("http://%s:%d", l.LoopbackAddress(), layout.EtcdPeerPort)
	return process.Spec{
		Part: "etcd", Program: programs["etcd"], Log: l.LogFile("etcd"),
		Args: []string{
			"--name=" + l.Name, "--data-dir=" + l.State("etcd"), "--unsafe-no-fsync",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + l.Name + "=" + peer,
			"--client-cert-auth", "--trusted-ca-file=" + certificate(l, "ca"),
			"--cert-file=" + certificate(l, "etcd"), "--key-file=" + privateKey(l, "etcd"),
			"--log-level=warn",
		},
	}
}

func apiServer(l layout.Layout, programs map[string]string) process.Spec {
	return process.Spec{
		Part: "kube-apiserver", Program: programs["kube-apiserver"], Log: l.LogFile("kube-apiserver"),
		Args: []string{
			"--bind-address=" + l.HostAddress(), "--advertise-address=" + l.HostAddress(),
			fmt.Sprintf("--secure-port=%d", layout.APIServerPort),
			"--tls-cert-file=" + certificate(l, "kube-apiserver"), "--tls-private-key-file=" + privateKey(l, "kube-apiserver"),
			"--client-ca-file=" + certificate(l, "ca"),
			fmt.Sprintf("--etcd-servers=https://%s:%d", l.LoopbackAddress(), layout.EtcdClientPort),
			"--etcd-cafile=" + certificate(l, "ca"),
			"--etcd-certfile=" + certificate(l, "etcd"), "--etcd-keyfile=" + privateKey(l, "etcd"),
			"--service-cluster-ip-range=" + l.ServiceCIDR(),
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + l.State("pki", "service-account.pub"),
			"--service-account-signing-key-file=" + privateKey(l, "service-account"),
			// RBAC for everyone, so that the operator's own role is really tested.
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--allow-privileged=true",
			"--kubelet-certificate-authority=" + certificate(l, "ca"),
			"--kubelet-client-certificate=" + certificate(l, "kube-apiserver-kubelet-client"),
			"--kubelet-client-key=" + privateKey(l, "kube-apiserver-kubelet-client"),
			// The host cannot resolve the node's name; logs and exec would fail.
			"--kubelet-preferred-address-types=InternalIP",
			"--requestheader-client-ca-file=" + certificate(l, "front-proxy-ca"),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + certificate(l, "front-proxy"), "--proxy-client-key-file=" + privateKey(l, "front-proxy"),
			// The default of 10 s would keep a stopped server's Service endpoint
			// and slow every restart.
			"--shutdown-delay-duration=0s",
		},
	}
}

// delegated lets a part ask the API server who may read its metrics.
func delegated(l layout.Layout, user string) []string {
	config := l.Kubeconfig(user)
	return []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=" + l.HostAddress(), "--leader-elect=false",
	}
}

func controllerManager(l layout.Layout, programs map[string]string) process.Spec {
	return process.Spec{
		Part: "kube-controller-manager", Program: programs["kube-controller-manager"], Log: l.LogFile("kube-controller-manager"),
		Args: append(delegated(l, userControllerManager),
			fmt.Sprintf("--secure-port=%d", layout.ControllerManagerPort),
			"--use-service-account-credentials=true",
			"--service-account-private-key-file="+privateKey(l, "service-account"),
			// Without it service-account tokens carry no authority, and no pod
			// could check the API server's certificate.
			"--root-ca-file="+certificate(l, "ca"),
			"--cluster-signing-cert-file="+certificate(l, "ca"), "--cluster-signing-key-file="+privateKey(l, "ca"),
			"--allocate-node-cidrs=true", "--cluster-cidr="+l.PodCIDR(), "--node-cidr-mask-size=24",
			"--flex-volume-plugin-dir="+l.State("volume-plugins"),
			// The default limits protect a shared API server; here they delay
			// the first pod by seconds.
			"--kube-api-qps=200", "--kube-api-burst=400",
		),
	}
}

func scheduler(l layout.Layout, programs map[string]string) process.Spec {
	return process.Spec{
		Part: "kube-scheduler", Program: programs["kube-scheduler"], Log: l.LogFile("kube-scheduler"),
		Args: append(delegated(l, userScheduler), fmt.Sprintf("--secure-port=%d", layout.SchedulerPort)),
	}
}
