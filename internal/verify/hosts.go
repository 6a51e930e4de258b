// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// Bounds of what status keeps of a node, as the API has them.
const (
	// LongestFailure is the longest text of a failure.
	LongestFailure  = 1024
	longestSettings = 128
	longestName     = 192
	longestValue    = 256
	longestDetail   = 512
)

// hostResults are the results of a report in the words of the API, worst first.
var hostResults = []v1alpha1.HostResult{
	v1alpha1.HostRefused, v1alpha1.HostConflict, v1alpha1.HostDiffers, v1alpha1.HostWarning, v1alpha1.HostUnreadable,
	v1alpha1.HostUnsupported, v1alpha1.HostNotNeeded, v1alpha1.HostRestored, v1alpha1.HostApplied, v1alpha1.HostAlreadySet, v1alpha1.HostChecked,
}

// OfPod is a report of a pod about itself: what it says of its own network is told apart from what
// others say of theirs.
func OfPod(report observed.HostReport, pod string) observed.HostReport {
	report.Lines = ofPod(report.Lines, pod)
	return report
}

func ofPod(lines []hosttune.Line, pod string) []hosttune.Line {
	lines = slices.Clone(lines)
	for i := range lines {
		isOwn := lines[i].Scope == hosttune.ScopePod || lines[i].Scope == hosttune.ScopeProcess
		if isOwn && lines[i].On == "" {
			lines[i].On = pod
		}
	}
	return lines
}

// HostReported lays reports over what is known of a node, each once and in the order in which they were
// given. What was set stays told as set when a later run finds nothing left to do.
func HostReported(status v1alpha1.HostNodeStatus, reports []observed.HostReport) v1alpha1.HostNodeStatus {
	slices.SortStableFunc(reports, func(a, b observed.HostReport) int { return a.At.Compare(b.At) })
	for _, report := range reports {
		if status.ReportTime != nil && report.At.Before(status.ReportTime.Time) {
			continue
		}
		if report.Revision != status.Revision {
			status.Settings = nil
		}
		status.Revision = report.Revision
		at := metav1.NewTime(report.At)
		status.ReportTime = &at
		status.Facts = factsOver(status.Facts, report.Facts)
		for _, line := range report.Lines {
			status.Settings = laidOver(status.Settings, hostSetting(line))
		}
	}
	return settled(status)
}

// HostRead lays what a reader sees now over the report of the same settings. It tells of nothing as set
// that was not set, and keeps the first wording of a warning, so that status does not change with every
// figure.
func HostRead(status v1alpha1.HostNodeStatus, reading hosttune.Reading, pod string) v1alpha1.HostNodeStatus {
	status.Facts = factsOver(hostFacts(reading.Facts), v1alphaFacts(status.Facts))
	for _, line := range ofPod(reading.Lines, pod) {
		seen := hostSetting(line)
		i := slices.IndexFunc(status.Settings, func(known v1alpha1.HostSettingStatus) bool { return known.Name == seen.Name })
		known := v1alpha1.HostResult("")
		if i >= 0 {
			known = status.Settings[i].Result
		}
		switch {
		case seen.Result == v1alpha1.HostDiffers && isInForce(known):
			status.Settings[i].Result, status.Settings[i].Found, status.Settings[i].Detail = v1alpha1.HostDiffers, seen.Found, seen.Detail
		case seen.Result == v1alpha1.HostDiffers && known == v1alpha1.HostDiffers:
			status.Settings[i].Found = seen.Found
		case seen.Result == v1alpha1.HostAlreadySet && known == v1alpha1.HostDiffers:
			status.Settings[i] = seen
		case seen.Result == v1alpha1.HostWarning && i < 0:
			status.Settings = append(status.Settings, seen)
		case seen.Result == v1alpha1.HostChecked && known == v1alpha1.HostWarning:
			status.Settings = slices.Delete(status.Settings, i, i+1)
		}
	}
	return settled(status)
}

// settled brings the settings into their order and counts them.
func settled(status v1alpha1.HostNodeStatus) v1alpha1.HostNodeStatus {
	slices.SortStableFunc(status.Settings, func(a, b v1alpha1.HostSettingStatus) int {
		return cmp.Or(slices.Index(hostResults, a.Result)-slices.Index(hostResults, b.Result), cmp.Compare(a.Name, b.Name))
	})
	status.Settings = status.Settings[:min(len(status.Settings), longestSettings)]
	inForce, all := 0, 0
	for _, setting := range status.Settings {
		switch setting.Result {
		case v1alpha1.HostApplied, v1alpha1.HostAlreadySet:
			inForce++
			all++
		case v1alpha1.HostRefused, v1alpha1.HostConflict, v1alpha1.HostDiffers, v1alpha1.HostUnsupported, v1alpha1.HostUnreadable:
			all++
		default: // checks, and what is not declared or does nothing here
		}
	}
	status.InForce = ""
	if status.ReportTime != nil {
		status.InForce = fmt.Sprintf("%d/%d", inForce, all)
	}
	return status
}

func isInForce(result v1alpha1.HostResult) bool {
	return result == v1alpha1.HostApplied || result == v1alpha1.HostAlreadySet
}

// laidOver puts a setting in the place of what is known of it. A check that is as it should be is not
// kept.
func laidOver(settings []v1alpha1.HostSettingStatus, next v1alpha1.HostSettingStatus) []v1alpha1.HostSettingStatus {
	i := slices.IndexFunc(settings, func(known v1alpha1.HostSettingStatus) bool { return known.Name == next.Name })
	switch {
	case next.Result == v1alpha1.HostChecked && i >= 0:
		return slices.Delete(settings, i, i+1)
	case next.Result == v1alpha1.HostChecked:
	case i < 0:
		return append(settings, next)
	case settings[i].Result == v1alpha1.HostApplied && next.Result == v1alpha1.HostAlreadySet:
	default:
		settings[i] = next
	}
	return settings
}

func hostSetting(line hosttune.Line) v1alpha1.HostSettingStatus {
	name := line.Setting
	if line.On != "" {
		name += " on " + line.On
	}
	result := v1alpha1.HostResult(line.Result)
	if !slices.Contains(hostResults, result) {
		result = v1alpha1.HostRefused // a word of another version of the binary
	}
	setting := v1alpha1.HostSettingStatus{
		Name: Shorten(name, longestName), Result: result, Scope: string(line.Scope),
		Wanted: Shorten(line.Wanted, longestValue), Found: Shorten(line.Found, longestValue), Detail: Shorten(hostDetail(line), longestDetail),
	}
	if line.Set != line.Wanted {
		setting.Set = Shorten(line.Set, longestValue)
	}
	if line.ReadBack != line.Wanted {
		setting.ReadBack = Shorten(line.ReadBack, longestValue)
	}
	return setting
}

// hostDetail says why a result is what it is.
func hostDetail(line hosttune.Line) string {
	var parts []string
	if line.Other != nil {
		parts = append(parts, fmt.Sprintf("MongoTuning %s/%s is older and holds it", line.Other.Namespace, line.Other.Name))
	}
	for _, part := range []string{line.Errno, line.Reason} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

func hostFacts(facts hosttune.Facts) v1alpha1.HostFacts {
	return v1alpha1.HostFacts{Kernel: facts.Kernel, CPUs: facts.CPUs, MemoryMiB: facts.MemoryMiB, WriteMiBPerSecond: facts.WriteMiBPerSecond}
}

func v1alphaFacts(facts v1alpha1.HostFacts) hosttune.Facts {
	return hosttune.Facts{Kernel: facts.Kernel, CPUs: facts.CPUs, MemoryMiB: facts.MemoryMiB, WriteMiBPerSecond: facts.WriteMiBPerSecond}
}

// factsOver lays newer facts over what is known; what is not told stays.
func factsOver(known v1alpha1.HostFacts, newer hosttune.Facts) v1alpha1.HostFacts {
	return v1alpha1.HostFacts{
		Kernel: cmp.Or(newer.Kernel, known.Kernel), CPUs: cmp.Or(newer.CPUs, known.CPUs),
		MemoryMiB: cmp.Or(newer.MemoryMiB, known.MemoryMiB), WriteMiBPerSecond: cmp.Or(newer.WriteMiBPerSecond, known.WriteMiBPerSecond),
	}
}

// Shorten cuts a text to a number of bytes.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "..."
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}
