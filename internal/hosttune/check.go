// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem is a setting that is wrong wherever it would be applied.
type Problem struct {
	// Setting is its name, as in a Line.
	Setting string
	Err     error
}

// ParseSettings reads settings from JSON. A field it does not know is an error: a setting that this
// version cannot apply must not be passed over in silence.
func ParseSettings(content []byte) (Settings, error) {
	var settings Settings
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&settings); err != nil {
		return Settings{}, fmt.Errorf("parse host settings: %w", err)
	}
	if decoder.More() {
		return Settings{}, errors.New("parse host settings: more follows after the settings")
	}
	return settings, nil
}

// Problems are what is wrong with the settings whatever the node is like. With one of them nothing is
// applied at all.
func (s Settings) Problems() []Problem {
	problems := s.Owner.problems()
	add := func(setting string, err error) {
		if err != nil {
			problems = append(problems, Problem{Setting: setting, Err: err})
		}
	}
	switch s.OnFailure {
	case "", OnFailureReport, OnFailureBlock:
	default:
		add("onFailure", fmt.Errorf("%q is none of Report and Block", shown(string(s.OnFailure))))
	}
	problems = append(problems, s.sysctlProblems()...)
	if s.ReceivePacketSteering != nil {
		add("receivePacketSteering", s.ReceivePacketSteering.check())
	}
	if s.TransparentHugePages != nil {
		add("transparentHugePages", s.TransparentHugePages.check(s.ServerVersion))
	}
	if s.Scheduler != nil {
		add("scheduler", s.Scheduler.check())
	}
	if s.BlockDevices != nil {
		add("blockDevices", s.BlockDevices.check())
	}
	if s.Checks != nil {
		add("checks", s.Checks.check())
	}
	return problems
}

func (o Owner) problems() []Problem {
	var problems []Problem
	for _, one := range []struct{ name, value string }{{"namespace", o.Namespace}, {"name", o.Name}, {"uid", o.UID}} {
		if one.value == "" || len(one.value) > 253 || strings.ContainsFunc(one.value, func(r rune) bool { return !isNameRune(r) && r != '.' }) {
			problems = append(problems, Problem{Setting: "owner", Err: fmt.Errorf("%s %q is none", one.name, shown(one.value))})
		}
	}
	if _, err := time.Parse(time.RFC3339, o.Created); err != nil {
		problems = append(problems, Problem{Setting: "owner", Err: fmt.Errorf("created %q is no time like 2026-01-02T03:04:05Z", shown(o.Created))})
	}
	return problems
}

func (s Settings) sysctlProblems() []Problem {
	var problems []Problem
	seen := map[string]bool{}
	for _, sysctl := range s.Sysctls {
		err := sysctl.CheckSysctlName()
		if err == nil {
			err = sysctl.CheckValue()
		}
		row, _ := FindSysctl(sysctl.Name)
		if err == nil && seen[sysctl.Name] {
			err = fmt.Errorf("sysctl %s is declared twice", sysctl.Name)
		}
		if err == nil && row.Instead != "" && seen[row.Instead] {
			err = fmt.Errorf("sysctls %s and %s are both declared; the kernel has one or the other", sysctl.Name, row.Instead)
		}
		seen[sysctl.Name] = true
		if err != nil {
			problems = append(problems, Problem{Setting: shown(sysctl.Name), Err: err})
		}
	}
	return problems
}

func (r ReceivePacketSteering) check() error {
	if len(r.Interfaces) == 0 {
		return errors.New("no interface is selected")
	}
	for _, one := range r.Interfaces {
		if err := one.check(); err != nil {
			return err
		}
	}
	if _, _, err := r.CPUs.On(CPUSet{1}); err != nil {
		return err
	}
	switch r.WhenMaskTooWide {
	case "", MaskCut, MaskRefuse:
	default:
		return fmt.Errorf("whenMaskTooWide %q is none of Cut and Refuse", shown(string(r.WhenMaskTooWide)))
	}
	// The kernel refuses a table above 2^29 entries; nodes have 32768.
	const most = 1 << 20
	if r.FlowEntries < 0 || r.FlowEntries > most {
		return fmt.Errorf("flowEntries %d is outside of 0..%d", r.FlowEntries, most)
	}
	return nil
}

func (i Interface) check() error {
	set := 0
	for _, isSet := range []bool{i.Name != "", i.Pattern != "", i.DefaultRoute} {
		if isSet {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("an interface entry needs one of name, pattern and defaultRoute, not %d", set)
	}
	switch {
	case i.Name != "":
		return CheckInterface(i.Name)
	case i.Pattern != "":
		return CheckPattern(i.Pattern)
	default:
		return nil
	}
}

// Defrags are the words of transparent_hugepage/defrag.
var defrags = []string{"always", "defer", "defer+madvise", "madvise", "never"}

func (p TransparentHugePages) check(version string) error {
	if p.Defrag != "" && !slices.Contains(defrags, p.Defrag) {
		return fmt.Errorf("defrag %q is none of %s", shown(p.Defrag), strings.Join(defrags, ", "))
	}
	_, err := p.Words(version)
	return err
}

// HugePageWords are what to write for transparent huge pages; an empty word is unmanaged.
type HugePageWords struct {
	Enabled, Defrag string
	// MaxPtesNone is khugepaged/max_ptes_none and OvercommitMemory vm.overcommit_memory; MongoDB 8.0
	// wants them with huge pages.
	MaxPtesNone, OvercommitMemory string
}

// hugePagesFrom is the first major version whose memory allocator wants huge pages
// (MongoDB manual 8.0, "TCMalloc performance optimization").
const hugePagesFrom = 8

// Words are what the mode means for a server version.
func (p TransparentHugePages) Words(version string) (HugePageWords, error) {
	words := HugePageWords{Defrag: p.Defrag}
	switch p.Mode {
	case HugePagesAlways, HugePagesMadvise, HugePagesNever:
		words.Enabled = strings.ToLower(string(p.Mode))
		return words, nil
	case HugePagesAuto:
	default:
		return HugePageWords{}, fmt.Errorf("mode %q is none of Auto, Always, Madvise and Never", shown(string(p.Mode)))
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major < 0 {
		return HugePageWords{}, fmt.Errorf("mode Auto needs the server's version, not %q", shown(version))
	}
	if major < hugePagesFrom {
		words.Enabled = "never"
		if words.Defrag == "" {
			words.Defrag = "never"
		}
		return words, nil
	}
	words.Enabled, words.MaxPtesNone, words.OvercommitMemory = "always", "0", "1"
	if words.Defrag == "" {
		words.Defrag = "defer+madvise"
	}
	return words, nil
}

func (s Scheduler) check() error {
	const least, most = 100_000, 1_000_000_000
	if s.MinGranularityNanoseconds != 0 && (s.MinGranularityNanoseconds < least || s.MinGranularityNanoseconds > most) {
		return fmt.Errorf("minGranularityNanoseconds %d is outside of %d..%d", s.MinGranularityNanoseconds, least, most)
	}
	if wakeup := s.WakeupGranularityNanoseconds; wakeup != nil && (*wakeup < 0 || *wakeup > most) {
		return fmt.Errorf("wakeupGranularityNanoseconds %d is outside of 0..%d", *wakeup, most)
	}
	return nil
}

// mostReadAheadKiB is 64 MiB: more is a mistake of the unit.
const mostReadAheadKiB = 1 << 16

func (b BlockDevices) check() error {
	for _, name := range b.Names {
		if err := CheckPattern(name); err != nil {
			return err
		}
	}
	if b.ReadAheadKiB != nil && (*b.ReadAheadKiB < 0 || *b.ReadAheadKiB > mostReadAheadKiB) {
		return fmt.Errorf("readAheadKiB %d is outside of 0..%d", *b.ReadAheadKiB, mostReadAheadKiB)
	}
	for _, scheduler := range b.Schedulers {
		if err := checkElement("scheduler", scheduler, longestInterface); err != nil {
			return err
		}
	}
	return nil
}

func (c Checks) check() error {
	if c.MinFreePercent < 0 || c.MinFreePercent > 100 {
		return fmt.Errorf("minFreePercent %d is outside of 0..100", c.MinFreePercent)
	}
	if c.WriteProbe == nil {
		return nil
	}
	const mostMiB, mostSeconds = 4096, 60
	if c.WriteProbe.MiB < 1 || c.WriteProbe.MiB > mostMiB {
		return fmt.Errorf("writeProbe.mib %d is outside of 1..%d", c.WriteProbe.MiB, mostMiB)
	}
	if c.WriteProbe.Seconds < 1 || c.WriteProbe.Seconds > mostSeconds {
		return fmt.Errorf("writeProbe.seconds %d is outside of 1..%d", c.WriteProbe.Seconds, mostSeconds)
	}
	return nil
}
