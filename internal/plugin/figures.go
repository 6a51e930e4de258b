// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"k8s.io/utils/clock"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// figures reads what is measured on the members. The status of the object does not have it: figures that
// change with every look would be a write with every look.
type figures struct {
	way   *access
	clock clock.PassiveClock
}

func newFigures(way *access, now clock.PassiveClock) *figures {
	return &figures{way: way, clock: now}
}

func (f *figures) close() {}

// fill puts the figures into a view, or why there are none.
func (f *figures) fill(_ context.Context, _ *v1alpha1.MongoTuning, view *statusView) {
	view.Figures = figuresView{Source: "none", Hint: "Dirty cache and lag are metrics: mongotuning_dirty_cache_ratio and mongotuning_replication_lag_seconds."}
}
