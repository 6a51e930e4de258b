// Package layout derives every name, address and path of a local cluster from
// its name and its slot. It is pure: it never looks at the machine.
package layout

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"strconv"
)

// DefaultName is the cluster's name when CLUSTER_NAME is not set.
const DefaultName = "mongotuning"

// Slots is the number of clusters that fit side by side. It is below 256
// because the slot is one octet of every address range.
const Slots = 250

// Ports are the same for every cluster: the addresses they are bound to differ.
const (
	APIServerPort         = 6443
	EtcdClientPort        = 2379
	EtcdPeerPort          = 2380
	KubeletPort           = 10250
	KubeletHealthPort     = 10248
	ControllerManagerPort = 10257
	SchedulerPort         = 10259
	ProxyHealthPort       = 10256
	ProxyMetricsPort      = 10249
	DNSPort               = 53
)

// validName keeps a name usable as node name, directory and cgroup. It is short
// because unix socket paths below the state directory end at 107 bytes.
var validName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$`)

// Roots are the directories outside the clone that hold clusters. They are
// variables so that tests can use a directory of their own.
type Roots struct {
	State string
	Run   string
}

// HostRoots are the directories used on a real machine. State must not be
// inside the clone: mounts of a killed kubelet would hinder deleting the tree.
func HostRoots() Roots {
	return Roots{State: "/var/lib/mongotuning-cluster", Run: "/run/mongotuning-cluster"}
}

// Layout answers where everything of one cluster is.
type Layout struct {
	Name  string
	Slot  int
	Clone string
	// AdminKubeconfig is the cluster administrator's kubeconfig in the clone.
	AdminKubeconfig string
	Roots           Roots
}

// CheckName refuses a name that could not be used everywhere it appears.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("cluster name %q: want 1 to 20 lower-case letters, digits and dashes, beginning with a letter", name)
	}
	return nil
}

// PreferredSlot is where a name goes when nothing else is there. Two names may
// prefer the same slot; NextSlot then gives the later one another.
func PreferredSlot(name string) int {
	sum := fnv.New32a()
	sum.Write([]byte(name))
	return int(sum.Sum32() % Slots)
}

// NextSlot returns the first slot at or after the preferred one that is free,
// or an error that says why all of them are taken.
func NextSlot(name string, isFree func(slot int) bool) (int, error) {
	preferred := PreferredSlot(name)
	for i := range Slots {
		if slot := (preferred + i) % Slots; isFree(slot) {
			return slot, nil
		}
	}
	return 0, fmt.Errorf("all %d address ranges for clusters are in use on this machine", Slots)
}

// PodCIDR is the range pods get their addresses from.
func (l Layout) PodCIDR() string { return fmt.Sprintf("10.244.%d.0/24", l.Slot) }

// ServiceCIDR is the range of Service addresses.
func (l Layout) ServiceCIDR() string { return fmt.Sprintf("10.96.%d.0/24", l.Slot) }

// ServiceAddress is the address of the kubernetes Service: the first of the range.
func (l Layout) ServiceAddress() string { return fmt.Sprintf("10.96.%d.1", l.Slot) }

// LinkCIDR is the range of the link between host and node network.
func (l Layout) LinkCIDR() string { return fmt.Sprintf("10.97.%d.0/30", l.Slot) }

// HostAddress is the host's end of the link: API server, kubelet and DNS listen
// there, and it is the node's address.
func (l Layout) HostAddress() string { return fmt.Sprintf("10.97.%d.1", l.Slot) }

// NodeAddress is the node network's end of the link; NodePorts listen there.
func (l Layout) NodeAddress() string { return fmt.Sprintf("10.97.%d.2", l.Slot) }

// LoopbackAddress is for parts that no pod may reach (etcd). Linux answers on
// all of 127.0.0.0/8, so clusters need not share ports there either.
func (l Layout) LoopbackAddress() string { return fmt.Sprintf("127.97.%d.1", l.Slot) }

// CIDRs are all ranges that must not be in use on the host by something else.
func (l Layout) CIDRs() []string {
	return []string{l.PodCIDR(), l.ServiceCIDR(), l.LinkCIDR()}
}

// APIServerURL is where the API server answers.
func (l Layout) APIServerURL() string {
	return fmt.Sprintf("https://%s:%d", l.HostAddress(), APIServerPort)
}

// HostLink is the name of the host's end of the link; Linux allows 15 bytes.
func (l Layout) HostLink() string { return fmt.Sprintf("mtcluster%d", l.Slot) }

// CgroupRoot is the parent of all pod cgroups. Each cluster has its own because
// a kubelet kills whatever it does not know below its root.
func (l Layout) CgroupRoot() string { return "/mongotuning-" + l.Name }

// StateDir holds what must outlive the processes: etcd, images, volumes, logs.
func (l Layout) StateDir() string { return filepath.Join(l.Roots.State, l.Name) }

// RunDir holds sockets, process records and the network namespace.
func (l Layout) RunDir() string { return filepath.Join(l.Roots.Run, l.Name) }

// State joins a path below the state directory.
func (l Layout) State(elem ...string) string {
	return filepath.Join(append([]string{l.StateDir()}, elem...)...)
}

// Run joins a path below the run directory.
func (l Layout) Run(elem ...string) string {
	return filepath.Join(append([]string{l.RunDir()}, elem...)...)
}

// LogFile is where a part writes what it has to say.
func (l Layout) LogFile(part string) string { return l.State("logs", part+".log") }

// Netns is the file that keeps the node's network namespace alive.
func (l Layout) Netns() string { return l.Run("net") }

// ContainerdSocket is the CRI endpoint; it must be absolute.
func (l Layout) ContainerdSocket() string { return l.Run("containerd.sock") }

// ShimSockets is where container shims listen. It is named after the slot, as
// containerd refuses a path of more than 42 bytes; no cluster's name is a number.
func (l Layout) ShimSockets() string { return filepath.Join(l.Roots.Run, strconv.Itoa(l.Slot)) }

// Kubeconfig is the kubeconfig of one of the cluster's own parts.
func (l Layout) Kubeconfig(user string) string {
	return l.State("kubeconfigs", user+".kubeconfig")
}
