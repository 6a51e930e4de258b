// SPDX-License-Identifier: Apache-2.0

package window

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestWindows(t *testing.T) {
	nights := v1alpha1.RolloutWindow{Cron: "0 2 * * *", DurationMinutes: 120, TimeZone: "Europe/Berlin"}
	for _, row := range []struct {
		name    string
		windows []v1alpha1.RolloutWindow
		now     string
		opens   string // empty while one is open
	}{
		{"it is open from its first moment", []v1alpha1.RolloutWindow{nights}, "2026-01-05T01:00:00Z", ""},
		{"it is open until its last moment", []v1alpha1.RolloutWindow{nights}, "2026-01-05T02:59:59Z", ""},
		{"it is closed when its time is over", []v1alpha1.RolloutWindow{nights}, "2026-01-05T03:00:00Z", "2026-01-06T02:00:00+01:00"},
		{"it is closed before its time", []v1alpha1.RolloutWindow{nights}, "2026-01-05T00:59:59Z", "2026-01-05T02:00:00+01:00"},
		{"the zone is UTC unless it is declared", []v1alpha1.RolloutWindow{{Cron: "0 2 * * *", DurationMinutes: 60}}, "2026-01-05T01:00:00Z", "2026-01-05T02:00:00Z"},
		{"in summer the same hour comes earlier in UTC", []v1alpha1.RolloutWindow{nights}, "2026-07-05T00:30:00Z", ""},
		{
			"the night that skips the hour has no window", []v1alpha1.RolloutWindow{nights}, "2026-03-29T00:30:00Z",
			"2026-03-30T02:00:00+02:00",
		},
		{"a window over the change to summer time is as long as declared", []v1alpha1.RolloutWindow{{Cron: "30 1 * * *", DurationMinutes: 60, TimeZone: "Europe/Berlin"}}, "2026-03-29T01:29:00Z", ""},
		{"and no longer", []v1alpha1.RolloutWindow{{Cron: "30 1 * * *", DurationMinutes: 60, TimeZone: "Europe/Berlin"}}, "2026-03-29T01:30:00Z", "2026-03-30T01:30:00+02:00"},
		{"the hour that comes twice opens it in the first", []v1alpha1.RolloutWindow{nights}, "2026-10-25T00:30:00Z", ""},
		{"and in the second", []v1alpha1.RolloutWindow{nights}, "2026-10-25T02:30:00Z", ""},
		{"a window over midnight is one window", []v1alpha1.RolloutWindow{{Cron: "0 22 * * 5", DurationMinutes: 600, TimeZone: "UTC"}}, "2026-01-10T07:00:00Z", ""},
		{"of several windows one open is enough", []v1alpha1.RolloutWindow{nights, {Cron: "0 12 * * *", DurationMinutes: 60}}, "2026-01-05T12:30:00Z", ""},
		{"of several windows the next is told", []v1alpha1.RolloutWindow{nights, {Cron: "0 12 * * *", DurationMinutes: 60}}, "2026-01-05T11:30:00Z", "2026-01-05T12:00:00Z"},
	} {
		t.Run(row.name, func(t *testing.T) {
			windows, problems := Parse(row.windows, at(t, row.now))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			opens, closed := windows.Closed(at(t, row.now))
			if closed != (row.opens != "") {
				t.Fatalf("closed: %t, next opening %s", closed, opens)
			}
			if closed && opens.Format(time.RFC3339) != row.opens {
				t.Errorf("opens %s, wanted %s", opens.Format(time.RFC3339), row.opens)
			}
		})
	}
}

func TestNoWindowsAreNeverClosed(t *testing.T) {
	windows, _ := Parse(nil, time.Unix(0, 0))
	if _, closed := windows.Closed(time.Unix(0, 0)); closed {
		t.Error("a rollout without windows waits for one")
	}
}

func TestProblemsNameTheirPath(t *testing.T) {
	for _, row := range []struct {
		window v1alpha1.RolloutWindow
		says   string
	}{
		{v1alpha1.RolloutWindow{Cron: "61 2 * * *", DurationMinutes: 60}, `rollout.windows[0].cron: "61 2 * * *" cannot be read`},
		{v1alpha1.RolloutWindow{Cron: "0 2 30 2 *", DurationMinutes: 60}, "rollout.windows[0].cron: \"0 2 30 2 *\" never opens"},
		{v1alpha1.RolloutWindow{Cron: "@every 1h", DurationMinutes: 60}, "rollout.windows[0].cron"},
		{v1alpha1.RolloutWindow{Cron: "0 2 * * *", DurationMinutes: 60, TimeZone: "Mars/Olympus"}, `rollout.windows[0].timeZone: there is no time zone "Mars/Olympus"`},
		{v1alpha1.RolloutWindow{Cron: "0 2 * * *", DurationMinutes: 60, TimeZone: "Local"}, "rollout.windows[0].timeZone"},
	} {
		_, problems := Parse([]v1alpha1.RolloutWindow{row.window}, time.Unix(0, 0))
		if len(problems) != 1 || !strings.HasPrefix(problems[0], row.says) {
			t.Errorf("%+v: %q, wanted %q", row.window, problems, row.says)
		}
	}
}

// TestEveryOpeningIsOpen draws windows and moments: the opening that is told is one, and there is none
// before it.
func TestEveryOpeningIsOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		declared := v1alpha1.RolloutWindow{
			Cron:            rapid.SampledFrom([]string{"0 2 * * *", "*/15 * * * *", "30 1 * * 0", "0 0 1 * *", "5 4 * 3,10 *"}).Draw(t, "cron"),
			DurationMinutes: rapid.Int32Range(1, 10080).Draw(t, "minutes"),
			TimeZone:        rapid.SampledFrom([]string{"", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"}).Draw(t, "zone"),
		}
		now := time.Unix(rapid.Int64Range(1767225600, 1798761600).Draw(t, "now"), 0)
		windows, problems := Parse([]v1alpha1.RolloutWindow{declared}, now)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		opens, closed := windows.Closed(now)
		if !closed {
			return
		}
		if !opens.After(now) {
			t.Fatalf("%s is not after %s", opens, now)
		}
		if _, still := windows.Closed(opens); still {
			t.Fatalf("nothing is open at %s", opens)
		}
		if _, still := windows.Closed(opens.Add(-time.Second)); !still {
			t.Fatalf("something was open before %s", opens)
		}
	})
}
