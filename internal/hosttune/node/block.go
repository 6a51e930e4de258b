// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

const devicesDirectory = "sys/block"

// blockDevices finds the disks under the data volumes, or those that are named.
func (r *resolution) blockDevices(settings hosttune.BlockDevices) {
	about := target{Setting: "read_ahead_kb", Scope: hosttune.ScopeDevice, Block: blockBlockDevices}
	if settings.ReadAheadKiB == nil {
		about.Setting = "scheduler"
	}
	devices, reason := r.dataDevices()
	if len(settings.Names) > 0 {
		var err error
		if devices, err = r.namedDevices(settings.Names); err != nil {
			r.refuse(about, strings.Join(settings.Names, ","), err)
			return
		}
	}
	if len(devices) == 0 {
		r.tell(about, hosttune.Unsupported, "", reason)
		return
	}
	for _, name := range devices {
		on := target{Scope: hosttune.ScopeDevice, On: name, Block: blockBlockDevices}
		if settings.ReadAheadKiB != nil {
			on.Setting, on.Path = "read_ahead_kb", devicesDirectory+"/"+name+"/queue/read_ahead_kb"
			r.wantFile(wish{target: on, declared: strconv.Itoa(int(*settings.ReadAheadKiB))}, "the device has no read-ahead")
		}
		if len(settings.Schedulers) > 0 {
			on.Setting, on.Path, on.Form = "scheduler", devicesDirectory+"/"+name+"/queue/scheduler", formChoice
			r.ioScheduler(on, settings.Schedulers)
		}
	}
}

// olderScheduler are the names of kernels up to 4.20 for what newer ones call otherwise.
var olderScheduler = map[string]string{"none": "noop", "mq-deadline": "deadline", "noop": "none", "deadline": "mq-deadline"}

func (r *resolution) ioScheduler(on target, preferred []string) {
	content, err := r.kernel.Read(on.Path)
	offered := choices(content)
	switch {
	case isMissing(err):
		r.tell(on, hosttune.Unsupported, preferred[0], "the device has no I/O scheduler")
		return
	case err != nil:
		r.unread(wish{target: on, declared: preferred[0]}, err)
		return
	}
	for _, name := range preferred {
		for _, candidate := range []string{name, olderScheduler[name]} {
			if candidate != "" && slices.Contains(offered, candidate) {
				r.want(wish{target: on, declared: candidate})
				return
			}
		}
	}
	r.tell(on, hosttune.Unsupported, preferred[0], "the kernel offers "+strings.Join(offered, ", "))
}

// namedDevices are whole disks of the node by name or pattern; one that selects nothing is refused.
func (r *resolution) namedDevices(names []string) ([]string, error) {
	all, err := r.kernel.List(devicesDirectory)
	if err != nil {
		return nil, fmt.Errorf("list the node's disks: %w", err)
	}
	var selected []string
	for _, pattern := range names {
		chosen := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !hosttune.Matches(pattern, name) })
		if len(chosen) == 0 {
			return nil, fmt.Errorf("the node has no disk %q; it has %s", pattern, someOf(all))
		}
		selected = append(selected, chosen...)
	}
	slices.Sort(selected)
	return slices.Compact(selected), nil
}

// dataDevices are the disks under the data volumes of the pods, with every layer between: a volume
// group or an array has a read-ahead of its own.
func (r *resolution) dataDevices() (devices []string, reason string) {
	reason = "no server with a data volume is here"
	if r.place.Data == "" {
		return nil, reason
	}
	for _, pod := range r.pods {
		mounted, err := mountOf(r.kernel, pod.process, r.place.Data)
		if err != nil {
			reason = "the mounts of the pod are not to be seen: " + err.Error()
			continue
		}
		device, err := r.wholeDevice(mounted)
		if err != nil {
			reason = fmt.Sprintf("%s on %s is no filesystem of a disk of this node", mounted.filesystem, mounted.source)
			continue
		}
		devices = append(devices, r.layers(device, 0)...)
	}
	slices.Sort(devices)
	return slices.Compact(devices), reason
}

// wholeDevice is the disk that a filesystem is on: of a partition the disk it is part of. Filesystems
// with device numbers of their own (btrfs) are found by their source.
func (r *resolution) wholeDevice(mounted mount) (string, error) {
	resolved, err := r.kernel.Resolve("sys/dev/block/" + mounted.device)
	if err != nil {
		name := path.Base(mounted.source)
		if !strings.HasPrefix(mounted.source, "/dev/") || hosttune.CheckDevice(name) != nil {
			return "", err
		}
		if resolved, err = r.kernel.Resolve("sys/class/block/" + name); err != nil {
			return "", err
		}
	}
	if _, err := r.kernel.Read(resolved + "/partition"); err == nil {
		resolved = path.Dir(resolved)
	}
	return path.Base(resolved), nil
}

// layers are a device and all devices it is made of.
func (r *resolution) layers(device string, depth int) []string {
	const deepest = 8
	found := []string{device}
	slaves, err := r.kernel.List(devicesDirectory + "/" + device + "/slaves")
	if err != nil || depth > deepest {
		return found
	}
	for _, slave := range slaves {
		resolved, err := r.kernel.Resolve("sys/class/block/" + slave)
		if err != nil {
			continue
		}
		if _, err := r.kernel.Read(resolved + "/partition"); err == nil {
			resolved = path.Dir(resolved)
		}
		found = append(found, r.layers(path.Base(resolved), depth+1)...)
	}
	return found
}
