// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// MaxCPUs bounds CPU numbers. Kernels are built for at most 8192 (CONFIG_NR_CPUS_RANGE_END of x86).
const MaxCPUs = 8192

// bitsPerGroup is how many CPUs one group of a mask stands for.
const bitsPerGroup = 32

// CPUSet is a set of CPUs: bit n of group g stands for CPU 32g+n. It has no empty last group.
type CPUSet []uint32

var errNoCPU = errors.New("selects no CPU")

// ParseMask reads a mask as the kernel writes it: hexadecimal, groups of at most eight digits, commas
// between groups of 32 CPUs, the highest first.
func ParseMask(mask string) (CPUSet, error) {
	groups := strings.Split(mask, ",")
	if len(groups) > MaxCPUs/bitsPerGroup {
		return nil, fmt.Errorf("CPU mask of %d groups is above the limit of %d CPUs", len(groups), MaxCPUs)
	}
	set := make(CPUSet, len(groups))
	for i, group := range groups {
		if len(group) == 0 || len(group) > 8 || !isHexadecimal(group) {
			return nil, fmt.Errorf("CPU mask %q: %q is no group of one to eight hexadecimal digits; write 32 CPUs to a group, with commas between groups", shown(mask), shown(group))
		}
		bits, err := strconv.ParseUint(group, 16, bitsPerGroup)
		if err != nil {
			return nil, fmt.Errorf("CPU mask %q: %w", shown(mask), err)
		}
		set[len(groups)-1-i] = uint32(bits)
	}
	set = set.trimmed()
	if len(set) == 0 {
		return nil, fmt.Errorf("CPU mask %q %w", shown(mask), errNoCPU)
	}
	return set, nil
}

// ParseCPUList reads a list as in cpuset(7): numbers and ranges with commas between them.
func ParseCPUList(list string) (CPUSet, error) {
	var set CPUSet
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		first, err := cpuNumber(low)
		last := first
		if err == nil && isRange {
			last, err = cpuNumber(high)
		}
		if err == nil && last < first {
			err = fmt.Errorf("range %d-%d runs backwards", first, last)
		}
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", shown(list), err)
		}
		for cpu := first; cpu <= last; cpu++ {
			set = set.with(cpu)
		}
	}
	return set, nil
}

func cpuNumber(text string) (int, error) {
	if text == "" || len(text) > 4 || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, fmt.Errorf("%q is no CPU number", shown(text))
	}
	number, err := strconv.Atoi(text)
	if err != nil || number >= MaxCPUs {
		return 0, fmt.Errorf("CPU %s is above the limit of %d", text, MaxCPUs-1)
	}
	return number, nil
}

func (s CPUSet) with(cpu int) CPUSet {
	for len(s) <= cpu/bitsPerGroup {
		s = append(s, 0)
	}
	s[cpu/bitsPerGroup] |= 1 << (cpu % bitsPerGroup)
	return s
}

// String is the mask as the kernel takes it.
func (s CPUSet) String() string {
	s = s.trimmed()
	if len(s) == 0 {
		return "0"
	}
	var text strings.Builder
	text.WriteString(strconv.FormatUint(uint64(s[len(s)-1]), 16))
	for i := len(s) - 2; i >= 0; i-- {
		fmt.Fprintf(&text, ",%08x", s[i])
	}
	return text.String()
}

// Len is the number of CPUs in the set.
func (s CPUSet) Len() int {
	count := 0
	for _, group := range s {
		count += bits.OnesCount32(group)
	}
	return count
}

// First is the lowest CPU, -1 of an empty set.
func (s CPUSet) First() int {
	for i, group := range s {
		if group != 0 {
			return i*bitsPerGroup + bits.TrailingZeros32(group)
		}
	}
	return -1
}

// Intersect is what both sets have.
func (s CPUSet) Intersect(other CPUSet) CPUSet {
	both := make(CPUSet, min(len(s), len(other)))
	for i := range both {
		both[i] = s[i] & other[i]
	}
	return both.trimmed()
}

// Without is what the other set does not have.
func (s CPUSet) Without(other CPUSet) CPUSet {
	rest := append(CPUSet{}, s...)
	for i := range min(len(s), len(other)) {
		rest[i] &^= other[i]
	}
	return rest.trimmed()
}

// Equal says whether both sets have the same CPUs.
func (s CPUSet) Equal(other CPUSet) bool { return s.String() == other.String() }

func (s CPUSet) trimmed() CPUSet {
	for len(s) > 0 && s[len(s)-1] == 0 {
		s = s[:len(s)-1]
	}
	return s
}

// On chooses CPUs of a node. The set is what to write; cut are the CPUs that were asked for and that the
// node does not have.
func (c CPUs) On(node CPUSet) (set, cut CPUSet, err error) {
	switch c.Mode {
	case CPUsAll:
		return node, nil, nil
	case CPUsAllButFirst:
		return node.Without(CPUSet{}.with(max(node.First(), 0))), nil, nil
	case CPUsList:
		set, err = ParseCPUList(c.List)
	case CPUsMask:
		set, err = ParseMask(c.Mask)
	default:
		err = fmt.Errorf("CPU mode %q is none of All, AllButFirst, List and Mask", shown(string(c.Mode)))
	}
	if err != nil {
		return nil, nil, err
	}
	return set.Intersect(node), set.Without(node), nil
}

func isHexadecimal(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'f') && (r < 'A' || r > 'F')
	})
}

// shown bounds what an error repeats of its input.
func shown(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
