// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TuningProfile is a named set of tuning values that MongoTunings start from. Like a PriorityClass it
// never changes: the name carries the version, a change is a new profile and a changed profileRef.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=tprofile,categories=mongodb
// +kubebuilder:printcolumn:name="Description",type=string,JSONPath=`.spec.description`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters"
type TuningProfile struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the set of values. Immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="must stay as it was made: make a profile with a new name and refer to that one"
	Spec TuningProfileSpec `json:"spec"`
}

// TuningProfileList is a list of TuningProfile.
//
// +kubebuilder:object:root=true
type TuningProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TuningProfile `json:"items"`
}

// TuningProfileSpec is a set of tuning values, one block for each component.
type TuningProfileSpec struct {
	// description says in a sentence what the profile is for and where its figures come from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// tuning holds for shard members.
	// +optional
	Tuning *MongodTuning `json:"tuning,omitempty"`

	// configServerTuning holds for config servers.
	// +optional
	ConfigServerTuning *ConfigServerTuning `json:"configServerTuning,omitempty"`

	// mongosTuning holds for mongos.
	// +optional
	MongosTuning *MongosTuning `json:"mongosTuning,omitempty"`
}
