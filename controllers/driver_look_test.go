// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"github.com/mongotuning/mongotuning/internal/mongodb"
)

func TestHowLongAPrimaryHasLed(t *testing.T) {
	now := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	at := func(offset time.Duration) *time.Time { return new(now.Add(offset)) }
	for _, row := range []struct {
		name string
		self mongodb.MemberStatus
		want time.Duration
	}{
		{"a secondary leads for no time", mongodb.MemberStatus{OptimeDate: at(0)}, 0},
		{"since its election", mongodb.MemberStatus{ElectionDate: at(-time.Minute), OptimeDate: at(-5 * time.Second)}, time.Minute},
		{"in the second of its election it has led for one", mongodb.MemberStatus{ElectionDate: at(200 * time.Millisecond)}, time.Second},
		{
			"the time of a cluster may be an hour ahead of the clock",
			mongodb.MemberStatus{ElectionDate: at(time.Hour), OptimeDate: at(time.Hour + 30*time.Second)}, 30 * time.Second,
		},
	} {
		if got := leadsFor(row.self, now); got != row.want {
			t.Errorf("%s: %s, wanted %s", row.name, got, row.want)
		}
	}
	if got := leadsFor(mongodb.MemberStatus{ElectionDate: at(0)}, time.Time{}); got != 0 {
		t.Errorf("a server that does not tell the time leads for %s", got)
	}
}
