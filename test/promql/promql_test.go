// SPDX-License-Identifier: Apache-2.0

package promql

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelectors(t *testing.T) {
	for _, test := range []struct {
		name, query string
		want        []Selector
	}{
		{"a metric by itself", `up`, []Selector{{"up", map[string]string{}}}},
		{"a matcher with braces in its value", `a{b="}", c!~'x|y'} == 1`, []Selector{{"a", map[string]string{"b": `="}"`, "c": `!~'x|y'`}}}},
		{
			"functions, ranges, groupings and words are no metrics",
			`sum by (le, pod) (rate(x_bucket{le!="+Inf"}[5m] offset 1h)) / on (pod) group_left (node) y unless z > bool 1e3`,
			[]Selector{{"x_bucket", map[string]string{"le": `!="+Inf"`}}, {"y", map[string]string{}}, {"z", map[string]string{}}},
		},
		{"text that looks like a query", `label_replace(a, "b", "c_d", "e", "f(.*)")`, []Selector{{"a", map[string]string{}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Selectors(test.query)); diff != "" {
				t.Errorf("selectors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrouped(t *testing.T) {
	want := []string{"le", "pod", "node"}
	if diff := cmp.Diff(want, Grouped(`sum by (le) (a) * on(pod) group_left (node) b`)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
