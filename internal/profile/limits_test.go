// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

func TestContradictoryLimits(t *testing.T) {
	limit := func(gauge v1alpha1.Gauge, maximum int64) v1alpha1.Limit {
		return v1alpha1.Limit{Name: "x", Gauge: gauge, Max: &maximum}
	}
	off := limit(v1alpha1.GaugeDirtyCache, 1)
	off.Enforcement = v1alpha1.EnforcementOff
	config := limit(v1alpha1.GaugeDirtyCache, 1)
	config.Scope = v1alpha1.ScopeConfigServers
	tooMuch := int64(101)
	target, trigger := int32(7), int32(20)
	tuning := &v1alpha1.MongodTuning{Eviction: &v1alpha1.EvictionTuning{DirtyTargetPercent: &target, DirtyTriggerPercent: &trigger}}
	tests := []struct {
		name    string
		limit   v1alpha1.Limit
		tuning  *v1alpha1.MongodTuning
		refusal string
	}{
		{name: "dirty cache may be held to its target", limit: limit(v1alpha1.GaugeDirtyCache, 7), tuning: tuning},
		{
			name: "dirty cache below its own target is broken by design", limit: limit(v1alpha1.GaugeDirtyCache, 6), tuning: tuning,
			refusal: "verification.limits[0].max: 6 of DirtyCachePercent must not be below eviction.dirtyTargetPercent, which is 7: the members would break the limit by design",
		},
		{
			name: "a target that nobody declares is the server's", limit: limit(v1alpha1.GaugeDirtyCache, 4),
			refusal: "verification.limits[0].max: 4 of DirtyCachePercent must not be below eviction.dirtyTargetPercent, which is 5: the members would break the limit by design",
		},
		{
			name: "history is kept for its window", limit: limit(v1alpha1.GaugePinnedHistory, 4),
			refusal: "verification.limits[0].max: 4 of PinnedHistorySeconds must not be below snapshotHistoryWindowSeconds, which is 5: the members would break the limit by design",
		},
		{name: "a limit that is Off contradicts nothing", limit: off},
		{name: "config servers have no eviction settings", limit: config},
		{
			name: "a share above the whole cannot be", limit: v1alpha1.Limit{Name: "x", Gauge: v1alpha1.GaugeCacheFill, Min: &tooMuch},
			refusal: "verification.limits[0].min: 101 of CacheFillPercent must be at most 100: more than the whole cannot be",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := specOn("4.4.2", test.tuning)
			spec.Verification = &v1alpha1.VerificationSpec{Limits: []v1alpha1.Limit{test.limit}}
			_, err := Resolve(spec, nil)
			if test.refusal == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantRefusal(t, err, v1alpha1.ReasonInvalidTuning, test.refusal)
		})
	}
}
