// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/mongodb"
)

// table returns the rows of the table below a heading whose columns begin with the given ones.
func table(t *testing.T, page string, columns ...string) [][]string {
	t.Helper()
	head := "| " + strings.Join(columns, " | ")
	var rows [][]string
	for _, part := range strings.Split(page, head)[1:] {
		for _, line := range strings.Split(part, "\n")[2:] {
			if !strings.HasPrefix(line, "|") {
				break
			}
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if len(cells) < len(columns)+1 || strings.TrimSpace(cells[len(cells)-1]) == "" {
				t.Errorf("a row without a reason: %s", line)
				continue
			}
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("there is no table %s", head)
	}
	return rows
}

func TestRightsInKubernetesAreListed(t *testing.T) {
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(read(t, "config/rbac/role.yaml")), &role); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			if group == "" {
				group = "core"
			}
			for _, resource := range rule.Resources {
				want[group+" "+resource] = strings.Join(slices.Sorted(slices.Values(rule.Verbs)), ", ")
			}
		}
	}
	got := map[string]string{}
	for _, row := range table(t, read(t, "docs/security.md"), "API group", "Resource", "Verbs") {
		got[row[0]+" "+row[1]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of docs/security.md differs from config/rbac/role.yaml (-manifest +page):\n%s", diff)
	}
}

func TestRightsInMongoDBAreListed(t *testing.T) {
	want := slices.Concat(rights(mongodb.OperatorRole()), rights(mongodb.AppRole()))
	var got []string
	for _, row := range table(t, read(t, "docs/security.md"), "Resource", "Action") {
		got = append(got, row[0]+" "+row[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tables of docs/security.md differ from the roles (-code +page):\n%s", diff)
	}
}

// rights are the resources and actions of a role, in the words of the page.
func rights(role mongodb.Role) []string {
	var found []string
	for _, privilege := range role.Privileges {
		resource := strings.TrimSuffix(privilege.Database+"."+privilege.Collection, ".")
		switch {
		case privilege.OnCluster:
			resource = "cluster"
		case resource == "":
			resource = "any"
		}
		for _, action := range privilege.Actions {
			found = append(found, resource+" "+action)
		}
	}
	return found
}
