// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// interfacesDirectory shows the interfaces of the node: sysfs keeps the network namespace it was
// mounted in.
const interfacesDirectory = "sys/class/net"

const flowEntriesPath = "proc/sys/net/core/rps_sock_flow_entries"

// steering finds the receive queues of the selected interfaces. One interface that is not there refuses
// the block as a whole: half of it would be told as success on some nodes and as failure on others.
func (r *resolution) steering(steering hosttune.ReceivePacketSteering) {
	about := target{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, Block: blockSteering}
	interfaces, err := r.interfaces(steering.Interfaces)
	if err != nil {
		if missing, ok := errors.AsType[*missingInterfaceError](err); ok {
			about.On = missing.name
		}
		r.refuse(about, declaredCPUs(steering.CPUs), err)
		return
	}
	set, cut, err := steering.CPUs.On(r.cpus)
	if err == nil && set.Len() == 0 && steering.CPUs.Mode == hosttune.CPUsAllButFirst {
		r.tell(about, hosttune.NotNeeded, declaredCPUs(steering.CPUs), "the node has one CPU")
		return
	}
	if err == nil {
		err = r.fits(steering, set, cut)
	}
	if err != nil {
		r.refuse(about, declaredCPUs(steering.CPUs), err)
		return
	}
	note := ""
	if len(cut) > 0 {
		note = fmt.Sprintf("cut to the node's %d CPUs", r.cpus.Len())
	}
	steered := 0
	for _, name := range interfaces {
		steered += r.steerInterface(name, steering, wish{declared: declaredMask(steering.CPUs, set), value: set.String(), note: note})
	}
	if steering.FlowEntries > 0 && steered > 0 {
		r.flowTable(roundUp(steering.FlowEntries))
	}
}

// fits refuses CPUs that the node does not have, as far as that is wanted, and a choice that selects
// none it has.
func (r *resolution) fits(steering hosttune.ReceivePacketSteering, set, cut hosttune.CPUSet) error {
	if len(cut) > 0 && steering.WhenMaskTooWide == hosttune.MaskRefuse {
		return fmt.Errorf("%s names CPUs beyond the node's %d (%s): the kernel takes no such mask", declaredCPUs(steering.CPUs), r.cpus.Len(), r.cpus)
	}
	if set.Len() == 0 {
		return fmt.Errorf("%s selects none of the node's %d CPUs (%s)", declaredCPUs(steering.CPUs), r.cpus.Len(), r.cpus)
	}
	return nil
}

func (r *resolution) steerInterface(name string, steering hosttune.ReceivePacketSteering, cpus wish) (queues int) {
	about := target{Setting: "rps_cpus", Scope: hosttune.ScopeInterface, On: name, Block: blockSteering, Form: formMask}
	directory := interfacesDirectory + "/" + name + "/queues"
	names, err := r.kernel.List(directory)
	names = slices.DeleteFunc(names, func(queue string) bool { return !strings.HasPrefix(queue, "rx-") })
	switch {
	case err != nil && !isMissing(err):
		r.refuse(about, cpus.declared, err)
		return 0
	case len(names) == 0:
		r.tell(about, hosttune.Unsupported, cpus.declared, "the interface has no receive queue")
		return 0
	case len(names) >= r.cpus.Len():
		r.tell(about, hosttune.NotNeeded, cpus.declared, fmt.Sprintf("%d receive queues for %d CPUs: the hardware spreads packets itself", len(names), r.cpus.Len()))
		return 0
	}
	for _, queue := range names {
		one := cpus
		one.target = about
		one.Path = directory + "/" + queue + "/rps_cpus"
		r.wantFile(one, "this kernel is built without receive packet steering")
		if steering.FlowEntries == 0 {
			continue
		}
		flows := wish{target: about, declared: strconv.Itoa(int(roundUp(max(steering.FlowEntries/int32(len(names)), 1))))} //nolint:gosec // some dozens of queues
		flows.Setting, flows.Form, flows.Path = "rps_flow_cnt", formPlain, directory+"/"+queue+"/rps_flow_cnt"
		r.wantFile(flows, "this kernel is built without receive flow steering")
	}
	return len(names)
}

func (r *resolution) flowTable(entries int32) {
	r.wantNodeNetwork(wish{declared: strconv.Itoa(int(entries)), target: target{
		Setting: "net.core.rps_sock_flow_entries", Scope: hosttune.ScopeNode, Block: blockSteering,
		Path: flowEntriesPath, Network: networkNode,
	}})
}

// roundUp is the next power of two, as the kernel makes it.
func roundUp(entries int32) int32 {
	return 1 << bits.Len32(uint32(entries-1)) //nolint:gosec // 1..2^20
}

func declaredCPUs(cpus hosttune.CPUs) string {
	switch cpus.Mode {
	case hosttune.CPUsList:
		return cpus.List
	case hosttune.CPUsMask:
		return cpus.Mask
	default:
		return string(cpus.Mode)
	}
}

// declaredMask is what was asked for as a mask: a literal mask or list that had to be cut stays to be
// seen beside what was set.
func declaredMask(cpus hosttune.CPUs, set hosttune.CPUSet) string {
	switch cpus.Mode {
	case hosttune.CPUsMask:
		if asked, err := hosttune.ParseMask(cpus.Mask); err == nil {
			return asked.String()
		}
	case hosttune.CPUsList:
		if asked, err := hosttune.ParseCPUList(cpus.List); err == nil {
			return asked.String()
		}
	case hosttune.CPUsAll, hosttune.CPUsAllButFirst:
	}
	return set.String()
}

// missingInterfaceError is a selection that selects nothing.
type missingInterfaceError struct{ name, reason string }

func (e *missingInterfaceError) Error() string { return e.reason }

// interfaces are the selected interfaces of the node, in order of name.
func (r *resolution) interfaces(selection []hosttune.Interface) ([]string, error) {
	all, err := r.kernel.List(interfacesDirectory)
	if err != nil {
		return nil, fmt.Errorf("list the node's interfaces: %w", err)
	}
	var selected []string
	for _, one := range selection {
		chosen, label := []string{}, one.Name+one.Pattern
		switch {
		case one.DefaultRoute:
			label = "default route"
			chosen = defaultRouteInterfaces(r.kernel)
		case one.Name != "" && hosttune.CheckInterface(one.Name) == nil && slices.Contains(all, one.Name):
			chosen = []string{one.Name}
		case one.Pattern != "":
			chosen = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == loopback || !hosttune.Matches(one.Pattern, name) })
		}
		if len(chosen) == 0 {
			return nil, &missingInterfaceError{label, fmt.Sprintf("the node has no interface %q; it has %s", label, someOf(all))}
		}
		selected = append(selected, chosen...)
	}
	slices.Sort(selected)
	return slices.Compact(selected), nil
}

const loopback = "lo"

// someOf lists names as far as a person wants to read them.
func someOf(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// defaultRouteInterfaces reads the node's routing tables of both families: in the first the destination
// and mask are zero, in the second the destination is zero with a prefix of zero bits.
func defaultRouteInterfaces(kernel Kernel) []string {
	var found []string
	if table, err := kernel.Read("proc/" + nodeProcess + "/net/route"); err == nil {
		for line := range strings.Lines(table) {
			const destination, mask, count = 1, 7, 8
			fields := strings.Fields(line)
			if len(fields) >= count && fields[destination] == "00000000" && fields[mask] == "00000000" {
				found = append(found, fields[0])
			}
		}
	}
	if table, err := kernel.Read("proc/" + nodeProcess + "/net/ipv6_route"); err == nil {
		for line := range strings.Lines(table) {
			const prefix, device, count = 1, 9, 10
			fields := strings.Fields(line)
			if len(fields) >= count && strings.Trim(fields[0], "0") == "" && fields[prefix] == "00" {
				found = append(found, fields[device])
			}
		}
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(name string) bool { return name == loopback || hosttune.CheckInterface(name) != nil })
}
