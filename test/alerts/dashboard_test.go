// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mongotuning/mongotuning/internal/metrics"
	"github.com/mongotuning/mongotuning/test/promql"
)

// dashboard is what is looked at of the JSON that Grafana imports.
type dashboard struct {
	ID          *int   `json:"id"`
	UID         string `json:"uid"`
	Annotations struct {
		List []struct{ Name, Expr, TitleFormat string } `json:"list"`
	} `json:"annotations"`
	Templating struct {
		List []struct{ Name, Type, Definition string } `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Datasource  struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	Place   struct{ X, Y, W, H int } `json:"gridPos"`
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var parsed dashboard
	if err := json.Unmarshal([]byte(read(t, filepath.Join(root, "config", "grafana", "mongotuning.json"))), &parsed); err != nil {
		t.Fatal(err)
	}
	if len(parsed.Panels) < 15 {
		t.Fatalf("the dashboard has %d panels only", len(parsed.Panels))
	}
	return parsed
}

var (
	labelValuesOf = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	legendLabel   = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// dashboardQueries are all queries of the dashboard by where they are, with the variables filled in.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	parsed := readDashboard(t)
	fill := strings.NewReplacer("$__rate_interval", "5m", "$__range", "3h", "$namespace", "shop", "$name", "cart", "$replica_set", ".*").Replace
	found := map[string]string{}
	for _, panel := range parsed.Panels {
		for i, target := range panel.Targets {
			found[fmt.Sprintf("panel %q, query %d", panel.Title, i)] = fill(target.Expr)
		}
	}
	for _, annotation := range parsed.Annotations.List {
		found["annotation "+annotation.Name] = fill(annotation.Expr)
	}
	for _, variable := range parsed.Templating.List {
		if variable.Type != "query" {
			continue
		}
		match := labelValuesOf.FindStringSubmatch(variable.Definition)
		if match == nil {
			t.Errorf("variable %s is not label_values(metric, label): %s", variable.Name, variable.Definition)
			continue
		}
		found["variable "+variable.Name] = fill(match[1])
	}
	return found
}

func TestDashboardUsesMetricsThatExist(t *testing.T) {
	known := labelValues(t)
	for where, query := range dashboardQueries(t) {
		selectors := promql.Selectors(query)
		if len(selectors) == 0 {
			t.Errorf("%s asks for nothing: %s", where, query)
		}
		for _, selector := range selectors {
			labels, isOurs := metrics.Labels(selector.Metric)
			if !isOurs {
				if selector.Metric != "ALERTS" && !slices.Contains(fromRuntime, selector.Metric) {
					t.Errorf("%s uses %s, which nobody serves", where, selector.Metric)
				}
				continue
			}
			for label, matcher := range selector.Matchers {
				if !slices.Contains(labels, label) {
					t.Errorf("%s: %s has no label %s", where, selector.Metric, label)
				}
				for _, value := range promql.Values(matcher) {
					if allowed, isWord := known[label]; isWord && !slices.Contains(allowed, value) {
						t.Errorf("%s: %s is no %s; there are %v", where, value, label, allowed)
					}
				}
			}
		}
	}
}

func TestDashboardCanBeImported(t *testing.T) {
	parsed := readDashboard(t)
	if parsed.UID == "" || parsed.ID != nil {
		t.Error("a dashboard that is imported has a uid of its own and no id")
	}
	ids := map[int]bool{}
	for _, panel := range parsed.Panels {
		if ids[panel.ID] || panel.ID == 0 {
			t.Errorf("panel %q has the id of another", panel.Title)
		}
		ids[panel.ID] = true
		if panel.Type != "row" && (panel.Datasource.UID != "${datasource}" || panel.Description == "" || len(panel.Targets) == 0) {
			t.Errorf("panel %q lacks the variable data source, a description or queries", panel.Title)
		}
	}
}

func TestPanelsDoNotLieOnOneAnother(t *testing.T) {
	panels := readDashboard(t).Panels
	for i, panel := range panels {
		if panel.Place.X+panel.Place.W > 24 {
			t.Errorf("panel %q is wider than the page", panel.Title)
		}
		for _, other := range panels[:i] {
			a, b := panel.Place, other.Place
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q lie on one another", panel.Title, other.Title)
			}
		}
	}
}

// TestLegendsNameLabelsThatAreThere finds a legend whose label the query has summed away.
func TestLegendsNameLabelsThatAreThere(t *testing.T) {
	for _, panel := range readDashboard(t).Panels {
		for _, target := range panel.Targets {
			available := promql.Grouped(target.Expr)
			if len(available) == 0 {
				for _, selector := range promql.Selectors(target.Expr) {
					labels, _ := metrics.Labels(selector.Metric)
					available = append(available, labels...)
				}
			}
			for _, match := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(available, match[1]) {
					t.Errorf("panel %q: the legend wants %s, the query has %v", panel.Title, match[1], available)
				}
			}
		}
	}
}
