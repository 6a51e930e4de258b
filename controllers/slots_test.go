// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plan"
)

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// tuned is an object at a step of a change, which may wait for something since so many minutes.
func tuned(name string, step v1alpha1.RolloutStep, waitsFor string, minutes int) v1alpha1.MongoTuning {
	tuning := v1alpha1.MongoTuning{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	tuning.Status.Rollout.Step = step
	if waitsFor != "" {
		tuning.Status.Waiting = &v1alpha1.WaitStatus{Reason: waitsFor, Since: metav1.NewTime(noon.Add(-time.Duration(minutes) * time.Minute))}
	}
	return tuning
}

func stalled(tuning v1alpha1.MongoTuning) v1alpha1.MongoTuning {
	tuning.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue}}
	return tuning
}

func deleted(tuning v1alpha1.MongoTuning) v1alpha1.MongoTuning {
	tuning.DeletionTimestamp = &metav1.Time{Time: noon}
	return tuning
}

func TestSlots(t *testing.T) {
	const slot = v1alpha1.ReasonWaitingForSlot
	for _, row := range []struct {
		name   string
		me     v1alpha1.MongoTuning
		others []v1alpha1.MongoTuning
		most   int
		says   string // empty when the slot is given
	}{
		{"a slot is free", tuned("me", "", "", 0), nil, 1, ""},
		{"the slot is taken", tuned("me", "", "", 0), []v1alpha1.MongoTuning{tuned("other", v1alpha1.StepCanarySoak, "", 0)}, 1, "shop/other"},
		{"a second slot is free", tuned("me", "", "", 0), []v1alpha1.MongoTuning{tuned("other", v1alpha1.StepCanarySoak, "", 0)}, 2, ""},
		{"a change on its way keeps its slot", tuned("me", v1alpha1.StepCanary, "", 0), []v1alpha1.MongoTuning{tuned("other", "", slot, 90)}, 1, ""},
		{"one that stalls gives its slot back", tuned("me", "", "", 0), []v1alpha1.MongoTuning{stalled(tuned("other", v1alpha1.StepCanary, "", 0))}, 1, ""},
		{"one that is taken back needs none", tuned("me", "", "", 0), []v1alpha1.MongoTuning{tuned("other", v1alpha1.StepReturning, "", 0)}, 1, ""},
		{"one that is being deleted has none", tuned("me", "", "", 0), []v1alpha1.MongoTuning{deleted(tuned("other", v1alpha1.StepCanary, "", 0))}, 1, ""},
		{"one that goes on after a stall asks again", tuned("me", v1alpha1.StepCanary, slot, 5), []v1alpha1.MongoTuning{tuned("other", v1alpha1.StepCanary, "", 0)}, 1, "shop/other"},
		{"who waits for longer comes first", tuned("me", "", slot, 5), []v1alpha1.MongoTuning{tuned("other", "", slot, 6)}, 1, "1 wait for longer"},
		{"who waits for less comes later", tuned("me", "", slot, 6), []v1alpha1.MongoTuning{tuned("other", "", slot, 5)}, 1, ""},
		{"who has not waited yet comes last", tuned("me", "", "", 0), []v1alpha1.MongoTuning{tuned("other", "", slot, 0)}, 1, "1 wait for longer"},
		{"of two that wait for as long the first by name goes", tuned("a", "", slot, 5), []v1alpha1.MongoTuning{tuned("b", "", slot, 5)}, 1, ""},
		{"who waits for something else keeps nobody", tuned("me", "", slot, 5), []v1alpha1.MongoTuning{tuned("other", "", v1alpha1.ReasonWaitingForWindow, 90)}, 1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			why := (&slots{}).take(&row.me, append(row.others, row.me), row.most, noon)
			if (why == "") != (row.says == "") || !strings.Contains(why, row.says) {
				t.Errorf("says %q, wanted %q", why, row.says)
			}
		})
	}
}

func TestASlotIsHeldBeforeTheCacheShowsIt(t *testing.T) {
	slots, a, b := &slots{}, tuned("a", "", "", 0), tuned("b", "", "", 0)
	all := []v1alpha1.MongoTuning{a, b}
	if why := slots.take(&a, all, 1, noon); why != "" {
		t.Fatal(why)
	}
	if why := slots.take(&b, all, 1, noon); why == "" {
		t.Error("two begin at once because neither is seen to roll out yet")
	}
	slots.giveBack(keyOf(&a))
	if why := slots.take(&b, all, 1, noon); why != "" {
		t.Errorf("a slot that was given back is not free: %s", why)
	}
	if why := slots.take(&a, all, 1, noon.Add(takenFor)); why != "" {
		t.Errorf("a slot that nobody used is lost: %s", why)
	}
}

func TestWhoDoesNotAskKeepsNobodyWaiting(t *testing.T) {
	slots, waits, me := &slots{}, tuned("waits", "", v1alpha1.ReasonWaitingForSlot, 90), tuned("me", "", "", 0)
	all := []v1alpha1.MongoTuning{waits, me}
	if why := slots.take(&me, all, 1, noon); why == "" {
		t.Error("after a start, who waits by its status does not count")
	}
	if why := slots.take(&me, all, 1, noon.Add(askedFor)); why != "" {
		t.Errorf("waits behind one that does not ask: %s", why)
	}
}

// TestSlotsAreNeverExceededAndNeverLost lets many objects roll out in random order, with caches that lag,
// stalls, deletions and restarts of the operator: never more than the bound travel, and all of them end.
func TestSlotsAreNeverExceededAndNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(t, "most")
		held, now := &slots{}, noon
		live := make([]v1alpha1.MongoTuning, rapid.IntRange(1, 6).Draw(t, "objects"))
		left := make([]int, len(live))
		for i := range live {
			live[i], left[i] = tuned(string(rune('a'+i)), "", "", 0), rapid.IntRange(1, 4).Draw(t, "steps")
		}
		for round := range 200 {
			cached := append([]v1alpha1.MongoTuning{}, live...)
			if rapid.IntRange(0, 20).Draw(t, "restart") == 0 {
				held = &slots{}
			}
			for i := range live {
				now = now.Add(time.Second)
				if left[i] == 0 {
					continue
				}
				// Whoever has a slot as far as the cache shows, or is given one, goes a step.
				if why := held.take(&live[i], cached, most, now); why != "" {
					if live[i].Status.Waiting == nil {
						live[i].Status.Waiting = &v1alpha1.WaitStatus{Reason: v1alpha1.ReasonWaitingForSlot, Since: metav1.NewTime(now)}
					}
					continue
				}
				live[i].Status.Waiting, live[i].Status.Rollout.Step = nil, v1alpha1.StepCanary
				cached[i] = *live[i].DeepCopy()
				if left[i]--; left[i] == 0 {
					live[i].Status.Rollout.Step = ""
					held.giveBack(keyOf(&live[i]))
				}
			}
			travelling, open := 0, 0
			for i := range live {
				if plan.IsTravelling(live[i].Status.Rollout.Step) {
					travelling++
				}
				open += left[i]
			}
			if travelling > most {
				t.Fatalf("%d roll out at once, the bound is %d", travelling, most)
			}
			if open == 0 {
				return
			}
			if round == 199 {
				t.Fatalf("%d steps are left after 200 rounds", open)
			}
		}
	})
}
