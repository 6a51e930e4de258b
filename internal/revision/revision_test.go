// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/profile"
)

// TestNameFollowsWhatTravels proves that nothing but what members get makes a new revision: an operator
// with other words for the same tuning must not begin a rollout.
func TestNameFollowsWhatTravels(t *testing.T) {
	tests := []struct {
		name   string
		change func(*v1alpha1.MongoTuning, *profile.Resolved)
		isSame bool
	}{
		{"a warning in other words", func(_ *v1alpha1.MongoTuning, r *profile.Resolved) { r.Warnings = []string{"new words"} }, true},
		{"no warning any more", func(_ *v1alpha1.MongoTuning, r *profile.Resolved) { r.Warnings = nil }, true},
		{"the same value from elsewhere", func(_ *v1alpha1.MongoTuning, r *profile.Resolved) { r.Sources = nil }, true},
		{"another patch release", func(_ *v1alpha1.MongoTuning, r *profile.Resolved) { r.Version.Patch = 9 }, true},
		{"another value", func(_ *v1alpha1.MongoTuning, r *profile.Resolved) {
			r.Settings = map[v1alpha1.Component]catalog.Settings{v1alpha1.ComponentShardMember: {catalog.CacheSizeGB: "2"}}
		}, false},
		{"another release line", func(_ *v1alpha1.MongoTuning, r *profile.Resolved) { r.Version.Minor = 2 }, false},
		{"another CPU limit", func(t *v1alpha1.MongoTuning, _ *profile.Resolved) {
			t.Spec.Shards.Resources.Limits.CPU = resource.NewQuantity(8, resource.DecimalSI)
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tuning := &v1alpha1.MongoTuning{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
			resolved := profile.Resolved{
				Version:  catalog.Version{Major: 4, Minor: 4, Patch: 2},
				Settings: map[v1alpha1.Component]catalog.Settings{v1alpha1.ComponentShardMember: {catalog.CacheSizeGB: "1"}},
				Sources:  map[v1alpha1.Component]map[string]v1alpha1.ValueSource{v1alpha1.ComponentShardMember: {catalog.CacheSizeGB: v1alpha1.SourceProfile}},
				Warnings: []string{"old words"},
			}
			before := Name(tuning, resolved)
			test.change(tuning, &resolved)
			if after := Name(tuning, resolved); (after == before) != test.isSame {
				t.Errorf("the name was %s and is %s", before, after)
			}
		})
	}
}
