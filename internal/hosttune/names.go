// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"fmt"
	"path"
	"strings"
)

// longestInterface is IFNAMSIZ without its terminating zero.
const longestInterface = 15

// CheckInterface refuses what is no name of a network interface. What it takes is safe as one element
// of a path.
func CheckInterface(name string) error {
	return checkElement("interface", name, longestInterface)
}

// CheckDevice refuses what is no name of a block device below /sys/block.
func CheckDevice(name string) error {
	const longest = 64
	return checkElement("device", name, longest)
}

func checkElement(kind, name string, longest int) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is no %s name", name, kind)
	case len(name) > longest:
		return fmt.Errorf("%s name %q is longer than %d characters", kind, shown(name), longest)
	}
	for _, r := range name {
		if !isNameRune(r) && !strings.ContainsRune(".:@!", r) {
			return fmt.Errorf("%s name %q has %q in it; letters, digits and - _ . : @ ! are allowed", kind, shown(name), r)
		}
	}
	return nil
}

// CheckPattern refuses what is no shell pattern of interface or device names. Patterns are compared
// with names, never expanded as paths.
func CheckPattern(pattern string) error {
	const longest = 64
	if pattern == "" || len(pattern) > longest {
		return fmt.Errorf("pattern %q has to have 1 to %d characters", shown(pattern), longest)
	}
	for _, r := range pattern {
		if !isNameRune(r) && !strings.ContainsRune(".:@!*?[]^", r) {
			return fmt.Errorf("pattern %q has %q in it; a pattern is compared with names and has no path", pattern, r)
		}
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return nil
}

// Matches says whether a name is meant by a pattern that CheckPattern takes.
func Matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
