// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion identifies this API: mongotuning.io/v1alpha1.
	GroupVersion = schema.GroupVersion{Group: "mongotuning.io", Version: "v1alpha1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the types of this package with a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &MongoTuning{}, &MongoTuningList{}, &TuningProfile{}, &TuningProfileList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
