// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Claim is what one owner wants of one setting of a node.
type Claim struct {
	Owner    Owner    `json:"owner"`
	Operator Operator `json:"operator,omitempty"`
	Value    string   `json:"value"`
}

// Compare orders owners, the older first.
func (o Owner) Compare(other Owner) int {
	mine, errMine := time.Parse(time.RFC3339, o.Created)
	others, errOther := time.Parse(time.RFC3339, other.Created)
	switch {
	case errMine != nil && errOther != nil:
		return strings.Compare(o.UID, other.UID)
	case errMine != nil: // an owner without an age is the youngest
		return 1
	case errOther != nil:
		return -1
	}
	return cmp.Or(mine.Compare(others), strings.Compare(o.UID, other.UID))
}

// SameValue says whether two values mean the same: numbers are compared as numbers, and blanks between
// fields do not count.
func SameValue(a, b string) bool {
	if a == b {
		return true
	}
	left, right := strings.Fields(a), strings.Fields(b)
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		if left[i] != right[i] && !sameNumber(left[i], right[i]) {
			return false
		}
	}
	return true
}

func sameNumber(a, b string) bool {
	left, errLeft := strconv.ParseInt(a, 10, 64)
	right, errRight := strconv.ParseInt(b, 10, 64)
	return errLeft == nil && errRight == nil && left == right
}

// SatisfiedBy says whether a value is what the claim wants.
func (c Claim) SatisfiedBy(value string) bool {
	if c.Operator == OperatorOnlyRaise || c.Operator == OperatorOnlyLower {
		order, ok := compareNumbers(value, c.Value)
		return ok && (order == 0 || order > 0 == (c.Operator == OperatorOnlyRaise))
	}
	return SameValue(value, c.Value)
}

// compareNumbers also compares two values of a pair of sysctls, vm.dirty_ratio=15, if they are of the
// same one.
func compareNumbers(a, b string) (order int, ok bool) {
	if name, value, isPair := strings.Cut(a, "="); isPair {
		a, b = value, strings.TrimPrefix(b, name+"=")
	}
	left, errLeft := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	right, errRight := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	return cmp.Compare(left, right), errLeft == nil && errRight == nil
}

// Settled is what becomes of a setting that several owners may want.
type Settled struct {
	// Value is the one to have in force.
	Value string
	// Kept are the claims that Value satisfies.
	Kept []Claim
	// Conflicts names, for the UID of each owner that does not get its way, the older owner that does.
	Conflicts map[string]Owner
}

// Settle decides between the owners of a setting. The oldest claim is heard first, from the value the
// node had at the beginning; a younger one is heard as far as every older one stays satisfied. Without
// claims the value is the one the node had.
func Settle(original string, claims []Claim) Settled {
	ordered := slices.Clone(claims)
	slices.SortStableFunc(ordered, func(a, b Claim) int { return a.Owner.Compare(b.Owner) })
	settled := Settled{Value: original, Conflicts: map[string]Owner{}}
	for _, claim := range ordered {
		value := settled.Value
		if !claim.SatisfiedBy(value) {
			value = claim.Value
		}
		broken := slices.IndexFunc(settled.Kept, func(older Claim) bool { return !older.SatisfiedBy(value) })
		if broken >= 0 {
			settled.Conflicts[claim.Owner.UID] = settled.Kept[broken].Owner
			continue
		}
		settled.Value = value
		settled.Kept = append(settled.Kept, claim)
	}
	return settled
}

// IsKeptBy says whether a value satisfies every claim that was heard.
func (s Settled) IsKeptBy(value string) bool {
	return !slices.ContainsFunc(s.Kept, func(claim Claim) bool { return !claim.SatisfiedBy(value) })
}
