// Package network gives a cluster a network namespace of its own, linked to the
// host by one pair of virtual devices.
//
// The node's routing, its kube-proxy rules and its pods' devices live in there.
// So the host's forwarding, packet filter and sysctls stay as they are, two
// clusters cannot overwrite each other's rules (kube-proxy's table has a fixed
// name), and removing the namespace removes everything. Kubelet, API server and
// host-network pods stay on the host's side and see the host's real devices.
package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
)

// inner is the name of the link's end inside the namespace.
const inner = "uplink"

// nsfsMagic is the file system type of a namespace file (statfs(2)).
const nsfsMagic = 0x6e736673

// Ensure makes what is missing of the namespace, link and routes.
func Ensure(l layout.Layout) error {
	if err := ensureNamespace(l.Netns()); err != nil {
		return err
	}
	if _, err := net.InterfaceByName(l.HostLink()); err != nil {
		if err := run("ip", "link", "add", l.HostLink(), "type", "veth", "peer", "name", inner, "netns", l.Netns()); err != nil {
			return err
		}
	}
	within := func(args ...string) []string {
		return append([]string{"nsenter", "--net=" + l.Netns(), "--"}, args...)
	}
	commands := [][]string{
		{"ip", "address", "replace", l.HostAddress() + "/30", "dev", l.HostLink()},
		{"ip", "link", "set", l.HostLink(), "up"},
		within("ip", "link", "set", "lo", "up"),
		within("ip", "address", "replace", l.NodeAddress()+"/30", "dev", inner),
		within("ip", "link", "set", inner, "up"),
		within("ip", "route", "replace", "default", "via", l.HostAddress()),
		within("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"),
		{"ip", "route", "replace", l.PodCIDR(), "via", l.NodeAddress()},
		{"ip", "route", "replace", l.ServiceCIDR(), "via", l.NodeAddress()},
	}
	for _, command := range commands {
		if err := run(command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// ensureNamespace mounts a new namespace on its file; the mount keeps it alive
// without a process.
func ensureNamespace(path string) error {
	if isNamespace(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make file for the network namespace: %w", err)
	}
	file.Close()
	return run("unshare", "--net="+path, "true")
}

func isNamespace(path string) bool {
	var info syscall.Statfs_t
	return syscall.Statfs(path, &info) == nil && int64(info.Type) == nsfsMagic
}

// Remove takes the link and the namespace away. The devices of pods that still
// hold namespaces of their own go with their peers in here.
func Remove(l layout.Layout) error {
	var failures []error
	if _, err := net.InterfaceByName(l.HostLink()); err == nil {
		failures = append(failures, run("ip", "link", "delete", l.HostLink()))
	}
	if isNamespace(l.Netns()) {
		if err := syscall.Unmount(l.Netns(), syscall.MNT_DETACH); err != nil {
			failures = append(failures, fmt.Errorf("unmount network namespace: %w", err))
		}
	}
	return errors.Join(failures...)
}

// IsUsable says whether none of the layout's ranges touches an address or route
// that the host already has. A default route is not in the way.
func IsUsable(l layout.Layout) bool {
	output, err := exec.Command("ip", "-4", "route", "show", "table", "all").Output()
	if err != nil {
		return true // the link's own errors will say more than a guess here
	}
	return !overlaps(string(output), l.CIDRs())
}

func overlaps(routes string, cidrs []string) bool {
	for _, line := range strings.Split(routes, "\n") {
		for _, field := range strings.Fields(line) {
			used, err := parsePrefix(field)
			if err != nil {
				continue
			}
			for _, cidr := range cidrs {
				if wanted, err := netip.ParsePrefix(cidr); err == nil && wanted.Overlaps(used) {
					return true
				}
			}
			break // only the destination; what follows are gateways and sources
		}
	}
	return false
}

func parsePrefix(field string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(field); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	return netip.ParsePrefix(field)
}

func run(program string, args ...string) error {
	output, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
