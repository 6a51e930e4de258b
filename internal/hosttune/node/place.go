// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Pod is a pod of the node.
type Pod struct {
	Name, UID string
}

// Place says for which pods of the node a run is.
type Place struct {
	// Own is the pod that this process runs in, when it is a pod of a server.
	Own *Pod
	// Pods are pods of servers that run beside this process.
	Pods []Pod
	// Data is the data directory of the servers as they see it, "" for servers without data.
	Data string
}

// pod is a pod with the processes that lead into it.
type pod struct {
	Pod
	// process leads to its namespaces: a process id of the node, or "self".
	process string
	// server is the process of mongod or mongos, "" when none runs.
	server string
}

// onlyNode is a sysctl that no network namespace but the node's shows.
const onlyNode = "proc/sys/net/core/netdev_max_backlog"

// findNodeNetwork finds a process in the node's network namespace. The first one is there by definition;
// where a security module keeps it shut even from root, the kernel's own sysctls tell who else is.
func findNodeNetwork(kernel Kernel) string {
	if _, err := kernel.Network(nodeProcess); err == nil {
		return nodeProcess
	}
	isNode := func(process string) bool {
		writable := false
		err := inNetwork(kernel, process, func() error {
			var err error
			writable, err = kernel.IsWritable(onlyNode)
			return err
		})
		return err == nil && writable
	}
	if isNode(ownProcess) {
		return ownProcess
	}
	seen := map[string]bool{}
	for _, process := range processes(kernel) {
		name, err := kernel.Network(process)
		if err != nil || seen[name] {
			continue
		}
		if seen[name] = true; isNode(process) {
			return process
		}
	}
	return nodeProcess // entering it says why not
}

// processes are the ids of all processes of the node, in order.
func processes(kernel Kernel) []string {
	names, err := kernel.List("proc")
	if err != nil {
		return nil
	}
	var ids []int
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ordered := make([]string, 0, len(ids))
	for _, id := range ids {
		ordered = append(ordered, strconv.Itoa(id))
	}
	return ordered
}

// servers are the names of the programs whose limits count.
var servers = []string{"mongod", "mongos"}

// pods finds the processes of the place's pods. A pod without a process is left out: it has ended, or
// has not begun.
func (p Place) pods(kernel Kernel) []pod {
	var uids []string
	if p.Own != nil {
		uids = append(uids, p.Own.UID)
	}
	for _, one := range p.Pods {
		uids = append(uids, one.UID)
	}
	if len(uids) == 0 {
		return nil
	}
	processes := podProcesses(kernel, uids)
	var found []pod
	if p.Own != nil {
		found = append(found, pod{Pod: *p.Own, process: ownProcess, server: serverAmong(kernel, processes[p.Own.UID])})
	}
	for _, one := range p.Pods {
		of := processes[one.UID]
		if len(of) == 0 || p.Own != nil && p.Own.UID == one.UID {
			continue
		}
		// All containers of a pod share its network; its data volume only the server surely has.
		server := serverAmong(kernel, of)
		found = append(found, pod{Pod: one, process: cmp.Or(server, of[0]), server: server})
	}
	return found
}

func serverAmong(kernel Kernel, processes []string) string {
	for _, process := range processes {
		if name, err := kernel.Read("proc/" + process + "/comm"); err == nil && slices.Contains(servers, name) {
			return process
		}
	}
	return ""
}

// podProcesses finds the processes of pods by UID, each list in the order of process ids.
func podProcesses(kernel Kernel, uids []string) map[string][]string {
	found := map[string][]string{}
	for _, process := range processes(kernel) {
		if uid := podOf(kernel, process, uids); uid != "" {
			found[uid] = append(found[uid], process)
		}
	}
	return found
}

// podOf finds out which of the pods a process belongs to. Its control group tells in version 1 and, seen
// from the node's control group namespace, in version 2: .../pod<uid>/<container>, with the systemd
// driver ...-pod<uid with underscores>.slice. Where a namespace hides that, the container's /etc/hosts
// tells: the kubelet mounts it from .../pods/<uid>/etc-hosts.
func podOf(kernel Kernel, process string, uids []string) string {
	groups, err := kernel.Read("proc/" + process + "/cgroup")
	if err != nil {
		return ""
	}
	for _, uid := range uids {
		if strings.Contains(groups, "pod"+uid) || strings.Contains(groups, "pod"+strings.ReplaceAll(uid, "-", "_")) {
			return uid
		}
	}
	mounts, err := kernel.Read("proc/" + process + "/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(mounts) {
		one, ok := parseMount(line)
		if !ok || one.point != "/etc/hosts" {
			continue
		}
		for _, uid := range uids {
			if strings.HasSuffix(one.root, "/pods/"+uid+"/etc-hosts") {
				return uid
			}
		}
	}
	return ""
}

// mount is a line of mountinfo; proc(5) has its fields.
type mount struct {
	device, root, point, filesystem, source string
	options                                 []string
}

func parseMount(line string) (mount, bool) {
	head, tail, found := strings.Cut(line, " - ")
	fields, rest := strings.Fields(head), strings.Fields(tail)
	const headFields, tailFields = 6, 3
	if !found || len(fields) < headFields || len(rest) < tailFields {
		return mount{}, false
	}
	return mount{
		device: fields[2], root: unescape(fields[3]), point: unescape(fields[4]),
		filesystem: rest[0], source: unescape(rest[1]),
		options: append(strings.Split(fields[5], ","), strings.Split(rest[2], ",")...),
	}, true
}

// unescape turns the octal escapes of mountinfo back into blanks.
func unescape(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

// mountOf finds the mount that a directory of a process is on.
func mountOf(kernel Kernel, process, directory string) (mount, error) {
	content, err := kernel.Read("proc/" + process + "/mountinfo")
	if err != nil {
		return mount{}, err
	}
	var best mount
	for line := range strings.Lines(content) {
		one, ok := parseMount(line)
		// Of two mounts on one point the later one is seen.
		if ok && isBelow(directory, one.point) && len(one.point) >= len(best.point) {
			best = one
		}
	}
	return best, nil
}

func isBelow(directory, point string) bool {
	relative, err := filepath.Rel(point, directory)
	return err == nil && filepath.IsLocal(relative)
}
