// SPDX-License-Identifier: Apache-2.0

// Package docs holds the pages of the documentation to what is there: links lead somewhere, commands
// exist, every reason and every right has its row. It needs no network.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mongotuning/mongotuning/test/source"
)

// root of the repository.
const root = "../.."

// pages are all pages for people, by their path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "hack/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = read(t, name)
		}
	}
	if len(found) < 8 {
		t.Fatalf("found %d pages only", len(found))
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			target := match[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, fragment, _ := strings.Cut(target, "#")
			path := name
			if file != "" {
				path = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
				continue
			}
			if fragment != "" && !slices.Contains(anchors(all[path]), fragment) {
				t.Errorf("%s links to %s, and %s has no such heading", name, target, path)
			}
		}
	}
}

// anchors are the fragments that GitHub gives to the headings of a page.
func anchors(text string) []string {
	var found []string
	seen := map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		fragment := anchor(match[1])
		if again := seen[fragment]; again > 0 {
			seen[fragment]++
			fragment += "-" + strconv.Itoa(again)
		} else {
			seen[fragment] = 1
		}
		found = append(found, fragment)
	}
	return found
}

func anchor(title string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(title))
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	for title, want := range map[string]string{
		"What a lost Secret means":           "what-a-lost-secret-means",
		"`make` targets, all of them":        "make-targets-all-of-them",
		"MongoTuning spec.tuning.eviction[]": "mongotuning-spectuningeviction",
	} {
		if got := anchor(title); got != want {
			t.Errorf("anchor(%q) = %q, want %q", title, got, want)
		}
	}
}

// makeCommand finds make with its arguments, in a code block or between backticks.
var (
	makeCommand = regexp.MustCompile("(?m)(?:^    |`|&& )(?:[A-Z_]+=\\S+ )*make ([^`#\n&]+)")
	makeTarget  = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
)

func TestTargetsOfMakeExist(t *testing.T) {
	makefile := read(t, "Makefile")
	targets := map[string]bool{}
	for _, match := range makeTarget.FindAllStringSubmatch(makefile, -1) {
		targets[match[1]] = true
	}
	count := 0
	for name, text := range pages(t) {
		for _, match := range makeCommand.FindAllStringSubmatch(text, -1) {
			for word := range strings.FieldsSeq(match[1]) {
				if strings.Contains(word, "=") {
					continue
				}
				count++
				if !targets[word] {
					t.Errorf("%s says make %s, which the Makefile does not have", name, word)
				}
			}
		}
	}
	if count < 10 {
		t.Errorf("found %d commands only; does the pattern still fit?", count)
	}
	for target := range targets {
		if !regexp.MustCompile(`(?m)^` + target + `:.*## .`).MatchString(makefile) {
			t.Errorf("make help does not list %s", target)
		}
	}
}

func TestEveryReasonHasARow(t *testing.T) {
	page := read(t, "docs/operations.md")
	for name, value := range source.Constants(t, root+"/api/v1alpha1/*_types.go") {
		isReason, isCondition := strings.HasPrefix(name, "Reason"), strings.HasPrefix(name, "Condition")
		if (isReason || isCondition) && !strings.Contains(page, "\n| `"+value+"` |") {
			t.Errorf("docs/operations.md has no row for %s (%s): what it means, and what to do", value, name)
		}
	}
}

// notOfAChange are reasons in the sources of TestEveryReasonOfAChangeHasARow with which no change waits or stalls.
var notOfAChange = map[string]string{
	"ReasonVerified":        "the end of a change",
	"ReasonWorseThanTwins":  "only in breachReason, which has a table of its own",
	"ReasonMemberSilent":    "only in breachReason, which has a table of its own",
	"ReasonCorrectingDrift": "there is drift only while no change is on its way",
	"ReasonDriftReported":   "there is drift only while no change is on its way",
	"ReasonDriftHeld":       "there is drift only while no change is on its way",
}

// TestEveryReasonOfAChangeHasARow holds the last table of the page on changes to what can hold a change up. It
// is decided in these packages; those that only judge how a cluster stands are left out.
func TestEveryReasonOfAChangeHasARow(t *testing.T) {
	_, table, found := strings.Cut(read(t, "docs/rollout.md"), "\n## What it says while it waits, stalls or returns\n")
	if !found {
		t.Fatal("docs/rollout.md has no table of reasons")
	}
	values := source.Constants(t, root+"/api/v1alpha1/*_types.go")
	used := reasonsUsed(t, "internal/plan", "internal/profile", "controllers")
	if len(used) < 30 {
		t.Errorf("found %d reasons only", len(used))
	}
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, word := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(row[1], -1) {
			rows[word[1]] = true
		}
	}
	for name := range used {
		switch _, excepted := notOfAChange[name]; {
		case excepted && rows[values[name]]:
			t.Errorf("docs/rollout.md has a row for %s: %s", values[name], notOfAChange[name])
		case !excepted && !rows[values[name]]:
			t.Errorf("docs/rollout.md has no row for %s: what it holds up, and when it goes on", values[name])
		}
		delete(rows, values[name])
	}
	for name := range notOfAChange {
		if !used[name] {
			t.Errorf("%s is excepted and not used", name)
		}
	}
	for value := range rows {
		t.Errorf("docs/rollout.md has a row for %s, with which no change waits or stalls", value)
	}
}

// reasonsUsed are the names of the reasons in the sources of packages, tests left out.
func reasonsUsed(t *testing.T, packages ...string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, folder := range packages {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range regexp.MustCompile(`\bv1alpha1\.(Reason[A-Za-z]+)`).FindAllStringSubmatch(read(t, name), -1) {
				used[match[1]] = true
			}
		}
	}
	return used
}

func TestEveryEventHasARow(t *testing.T) {
	page := read(t, "docs/events.md")
	count := 0
	for name, value := range source.Constants(t, root+"/api/v1alpha1/*_types.go") {
		if !strings.HasPrefix(name, "Event") {
			continue
		}
		count++
		if !strings.Contains(page, "\n| `"+value+"` |") {
			t.Errorf("docs/events.md has no row for %s (%s)", value, name)
		}
	}
	if count < 30 {
		t.Errorf("found %d events only", count)
	}
}

func TestEverySampleIsListed(t *testing.T) {
	page := read(t, "docs/samples.md")
	files, err := filepath.Glob(filepath.Join(root, "config", "samples", "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("found %d samples (%v)", len(files), err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" && !strings.Contains(page, "\n| ["+name+"]") {
			t.Errorf("docs/samples.md does not say what %s is for", name)
		}
	}
}

// TestCommandsOfThePluginExist finds a page that tells somebody on call to run what there is not.
func TestCommandsOfThePluginExist(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal", "plugin", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"completion": true, "help": true}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`Use: +"([a-z]+)[ "]`).FindAllStringSubmatch(read(t, name), -1) {
			known[match[1]] = true
		}
	}
	count := 0
	for name, text := range pages(t) {
		for _, match := range regexp.MustCompile("(?:^|[ `])kubectl mongotuning(?: -n \\S+)? ([a-z]+)").FindAllStringSubmatch(text, -1) {
			count++
			if !known[match[1]] {
				t.Errorf("%s says kubectl mongotuning %s, which the plugin does not have", name, match[1])
			}
		}
	}
	if count < 20 {
		t.Errorf("found %d commands only", count)
	}
}

// TestFlagsOfTheManagerAreListed holds the table of flags to those that the command defines.
func TestFlagsOfTheManagerAreListed(t *testing.T) {
	page := read(t, "docs/installation.md")
	source := read(t, "cmd/mongotuning/manager.go")
	defined := regexp.MustCompile(`flags\.\w+Var\(&\S+, "([a-z-]+)"`).FindAllStringSubmatch(source, -1)
	if len(defined) < 5 {
		t.Fatalf("found %d flags only", len(defined))
	}
	for _, match := range defined {
		if !strings.Contains(page, "| `--"+match[1]+"` |") {
			t.Errorf("docs/installation.md does not list --%s", match[1])
		}
	}
}

// TestNothingPointsToAMachine keeps out what is true on one machine only.
func TestNothingPointsToAMachine(t *testing.T) {
	local := regexp.MustCompile(`/(root|home|work|tmp|Users)/\S`)
	for name, text := range pages(t) {
		if found := local.FindString(text); found != "" {
			t.Errorf("%s names a path of one machine: %s", name, found)
		}
	}
}
