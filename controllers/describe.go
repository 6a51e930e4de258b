// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// objectKey says which object an apply configuration is for.
type objectKey struct {
	kind schema.GroupVersionKind
	name types.NamespacedName
	// version tells one state of the object from another.
	version string
}

// String orders namespace and name first, so that the objects of one cluster share a prefix.
func (k objectKey) String() string {
	return k.name.String() + "|" + k.kind.String()
}

func hasObjectPrefix(key, namespace, prefix string) bool {
	return strings.HasPrefix(key, namespace+"/"+prefix)
}

// describe reads an apply configuration through its encoded form, the only view all of them share.
func describe(object runtime.ApplyConfiguration) (objectKey, string, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return objectKey{}, "", fmt.Errorf("encode object to apply: %w", err)
	}
	var metadata metav1.PartialObjectMetadata
	if err := json.Unmarshal(encoded, &metadata); err != nil {
		return objectKey{}, "", fmt.Errorf("read object to apply: %w", err)
	}
	return objectKey{
		kind:    metadata.GroupVersionKind(),
		name:    types.NamespacedName{Namespace: metadata.Namespace, Name: metadata.Name},
		version: versionOf(&metadata),
	}, string(encoded), nil
}

// versionOf tells one state of an object from another. Where there is a generation it is used, since
// the resourceVersion of workloads also changes with their status; labels and annotations, which do
// not raise it, are put beside it.
func versionOf(object metav1.Object) string {
	if object.GetGeneration() == 0 {
		return object.GetResourceVersion()
	}
	labels, _ := json.Marshal(object.GetLabels())           // maps of strings always encode
	annotations, _ := json.Marshal(object.GetAnnotations()) // maps of strings always encode
	return fmt.Sprintf("%s/%d/%s/%s", object.GetUID(), object.GetGeneration(), labels, annotations)
}
