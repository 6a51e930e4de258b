// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/spelling"
)

// unconfigured says what to do when no kubeconfig leads to a cluster.
func unconfigured(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return noClusterError{fmt.Errorf("no cluster is configured: set KUBECONFIG, or name a file with --kubeconfig")}
	}
	return noClusterError{fmt.Errorf("read kubeconfig: %w; look at it with kubectl config view, and choose a context with --context", err)}
}

// noClusterError is an error of the way to the cluster, not of what was asked there.
type noClusterError struct {
	error
}

func (e noClusterError) Unwrap() error { return e.error }

// isMissingKind tells that the API server does not know the kind that was asked for.
func isMissingKind(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// explained turns an answer of the API server into what to do about it.
func explained(err error, act string, resource schema.GroupVersionResource, namespace string) error {
	var unreachable net.Error
	var address *url.Error
	switch {
	case isMissingKind(err) && resource.Group == v1alpha1.GroupVersion.Group:
		return fmt.Errorf("%s: the cluster does not know %s: the operator is not installed there (kubectl apply --server-side -f dist/install.yaml), or this is the wrong context (kubectl config current-context)",
			act, resource.GroupResource())
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w\n%s", act, err, rightFor(act, resource, namespace))
	case apierrors.IsUnauthorized(err):
		return noClusterError{fmt.Errorf("%s: the cluster does not know who you are: log in again, or choose another context with --context", act)}
	case apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err):
		return noClusterError{fmt.Errorf("%s: the cluster is too busy to answer (%w); try again in a moment", act, err)}
	case errors.As(err, &unreachable) || errors.As(err, &address):
		return noClusterError{fmt.Errorf("%s: the cluster cannot be reached: %w; is it the right context (kubectl config current-context)?", act, err)}
	default:
		return fmt.Errorf("%s: %w", act, err)
	}
}

// rightFor says which right is missing, how to test it, and which shipped role has it.
func rightFor(act string, resource schema.GroupVersionResource, namespace string) string {
	verb, _, _ := strings.Cut(act, " ")
	verb = map[string]string{"read": "get", "list": "list", "annotate": "patch", "check": "patch"}[verb]
	test := fmt.Sprintf("kubectl auth can-i %s %s", verb, resource.GroupResource())
	if namespace != "" {
		test += " -n " + namespace
	}
	role := "the role view has it"
	switch {
	case resource == profilesResource:
		role = "the ClusterRole mongotuning-viewer has it, bound by a ClusterRoleBinding"
	case verb == "patch":
		role = "the role edit has it"
	}
	return fmt.Sprintf("%s tests the right; %s", test, role)
}

// noSuchTuning says that there is no MongoTuning of a name, and which ones there are.
func (a *access) noSuchTuning(ctx context.Context, name string) error {
	missing := fmt.Sprintf("there is no MongoTuning %s in namespace %s", name, a.namespace)
	here, err := a.tunings(ctx, a.namespace)
	if err != nil {
		return errors.New(missing)
	}
	var names []string
	for i := range here {
		names = append(names, here[i].Name)
	}
	if near := spelling.Nearest(name, names); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", missing, strings.Join(near, ", "))
	}
	if elsewhere := a.elsewhere(ctx, name); len(elsewhere) > 0 {
		return fmt.Errorf("%s; there is one in namespace %s: add -n %s", missing, strings.Join(elsewhere, ", "), elsewhere[0])
	}
	if len(names) == 0 {
		return fmt.Errorf("%s, and no other either; kubectl get mtune -A lists those of all namespaces", missing)
	}
	return fmt.Errorf("%s; there are %s", missing, strings.Join(names, ", "))
}

// elsewhere are the other namespaces with a MongoTuning of the name, as far as the caller may know.
func (a *access) elsewhere(ctx context.Context, name string) []string {
	everywhere, err := a.tunings(ctx, "")
	if err != nil {
		return nil
	}
	var namespaces []string
	for i := range everywhere {
		if everywhere[i].Name == name {
			namespaces = append(namespaces, everywhere[i].Namespace)
		}
	}
	return namespaces
}
