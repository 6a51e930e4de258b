// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// The API takes without the escape what a node takes without the escape, name by name: a list that is
// longer on one side is refused on the other, after it was accepted.
func TestSysctlsOfTheAPIAreThoseOfTheNode(t *testing.T) {
	var listed []string
	for _, row := range hosttune.Sysctls() {
		listed = append(listed, row.Name)
	}
	if declared := sysctlsOfTheRule(t); !slices.Equal(declared, listed) {
		t.Errorf("the API lists\n%s\nand the node\n%s", strings.Join(declared, "\n"), strings.Join(listed, "\n"))
	}
}

// sysctlsOfTheRule reads the names out of the rule of the definition.
func sysctlsOfTheRule(t *testing.T) (names []string) {
	t.Helper()
	_, content, err := readCRD("MongoTuning")
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(content)), "")
	list := regexp.MustCompile(`self\.name\.matches\('+\^\(((?:[a-z0-9\[\].]+\([^)]*\)\|?)+)\)\$'+\)`).FindStringSubmatch(flat)
	if list == nil {
		t.Fatal("the rule of the list is not found")
	}
	for _, group := range regexp.MustCompile(`([a-z0-9\[\].]+)\(([^)]*)\)`).FindAllStringSubmatch(list[1], -1) {
		prefix := strings.ReplaceAll(group[1], "[.]", ".")
		for name := range strings.SplitSeq(group[2], "|") {
			names = append(names, prefix+name)
		}
	}
	slices.Sort(names)
	return names
}
