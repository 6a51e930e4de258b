// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// operatorRole is generated from the markers in controllers and is where most rights come from.
const operatorRole = "mongotuning-operator"

// role is a Role or ClusterRole.
type role struct {
	name         string
	rules        []rbacv1.PolicyRule
	isNamespaced bool
}

func roles(t *testing.T) []role {
	t.Helper()
	all := objects(t)
	var found []role
	for _, r := range kinds[*rbacv1.ClusterRole](t, all) {
		found = append(found, role{r.Name, r.Rules, false})
	}
	for _, r := range kinds[*rbacv1.Role](t, all) {
		found = append(found, role{r.Name, r.Rules, true})
	}
	return found
}

// denial is a right that no role of ours has, for anybody and unreviewed, with the harm it would do.
type denial struct {
	resources []string // empty: any resource
	verbs     []string // empty: any verb
	harm      string
}

var (
	writing = []string{"create", "update", "patch", "delete", "deletecollection"}

	denials = []denial{
		{nil, []string{"*"}, "every verb, those of later Kubernetes versions too"},
		{[]string{"*"}, nil, "every resource, those of other people too"},
		{nil, []string{"escalate", "bind", "impersonate"}, "becoming somebody else"},
		{[]string{"pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers"}, nil, "a shell in any pod"},
		{[]string{"nodes/proxy", "nodes/status"}, nil, "the kubelet, and through it every pod of the node"},
		{[]string{"serviceaccounts/token"}, nil, "tokens of other accounts"},
		{
			[]string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"},
			writing, "rights for anybody",
		},
		{
			[]string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "customresourcedefinitions"},
			writing, "the API of the whole cluster",
		},
		{[]string{"secrets"}, []string{"list", "watch", "deletecollection"}, "every Secret of the cluster at once"},
		{[]string{"nodes", "namespaces", "persistentvolumes"}, writing, "what belongs to the cluster's administrators"},
	}
)

// reviewed are rights that a denial speaks against and that are for people to bind all the same, in the
// operator's namespace alone, each with the reason.
var reviewed = map[string]string{
	"mongotuning-figures pods/portforward":      "the operator's pod serves metrics and probes there, and nothing else",
	"mongotuning-figures serviceaccounts/token": "of the one account that may read the metrics, by its name",
}

// isReviewed tells that every resource of a rule is reviewed for the role, and a token is that of a named account.
func isReviewed(r role, rule rbacv1.PolicyRule) bool {
	for _, resource := range rule.Resources {
		if _, known := reviewed[r.name+" "+resource]; !known || !r.isNamespaced || resource == "serviceaccounts/token" && len(rule.ResourceNames) != 1 {
			return false
		}
	}
	return true
}

func (d denial) forbids(rule rbacv1.PolicyRule) bool {
	hasResource := d.resources == nil || sets.New(rule.Resources...).HasAny(d.resources...)
	hasVerb := d.verbs == nil || sets.New(rule.Verbs...).HasAny(d.verbs...)
	return hasResource && hasVerb
}

func TestRolesDoNotReachTooFar(t *testing.T) {
	for _, r := range roles(t) {
		for _, rule := range r.rules {
			for _, d := range denials {
				if d.forbids(rule) && !isReviewed(r, rule) {
					t.Errorf("role %s gives %s: %v %v", r.name, d.harm, rule.Verbs, rule.Resources)
				}
			}
			if slices.Contains(rule.APIGroups, "*") {
				t.Errorf("role %s reaches into every API group: %v", r.name, rule.Resources)
			}
			for _, url := range rule.NonResourceURLs {
				if strings.Contains(url, "*") {
					t.Errorf("role %s has a wildcard in %s", r.name, url)
				}
			}
		}
	}
}

func TestDenialsNoticeWhatTheyForbid(t *testing.T) {
	forbidden := map[string]rbacv1.PolicyRule{
		"a verb wildcard":          {Resources: []string{"pods"}, Verbs: []string{"*"}},
		"a resource wildcard":      {Resources: []string{"*"}, Verbs: []string{"get"}},
		"a shell in a pod":         {Resources: []string{"pods", "pods/exec"}, Verbs: []string{"create"}},
		"a list of all Secrets":    {Resources: []string{"secrets"}, Verbs: []string{"get", "list"}},
		"a write to role bindings": {Resources: []string{"rolebindings"}, Verbs: []string{"create"}},
		"impersonation":            {Resources: []string{"users"}, Verbs: []string{"impersonate"}},
	}
	for name, rule := range forbidden {
		if !slices.ContainsFunc(denials, func(d denial) bool { return d.forbids(rule) }) {
			t.Errorf("%s passes", name)
		}
	}
	harmless := rbacv1.PolicyRule{Resources: []string{"secrets"}, Verbs: []string{"create", "get", "patch"}}
	if slices.ContainsFunc(denials, func(d denial) bool { return d.forbids(harmless) }) {
		t.Error("single Secrets by name are refused, which the operator needs")
	}
}

// TestOperatorRoleIsThere notices a role that was not generated, or generated empty.
func TestOperatorRoleIsThere(t *testing.T) {
	for _, r := range roles(t) {
		if r.name == operatorRole && len(r.rules) > 0 {
			return
		}
	}
	t.Errorf("config/rbac has no ClusterRole %s with rules: generate it from the markers in controllers", operatorRole)
}

// TestBindingsPointAtWhatIsThere proves that each right of ours goes to the operator's own account.
func TestBindingsPointAtWhatIsThere(t *testing.T) {
	all := objects(t)
	known := sets.New[string]()
	for _, r := range roles(t) {
		known.Insert(r.name)
	}
	accounts := sets.New[string]()
	for _, account := range kinds[*corev1.ServiceAccount](t, all) {
		accounts.Insert(account.Namespace + "/" + account.Name)
	}
	check := func(binding string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if !known.Has(ref.Name) {
			t.Errorf("%s binds %s, which is not one of our roles", binding, ref.Name)
		}
		for _, subject := range subjects {
			if subject.Kind != rbacv1.ServiceAccountKind || !accounts.Has(subject.Namespace+"/"+subject.Name) {
				t.Errorf("%s gives rights to %s %s/%s", binding, subject.Kind, subject.Namespace, subject.Name)
			}
		}
	}
	for _, b := range kinds[*rbacv1.ClusterRoleBinding](t, all) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
	for _, b := range kinds[*rbacv1.RoleBinding](t, all) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
}

// TestUsersOfANamespaceCannotChangeProfiles covers the roles that Kubernetes adds to admin, edit and view.
func TestUsersOfANamespaceCannotChangeProfiles(t *testing.T) {
	for _, r := range kinds[*rbacv1.ClusterRole](t, objects(t)) {
		_, toView := r.Labels["rbac.authorization.k8s.io/aggregate-to-view"]
		_, toEdit := r.Labels["rbac.authorization.k8s.io/aggregate-to-edit"]
		if !toView && !toEdit {
			continue
		}
		for _, rule := range r.Rules {
			writes := sets.New(rule.Verbs...).HasAny(writing...)
			if writes && (toView || slices.Contains(rule.Resources, "tuningprofiles")) {
				t.Errorf("role %s lets users of a namespace write %v", r.Name, rule.Resources)
			}
		}
	}
}
