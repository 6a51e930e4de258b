// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// access is the way to one cluster, as the user who calls.
type access struct {
	dynamic    dynamic.Interface
	kubernetes kubernetes.Interface
	// namespace the commands work in.
	namespace string
	// config of the way; nil in tests that have no API server.
	config *rest.Config
	// served is the way to the metrics, in tests; nil for the one through config.
	served metricsSource
}

var (
	tuningsResource  = v1alpha1.GroupVersion.WithResource("mongotunings")
	profilesResource = v1alpha1.GroupVersion.WithResource("tuningprofiles")
)

// connectWith takes kubeconfig, context and namespace as kubectl does.
func connectWith(flags *genericclioptions.ConfigFlags) (*access, error) {
	loader := flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, unconfigured(err)
	}
	if raw, err := loader.RawConfig(); err == nil && len(raw.Contexts) == 0 && *flags.APIServer == "" {
		// Without this, an address on this machine would be tried that nobody has named.
		if _, err := rest.InClusterConfig(); err != nil {
			return nil, unconfigured(clientcmd.ErrEmptyConfig)
		}
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, unconfigured(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &access{dynamic: objects, kubernetes: clients, namespace: namespace, config: config}, nil
}

// into reads what the API server answered into a type of ours.
func into[T any](object *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("read %s %s: %w; is this program older than the operator?", object.GetKind(), object.GetName(), err)
	}
	return typed, nil
}

// tuning reads one MongoTuning. One that is not there gets an error that names those that are.
func (a *access) tuning(ctx context.Context, name string) (*v1alpha1.MongoTuning, error) {
	object, err := a.dynamic.Resource(tuningsResource).Namespace(a.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case isMissingKind(err):
		return nil, explained(err, "read MongoTuning "+name, tuningsResource, a.namespace)
	case apierrors.IsNotFound(err):
		return nil, a.noSuchTuning(ctx, name)
	case err != nil:
		return nil, explained(err, "read MongoTuning "+name, tuningsResource, a.namespace)
	}
	return into[v1alpha1.MongoTuning](object)
}

// tunings lists the MongoTunings of a namespace, of all when it is empty.
func (a *access) tunings(ctx context.Context, namespace string) ([]v1alpha1.MongoTuning, error) {
	list, err := a.dynamic.Resource(tuningsResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explained(err, "list MongoTunings", tuningsResource, namespace)
	}
	return all[v1alpha1.MongoTuning](list)
}

// tuningProfiles lists the TuningProfiles of the cluster.
func (a *access) tuningProfiles(ctx context.Context) ([]v1alpha1.TuningProfile, error) {
	list, err := a.dynamic.Resource(profilesResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explained(err, "list TuningProfiles", profilesResource, "")
	}
	return all[v1alpha1.TuningProfile](list)
}

// tuningProfile reads one TuningProfile.
func (a *access) tuningProfile(ctx context.Context, name string) (*v1alpha1.TuningProfile, error) {
	object, err := a.dynamic.Resource(profilesResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return into[v1alpha1.TuningProfile](object)
}

func all[T any](list *unstructured.UnstructuredList) ([]T, error) {
	typed := make([]T, 0, len(list.Items))
	for i := range list.Items {
		item, err := into[T](&list.Items[i])
		if err != nil {
			return nil, err
		}
		typed = append(typed, *item)
	}
	return typed, nil
}

// annotate patches annotations, under the condition that nobody wrote the object since it was read: what
// is asked for follows from how it stood then. A nil value takes the annotation away.
func (a *access) annotate(ctx context.Context, tuning *v1alpha1.MongoTuning, annotations map[string]any) error {
	patch, err := runtime.Encode(unstructured.UnstructuredJSONScheme, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "MongoTuning",
		"metadata": map[string]any{"resourceVersion": tuning.ResourceVersion, "annotations": annotations},
	}})
	if err != nil {
		return fmt.Errorf("write patch: %w", err)
	}
	_, err = a.dynamic.Resource(tuningsResource).Namespace(tuning.Namespace).
		Patch(ctx, tuning.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s changed in this moment; look at it again (kubectl mongotuning status %s) and repeat the command if you still want it", tuning.Name, tuning.Name)
	}
	if err != nil {
		return explained(err, "annotate MongoTuning "+tuning.Name, tuningsResource, tuning.Namespace)
	}
	return nil
}

// fieldManager owns the annotations that people set with this program.
const fieldManager = "kubectl-mongotuning"

// revisions lists the recorded revisions of a MongoTuning, oldest first.
func (a *access) revisions(ctx context.Context, tuning *v1alpha1.MongoTuning) ([]appsv1.ControllerRevision, error) {
	list, err := a.kubernetes.AppsV1().ControllerRevisions(tuning.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(naming.Labels(tuning.Name)).String()})
	if err != nil {
		return nil, explained(err, "list revisions", schema.GroupVersionResource{Group: "apps", Resource: "controllerrevisions"}, tuning.Namespace)
	}
	ours := slices.DeleteFunc(list.Items, func(record appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&record, tuning) })
	slices.SortFunc(ours, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return ours, nil
}
