// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/recording"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// Where live figures are read.
const (
	// figuresFromRecording are those that the operator writes down while a change travels.
	figuresFromRecording = "Recording"
	// figuresFromMetrics are those of the operator's metrics endpoint.
	figuresFromMetrics = "Metrics"
	figuresFromNowhere = "None"
)

// freshness is how old a recorded figure may be to be called live. Recordings of long changes are written
// once a minute.
const freshness = 90 * time.Second

// figures reads what is measured on the members. The status of the object does not have it: figures that
// change with every look would be a write with every look.
type figures struct {
	way   *access
	clock clock.PassiveClock
	// metrics is the way to the operator's endpoint; nil where there is none.
	metrics metricsSource
	// refused is why the endpoint is not asked again.
	refused error
}

// metricsSource gives the operator's page of metrics.
type metricsSource interface {
	page(ctx context.Context) (string, error)
	close()
}

func newFigures(way *access, now clock.PassiveClock) *figures {
	return &figures{way: way, clock: now, metrics: way.metrics(now)}
}

func (f *figures) close() {
	if f.metrics != nil {
		f.metrics.close()
	}
}

// fill puts the figures into a view, or why there are none. On the way of a change the recording has them,
// which everybody may read who may read the object; otherwise the metrics endpoint does, for those who have
// the right.
func (f *figures) fill(ctx context.Context, tuning *v1alpha1.MongoTuning, view *statusView) {
	if len(view.Members) == 0 {
		view.Figures = figuresView{Source: figuresFromNowhere}
		return
	}
	if book, err := f.way.book(ctx, tuning); err == nil && f.isLive(book.Last) {
		at := metav1.NewTime(book.Last.LastAt)
		view.Figures = figuresView{Source: figuresFromRecording, At: &at}
		for i := range view.Members {
			member := &view.Members[i]
			member.DirtyCachePercent = latest(book.Last, member.Name, v1alpha1.GaugeDirtyCache)
			member.ReplicationLagSeconds = latest(book.Last, member.Name, v1alpha1.GaugeReplicationLag)
		}
		return
	}
	page, err := f.page(ctx)
	if err == nil {
		err = fromMetrics(page, tuning, view)
	}
	if err != nil {
		view.Figures = figuresView{Source: figuresFromNowhere, Hint: hint(err)}
		return
	}
	at := metav1.NewTime(f.clock.Now())
	view.Figures = figuresView{Source: figuresFromMetrics, At: &at}
}

func (f *figures) isLive(recorded *recording.Recording) bool {
	return recorded.IsOpen() && f.clock.Since(recorded.LastAt) < freshness
}

// errNoMetrics tells that there is no way to the metrics at all.
var errNoMetrics = errors.New("no way to the operator")

func (f *figures) page(ctx context.Context) (string, error) {
	if f.refused != nil || f.metrics == nil {
		return "", errors.Join(f.refused, errNoMetrics)
	}
	page, err := f.metrics.page(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		f.refused = err
	}
	return page, err
}

// hint says where the figures are to be had.
func hint(err error) string {
	const where = "Dirty cache and lag are shown here while a change travels, and always to those who may read the operator's metrics"
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return where + " (the Role mongotuning-figures in the operator's namespace)."
	case errors.Is(err, errNoMetrics):
		return where + "."
	default:
		return fmt.Sprintf("%s; the operator did not give them: %s.", where, firstLine(err))
	}
}

func latest(recorded *recording.Recording, member string, gauge v1alpha1.Gauge) *float64 {
	series, found := recorded.Of(recording.Key{Member: member, Gauge: string(gauge)})
	if !found || math.IsNaN(series.Latest) {
		return nil
	}
	return &series.Latest
}

// age says how old the figures are, when that is worth saying.
func (v figuresView) age(now time.Time) string {
	if v.At == nil || v.Source != figuresFromRecording {
		return ""
	}
	return "Figures as recorded " + terminal.Span(now.Sub(v.At.Time)) + " ago."
}
