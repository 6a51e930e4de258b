// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// rights records which rights requests made use of.
type rights struct {
	mu       sync.Mutex
	used     map[string]bool
	requests []string
}

func newRights() *rights { return &rights{used: map[string]bool{}} }

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (r *rights) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		// What was granted may fail all the same: there is no kubelet to read a log from.
		if err == nil && response.StatusCode != http.StatusForbidden {
			r.record(request, response.StatusCode == http.StatusCreated)
		}
		return response, err
	})
}

// record notes the verb and resource of a request that was granted. A patch that made an object took the
// right to create as well.
func (r *rights) record(request *http.Request, created bool) {
	resource, named := resourceOf(request.URL.Path)
	if resource == "" {
		return
	}
	verb := map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method]
	if verb == "get" && !named {
		verb = "list"
		if request.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[verb+" "+resource] = true
	if verb == "patch" && created {
		r.used["create "+resource] = true
	}
	r.requests = append(r.requests, verb+" "+resource)
}

// resourceOf reads group and resource, "apps/statefulsets" or "/pods/eviction", from the path of a
// request; named tells that it is for one object.
func resourceOf(path string) (resource string, named bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource = group + "/" + parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return resource, len(parts) > 1
}

// granted are the rights of a role, in the same words.
func granted(role *rbacv1.ClusterRole) []string {
	all := map[string]bool{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all[verb+" "+group+"/"+resource] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// unused are rights that no test makes use of, each with the reason why it is granted.
var unused = map[string]string{
	"update mongotuning.io/mongotunings/finalizers": "asked for where OwnerReferencesPermissionEnforcement is on, to make the object an owner that blocks its deletion",
	"create /events":                     "older clusters take events of the core group only",
	"patch /events":                      "older clusters take events of the core group only",
	"patch events.k8s.io/events":         "sent when an event is told again within minutes",
	"list mongotuning.io/tuningprofiles": "sent by a cache where the API server cannot stream a list",
}

// check fails when the role grants what nobody used over all tests of the package, or a reason is given
// for a right that is used or not granted.
func (r *rights) check(role *rbacv1.ClusterRole) error {
	var problems []string
	all := granted(role)
	for _, right := range all {
		// Whether an excused right is used depends on the clock and on the API server, so it may be.
		if _, excused := unused[right]; !excused && !r.isUsed(right) {
			problems = append(problems, "granted and never used: "+right)
		}
	}
	for right := range unused {
		if !slices.Contains(all, right) {
			problems = append(problems, "excused and not granted: "+right)
		}
	}
	slices.Sort(problems)
	if len(problems) > 0 {
		return fmt.Errorf("the role grants other rights than are used:\n%s", strings.Join(problems, "\n"))
	}
	return nil
}

// mark and since count the requests between two moments.
func (r *rights) mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

func (r *rights) since(mark int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests[mark:])
}

func (r *rights) isUsed(right string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used[right]
}
