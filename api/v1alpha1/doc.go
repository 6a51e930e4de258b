// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the mongotuning.io/v1alpha1 API: MongoTuning declares one tuned sharded MongoDB
// cluster, TuningProfile a named set of base values for it. The package imports nothing but
// apimachinery, so that other programs can use the types without inheriting our dependencies.
//
// +kubebuilder:object:generate=true
// +groupName=mongotuning.io
package v1alpha1
