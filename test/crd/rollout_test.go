// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"
)

const windows = "spec.rollout.windows"

// unsoaked takes the soaks away, which have to fit into a window.
var unsoaked = fields{"spec.rollout.canary": fields{"soakSeconds": 0}, "spec.rollout.leadSoakSeconds": 0}

func rolloutBounds() []bound {
	window := fields{"cron": "0 2 * * *", "durationMinutes": 60}
	cron := length("MongoTuning", "cron", 0, 128)
	cron.accepted = []any{"0 2 1 1 " + strings.Repeat("1", 120)}
	cron.refused = []any{"0 2 1 1 " + strings.Repeat("1", 121)}
	return []bound{
		beside(number("MongoTuning", "spec.rollout.canary.shardIndex", 0, 63, 1), fields{"spec.shards.count": 64}),
		number("MongoTuning", "spec.rollout.canary.soakSeconds", 0, 2592000, 1),
		number("MongoTuning", "spec.rollout.leadSoakSeconds", 0, 2592000, 1),
		values("MongoTuning", "spec.rollout.canaryLeads", "WhenRestarting", "Always", "Never"),
		values("MongoTuning", "spec.rollout.onBreach", "Rollback", "Pause"),
		values("MongoTuning", "spec.rollout.onSteadyBreach", "Report", "Rollback"),
		number("MongoTuning", "spec.rollout.allowedWorseningPercent", 0, 1000, 1),
		number("MongoTuning", "spec.rollout.maxShardsInParallel", 1, 64, 1),
		number("MongoTuning", "spec.rollout.waitDeadlineSeconds", 60, 86400, 1),
		items(windows, 16, func(i int) any { return window.with(fields{"cron": fmt.Sprint(i, " 2 * * *")}) }),
		inItems(windows, cron, window),
		inItems(windows, length("MongoTuning", "timeZone", 0, 64), window),
		beside(inItems(windows, number("MongoTuning", "durationMinutes", 1, 10080, 1), window), unsoaked),
	}
}

func rolloutRules() []rule {
	window := func(change fields) fields {
		return fields{windows: []any{fields{"cron": "0 2 * * *", "durationMinutes": 60}.with(change)}}
	}
	soaking := func(minutes, soak, leadSoak int) fields {
		return fields{"spec.rollout": fields{
			"windows": []any{fields{"cron": "0 2 * * *", "durationMinutes": minutes}},
			"canary":  fields{"soakSeconds": soak}, "leadSoakSeconds": leadSoak,
		}}
	}
	return []rule{
		{
			kind: "MongoTuning", path: windows,
			message: "must each be at least as long as canary.soakSeconds and leadSoakSeconds together (300 each where unset), so that a change that begins in a window is judged in it",
			accepted: []change{
				{name: "a window may be exactly as long as the soaks", after: soaking(60, 1800, 1800)},
				{name: "ten minutes hold the soaks of who declares none", after: window(fields{"durationMinutes": 10})},
			},
			refused: []change{
				{name: "a soak a second too long would end outside", after: soaking(60, 1801, 1800)},
				{name: "nine minutes do not hold the soaks of who declares none", after: window(fields{"durationMinutes": 9})},
			},
		},
		{
			kind: "MongoTuning", path: windows + "[0].cron", message: "must be five fields: minute, hour, day of the month, month, day of the week",
			accepted: []change{
				{name: "ranges, lists and steps are fields", after: window(fields{"cron": "*/30 1-3 * 1,7 MON-FRI"})},
			},
			refused: []change{
				{name: "four fields are too few", after: window(fields{"cron": "0 2 * *"})},
				{name: "six fields would begin with seconds", after: window(fields{"cron": "0 0 2 * * *"})},
				{name: "a name for a whole schedule is none", after: window(fields{"cron": "@daily"})},
				{name: "the zone has a field of its own", after: window(fields{"cron": "TZ=UTC 0 2 * * *"})},
				{name: "nothing is no schedule", after: window(fields{"cron": ""})},
			},
		},
		{
			kind: "MongoTuning", path: windows + "[0].timeZone", message: "must be the name of a time zone, for example Europe/Berlin",
			accepted: []change{
				{name: "UTC is a zone", after: window(fields{"timeZone": "UTC"})},
				{name: "names have two or three parts", after: window(fields{"timeZone": "America/Argentina/Buenos_Aires"})},
				{name: "some have a sign", after: window(fields{"timeZone": "Etc/GMT+2"})},
			},
			refused: []change{
				{name: "a path is no zone", after: window(fields{"timeZone": "../etc/passwd"})},
				{name: "an offset is no zone", after: window(fields{"timeZone": "+02:00"})},
			},
		},
	}
}
