// SPDX-License-Identifier: Apache-2.0

// Package window tells when a change may begin: it reads the windows of a rollout and knows whether one
// is open and when the next one opens. It is pure; the time zones are built in.
package window

import (
	"fmt"
	"time"
	_ "time/tzdata" // the zones of the machine may be missing or old

	"github.com/robfig/cron/v3"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Windows are the times in which a change may begin. None at all means at any time.
type Windows []window

type window struct {
	opens    cron.Schedule
	zone     *time.Location
	duration time.Duration
}

// fields are the five of a crontab, without names for whole schedules such as @daily.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Parse reads the windows of a spec. Its problems begin with the path of the field below spec.
func Parse(spec []v1alpha1.RolloutWindow, now time.Time) (windows Windows, problems []string) {
	for i, declared := range spec {
		path := fmt.Sprintf("rollout.windows[%d]", i)
		zone, err := zoneOf(declared.TimeZone)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s.timeZone: there is no time zone %q; use an IANA name, for example Europe/Berlin", path, declared.TimeZone))
			continue
		}
		opens, err := fields.Parse(declared.Cron)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s.cron: %q cannot be read: %s", path, declared.Cron, err))
			continue
		}
		if opens.Next(now.In(zone)).IsZero() {
			problems = append(problems, fmt.Sprintf("%s.cron: %q never opens: there is no such day", path, declared.Cron))
			continue
		}
		windows = append(windows, window{opens: opens, zone: zone, duration: time.Duration(declared.DurationMinutes) * time.Minute})
	}
	return windows, problems
}

func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("the zone of the machine is nobody's")
	}
	return time.LoadLocation(name)
}

// Closed tells when the next window opens, in that window's zone; ok is false while one is open, or
// when there are none.
func (w Windows) Closed(now time.Time) (opens time.Time, ok bool) {
	for _, each := range w {
		// The first opening after this moment is still open if it has come already.
		if last := each.opens.Next(now.Add(-each.duration).In(each.zone)); !last.IsZero() && !last.After(now) {
			return time.Time{}, false
		}
		if next := each.opens.Next(now.In(each.zone)); !next.IsZero() && (opens.IsZero() || next.Before(opens)) {
			opens = next
		}
	}
	return opens, len(w) > 0
}
