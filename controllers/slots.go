// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// slots bound how many MongoTunings roll out at once. Who holds one is read from the status of all of
// them, so that nothing is lost with the process and nothing leaks with an object; what is kept here is
// only what the cache does not show yet.
type slots struct {
	mu sync.Mutex
	// taken are the objects that were given a slot since the process began, until the cache shows that
	// they roll out, or for as long as it may take to.
	taken map[types.NamespacedName]time.Time
	// asked is when each object asked last.
	asked map[types.NamespacedName]time.Time
	began time.Time
}

const (
	// takenFor is how long a slot is held for an object whose status does not show yet that it rolls out.
	takenFor = 30 * time.Second
	// askedFor is how long an object that waits keeps its place without asking again: one that does not
	// ask is held up by something else, and nobody is to wait behind it.
	askedFor = 60 * time.Second
)

// takeSlot says why the object may not roll out now; empty when it may.
func (r *MongoTuningReconciler) takeSlot(ctx context.Context, tuning *v1alpha1.MongoTuning, now time.Time) (string, error) {
	if r.MaxRollouts == 0 {
		return "", nil
	}
	all := &v1alpha1.MongoTuningList{}
	if err := r.List(ctx, all); err != nil {
		return "", fmt.Errorf("list MongoTunings that roll out: %w", err)
	}
	return r.slots.take(tuning, all.Items, r.MaxRollouts, now), nil
}

// holdsSlot tells that the object's change is on its way, as its status says. One that stalls gives its
// slot back, and one that waits for a slot has none.
func holdsSlot(tuning *v1alpha1.MongoTuning) bool {
	waiting := tuning.Status.Waiting
	return tuning.DeletionTimestamp.IsZero() && plan.IsTravelling(tuning.Status.Rollout.Step) &&
		!meta.IsStatusConditionTrue(tuning.Status.Conditions, v1alpha1.ConditionStalled) &&
		!meta.IsStatusConditionTrue(tuning.Status.Conditions, v1alpha1.ConditionSuspended) &&
		(waiting == nil || waiting.Reason != v1alpha1.ReasonWaitingForSlot)
}

// take gives the object a slot or says who has them. Whoever waits longest comes first.
func (s *slots) take(tuning *v1alpha1.MongoTuning, all []v1alpha1.MongoTuning, most int, now time.Time) (why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken, s.asked, s.began = map[types.NamespacedName]time.Time{}, map[types.NamespacedName]time.Time{}, now
	}
	key := keyOf(tuning)
	s.asked[key] = now
	if holdsSlot(tuning) {
		return ""
	}
	var holders []string
	ahead := 0
	for i := range all {
		other := keyOf(&all[i])
		if other == key {
			continue
		}
		switch {
		case holdsSlot(&all[i]) || s.isTaken(other, now):
			holders = append(holders, other.String())
		case s.waits(&all[i], now) && comesFirst(&all[i], tuning):
			ahead++
		}
	}
	if len(holders)+ahead < most {
		s.taken[key] = now
		return ""
	}
	delete(s.taken, key)
	slices.Sort(holders)
	why = fmt.Sprintf("at most %d objects roll out at once", most)
	if len(holders) > 0 {
		why += ", now " + strings.Join(holders[:min(len(holders), mostNamed)], ", ")
	}
	if ahead > 0 {
		why += fmt.Sprintf("; %d wait for longer", ahead)
	}
	return why
}

func keyOf(tuning *v1alpha1.MongoTuning) types.NamespacedName {
	return client.ObjectKeyFromObject(tuning)
}

// mostNamed bounds the names in a message.
const mostNamed = 5

func (s *slots) isTaken(key types.NamespacedName, now time.Time) bool {
	since, known := s.taken[key]
	return known && now.Sub(since) < takenFor
}

// waits tells that an object waits for a slot and still asks for it. After a start nobody has asked yet.
func (s *slots) waits(tuning *v1alpha1.MongoTuning, now time.Time) bool {
	asked, known := s.asked[keyOf(tuning)]
	if !known {
		asked = s.began
	}
	waiting := tuning.Status.Waiting
	return tuning.DeletionTimestamp.IsZero() && waiting != nil && waiting.Reason == v1alpha1.ReasonWaitingForSlot && now.Sub(asked) < askedFor
}

// comesFirst tells that an object that waits for a slot has waited for longer than another one.
func comesFirst(other, than *v1alpha1.MongoTuning) bool {
	mine := than.Status.Waiting
	if mine == nil || mine.Reason != v1alpha1.ReasonWaitingForSlot {
		return true
	}
	return cmp.Or(
		other.Status.Waiting.Since.Compare(mine.Since.Time),
		strings.Compare(keyOf(other).String(), keyOf(than).String()),
	) < 0
}

// giveBack frees the slot of an object whose change came to an end, was taken back, or stalls.
func (s *slots) giveBack(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, key)
}

// forget drops what is kept of an object that is gone.
func (s *slots) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, key)
	delete(s.asked, key)
}
