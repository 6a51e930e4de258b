// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Form is what the value of a sysctl looks like.
type Form string

const (
	// FormNumber is one whole number.
	FormNumber Form = "number"
	// FormNumbers are whole numbers with blanks between them.
	FormNumbers Form = "numbers"
	// FormWord is one word.
	FormWord Form = "word"
	// FormLine is any one line; it is the form of names outside of the allow-list.
	FormLine Form = "line"
)

// KnownSysctl is a row of the allow-list.
type KnownSysctl struct {
	Name string
	// Scope is where the value holds on current kernels. On a node it is found out again: a sysctl below
	// net that a pod's network namespace does not have, or has read-only, is the node's.
	Scope Scope
	Form  Form
	// Count is how many numbers FormNumbers takes.
	Count int
	// Min and Max bound each number.
	Min, Max int64
	// Instead is the name of the one that the kernel sets to zero when this one is set.
	Instead string
	// Risk says what goes wrong when the value is wrong.
	Risk string
	// Note is what else to know: kernels, defaults, common values.
	Note string
}

// longestValue bounds a sysctl's value in bytes; the longest of the allow-list has some thirty.
const longestValue = 256

// Sysctls is the allow-list, by name.
func Sysctls() []KnownSysctl { return slices.Clone(sysctls) }

// FindSysctl looks a name up in the allow-list.
func FindSysctl(name string) (KnownSysctl, bool) {
	i, found := slices.BinarySearchFunc(sysctls, name, func(row KnownSysctl, name string) int { return strings.Compare(row.Name, name) })
	if !found {
		return KnownSysctl{}, false
	}
	return sysctls[i], true
}

// never are names and prefixes that no spec may set, with or without the escape: they run programs as
// root, cannot be put back, weaken the node's protection, or are triggers rather than settings.
var never = []string{
	"fs.binfmt_misc.", "fs.protected_", "fs.suid_dumpable", "fs.verity.",
	"kernel.bpf_stats_enabled", "kernel.cad_pid", "kernel.core_pattern", "kernel.core_pipe_limit", "kernel.dmesg_restrict",
	"kernel.domainname", "kernel.hostname", "kernel.hotplug", "kernel.kexec_", "kernel.keys.", "kernel.kptr_restrict",
	"kernel.modprobe", "kernel.modules_disabled", "kernel.ns_last_pid", "kernel.perf_event_paranoid", "kernel.poweroff_cmd",
	"kernel.printk", "kernel.randomize_va_space", "kernel.random.", "kernel.real-root-dev", "kernel.seccomp.",
	"kernel.sysctl_writes_strict", "kernel.sysrq", "kernel.tainted", "kernel.unprivileged_", "kernel.usermodehelper.",
	"kernel.yama.", "net.core.bpf_jit_", "net.ipv4.ip_forward", "net.netfilter.",
	"user.", "vm.compact_memory", "vm.drop_caches", "vm.hugetlb_shm_group", "vm.mmap_min_addr", "vm.stat_refresh",
	"vm.unprivileged_userfaultfd",
}

// elsewhere are names that a field of its own sets.
var elsewhere = map[string]string{
	"net.core.rps_sock_flow_entries":     "receivePacketSteering.flowEntries",
	"kernel.sched_min_granularity_ns":    "scheduler.minGranularityNanoseconds",
	"kernel.sched_wakeup_granularity_ns": "scheduler.wakeupGranularityNanoseconds",
}

// CheckSysctlName refuses names that are not in the allow-list. With the escape, Sysctl.Unlisted, it
// takes any other name below vm, kernel, fs and net that is well formed and not forbidden. What it takes
// is safe to turn into a path by SysctlPath.
func (s Sysctl) CheckSysctlName() error {
	if err := checkSysctlForm(s.Name); err != nil {
		return err
	}
	if field, ok := elsewhere[s.Name]; ok {
		return fmt.Errorf("sysctl %s has a field of its own: %s", s.Name, field)
	}
	for _, forbidden := range never {
		if s.Name == forbidden || strings.HasSuffix(forbidden, ".") && strings.HasPrefix(s.Name, forbidden) ||
			strings.HasSuffix(forbidden, "_") && strings.HasPrefix(s.Name, forbidden) {
			return fmt.Errorf("sysctl %s is never set: it changes what the node protects, runs programs, or cannot be put back", s.Name)
		}
	}
	if _, known := FindSysctl(s.Name); !known && !s.Unlisted {
		return fmt.Errorf("sysctl %s is not in the list of docs/host-tuning.md; set unlisted: true if it is really meant", s.Name)
	}
	return nil
}

func checkSysctlForm(name string) error {
	const longest, fewest = 128, 2
	parts := strings.Split(name, ".")
	if len(name) > longest || len(parts) < fewest {
		return fmt.Errorf("%q is no sysctl name like vm.swappiness", shown(name))
	}
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return !isNameRune(r) }) {
			return fmt.Errorf("%q is no sysctl name: letters, digits, - and _, with dots between them", shown(name))
		}
	}
	if !slices.Contains([]string{"vm", "kernel", "fs", "net"}, parts[0]) {
		return fmt.Errorf("sysctl %s is not below vm, kernel, fs or net", name)
	}
	return nil
}

// SysctlPath is the file of a sysctl, without a leading slash.
func SysctlPath(name string) string {
	return "proc/sys/" + strings.ReplaceAll(name, ".", "/")
}

// CheckValue refuses values that are not of the sysctl's form or outside of its bounds, and operators
// that the form has no order for.
func (s Sysctl) CheckValue() error {
	row, known := FindSysctl(s.Name)
	if !known {
		row = KnownSysctl{Form: FormLine}
	}
	if err := row.check(s.Value); err != nil {
		return fmt.Errorf("sysctl %s: %w", shown(s.Name), err)
	}
	switch s.Operator {
	case "", OperatorExact:
		return nil
	case OperatorOnlyRaise, OperatorOnlyLower:
		if _, err := strconv.ParseInt(s.Value, 10, 64); err != nil {
			return fmt.Errorf("sysctl %s: %s is for one whole number, not %q", shown(s.Name), s.Operator, shown(s.Value))
		}
		return nil
	default:
		return fmt.Errorf("sysctl %s: operator %q is none of Exact, OnlyRaise and OnlyLower", shown(s.Name), shown(string(s.Operator)))
	}
}

func (k KnownSysctl) check(value string) error {
	if value == "" || len(value) > longestValue || value != strings.TrimSpace(value) {
		return fmt.Errorf("value %q has to have 1 to %d characters and no blanks around it", shown(value), longestValue)
	}
	for _, r := range value {
		if (r < ' ' || r > '~') && r != '\t' {
			return fmt.Errorf("value %q has %q in it; a value is one line of plain text", shown(value), r)
		}
	}
	fields := strings.Fields(value)
	switch k.Form {
	case FormWord:
		if len(fields) != 1 || strings.ContainsFunc(value, func(r rune) bool { return !isNameRune(r) }) {
			return fmt.Errorf("value %q is no single word", shown(value))
		}
		return nil
	case FormNumber:
		return k.checkNumbers(fields, 1)
	case FormNumbers:
		return k.checkNumbers(fields, k.Count)
	default:
		return nil
	}
}

func (k KnownSysctl) checkNumbers(fields []string, count int) error {
	if len(fields) != count {
		return fmt.Errorf("%d values, %d needed", len(fields), count)
	}
	for _, one := range fields {
		number, err := strconv.ParseInt(one, 10, 64)
		if err != nil || one != strconv.FormatInt(number, 10) {
			return fmt.Errorf("%q is no whole number", shown(one))
		}
		if number < k.Min || number > k.Max {
			return fmt.Errorf("%d is outside of %d..%d", number, k.Min, k.Max)
		}
	}
	return nil
}

// Bounds that many rows share.
const (
	mostInt  = math.MaxInt32
	mostLong = math.MaxInt64
)
