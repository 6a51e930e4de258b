// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/profile"
	"github.com/mongotuning/mongotuning/internal/revision"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/internal/window"
)

// wanted is what the cluster is held to in one reconcile.
type wanted struct {
	// tuning is the object; its spec is that of the revision in force while the declared one is refused.
	tuning *v1alpha1.MongoTuning
	// resolved tuning; only meaningful when known.
	resolved profile.Resolved
	// revision is the name of the ControllerRevision that holds it.
	revision string
	// known is false when nothing was ever resolved, so that there is nothing to hold members to.
	known bool
	// stall is why the declared spec is not acted on; nil when it is.
	stall *status.Stall
}

// resolve lays profile and overrides together. A spec that cannot be declared does not end the watch:
// the members are judged against the revision in force until somebody corrects it.
func (r *MongoTuningReconciler) resolve(ctx context.Context, tuning *v1alpha1.MongoTuning) (wanted, error) {
	base, stall, err := r.baseProfile(ctx, tuning)
	if err != nil {
		return wanted{}, err
	}
	if stall == nil {
		stall = invalidWindows(tuning.Spec.Rollout, r.Clock.Now())
	}
	if stall == nil {
		resolved, err := profile.Resolve(tuning.Spec, base)
		if err == nil {
			return wanted{tuning: tuning, resolved: resolved, revision: revision.Name(tuning, resolved), known: true}, nil
		}
		refused, ok := profile.AsRefused(err)
		if !ok {
			return wanted{}, fmt.Errorf("resolve tuning: %w", err)
		}
		stall = &status.Stall{Reason: refused.Reason, Message: refused.Error()}
	}
	return r.revisionInForce(ctx, tuning, stall)
}

// invalidWindows refuses windows whose form is right and that can still not be read.
func invalidWindows(spec *v1alpha1.RolloutSpec, now time.Time) *status.Stall {
	if spec == nil {
		return nil
	}
	if _, problems := window.Parse(spec.Windows, now); len(problems) > 0 {
		return &status.Stall{Reason: v1alpha1.ReasonInvalidSpec, Message: strings.Join(problems, "; ")}
	}
	return nil
}

// baseProfile fetches the profile that is referred to; nil when none is.
func (r *MongoTuningReconciler) baseProfile(ctx context.Context, tuning *v1alpha1.MongoTuning) (*v1alpha1.TuningProfileSpec, *status.Stall, error) {
	if tuning.Spec.ProfileRef == nil {
		return nil, nil, nil
	}
	name := tuning.Spec.ProfileRef.Name
	base := &v1alpha1.TuningProfile{}
	err := r.Get(ctx, types.NamespacedName{Name: name}, base)
	if apierrors.IsNotFound(err) {
		return nil, &status.Stall{
			Reason:  v1alpha1.ReasonProfileNotFound,
			Message: fmt.Sprintf("profileRef.name: there is no TuningProfile %q; kubectl get tuningprofiles lists those that exist", name),
		}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get profile %s: %w", name, err)
	}
	return &base.Spec, nil, nil
}
