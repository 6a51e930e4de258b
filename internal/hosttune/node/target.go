// SPDX-License-Identifier: Apache-2.0

package node

import (
	"path"
	"strings"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// form is how a file of the kernel shows its value.
type form string

const (
	// formPlain is the value as it is.
	formPlain form = ""
	// formMask is a set of CPUs, padded to the kernel's width.
	formMask form = "mask"
	// formChoice is a list of words with brackets around the one in force.
	formChoice form = "choice"
	// formPair is one of two sysctls; setting one zeroes the other.
	formPair form = "pair"
)

// block is the part of the settings that a target comes from.
type block string

const (
	blockSysctls      block = "sysctls"
	blockSteering     block = "receivePacketSteering"
	blockHugePages    block = "transparentHugePages"
	blockScheduler    block = "scheduler"
	blockBlockDevices block = "blockDevices"
)

// network says whose network settings a path shows.
type network string

const (
	// networkAny is for paths that are the same everywhere.
	networkAny network = ""
	// networkNode is the node's own.
	networkNode network = "node"
	// networkPod is that of the pod of target.Pod.
	networkPod network = "pod"
)

// target is one setting: one file, or a pair of files that are one setting to the kernel.
type target struct {
	Setting string         `json:"setting"`
	Scope   hosttune.Scope `json:"scope"`
	On      string         `json:"on,omitempty"`
	Block   block          `json:"block"`
	Path    string         `json:"path"`
	Instead string         `json:"instead,omitempty"`
	Form    form           `json:"form,omitempty"`
	Network network        `json:"network,omitempty"`
	// Pod is the UID of the pod whose network namespace has the setting.
	Pod string `json:"pod,omitempty"`
}

// key names the setting on its node; the two sysctls of a pair have one key.
func (t target) key() string {
	key := t.Path
	if t.Instead != "" {
		key = min(t.Path, t.Instead)
	}
	if t.Pod != "" {
		return "pods/" + t.Pod + "/" + key
	}
	return key
}

func (t target) line() hosttune.Line {
	return hosttune.Line{Setting: t.Setting, Scope: t.Scope, On: t.On}
}

// shown is a value as it stands in a line: that of a pair goes without the name if it is the name of
// the line.
func (t target) shown(value string) string {
	if t.Form == formPair {
		return strings.TrimPrefix(value, t.Setting+"=")
	}
	return value
}

// read returns the value in force. Masks lose their padding, choices become the chosen word, and of a
// pair the one that counts is told with its name.
func (t target) read(kernel Kernel) (string, error) {
	content, err := kernel.Read(t.Path)
	if err != nil {
		return "", err
	}
	switch t.Form {
	case formMask:
		set, err := hosttune.ParseMask(content)
		if err != nil {
			return "0", nil //nolint:nilerr // a mask without a CPU is steering that is off
		}
		return set.String(), nil
	case formChoice:
		return chosen(content), nil
	case formPair:
		if content != "0" || t.Instead == "" {
			return sysctlName(t.Path) + "=" + content, nil
		}
		other, err := kernel.Read(t.Instead)
		if err != nil || other == "0" {
			return sysctlName(t.Path) + "=" + content, nil //nolint:nilerr // a kernel without the other one
		}
		return sysctlName(t.Instead) + "=" + other, nil
	default:
		return strings.Join(strings.Fields(content), " "), nil
	}
}

// write sets a value that read could have returned.
func (t target) write(kernel Kernel, value string) error {
	if t.Form != formPair {
		return kernel.Write(t.Path, value)
	}
	name, number, _ := strings.Cut(value, "=")
	if name == sysctlName(t.Instead) {
		return kernel.Write(t.Instead, number)
	}
	return kernel.Write(t.Path, number)
}

// choices are the words of a file that shows a choice.
func choices(content string) []string {
	return strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(content))
}

func chosen(content string) string {
	_, rest, found := strings.Cut(content, "[")
	if word, _, closed := strings.Cut(rest, "]"); found && closed {
		return word
	}
	return content
}

// sysctlName is the inverse of hosttune.SysctlPath.
func sysctlName(file string) string {
	return strings.ReplaceAll(strings.TrimPrefix(path.Clean(file), "proc/sys/"), "/", ".")
}

// sysctlTarget is the target of a sysctl, by the allow-list's row if it has one.
func sysctlTarget(name string) target {
	found := target{Setting: name, Scope: hosttune.ScopeNode, Block: blockSysctls, Path: hosttune.SysctlPath(name)}
	if row, known := hosttune.FindSysctl(name); known && row.Instead != "" {
		found.Instead, found.Form = hosttune.SysctlPath(row.Instead), formPair
	}
	return found
}
