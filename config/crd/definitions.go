// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions as files, so that programs can judge objects without an
// API server.
package crd

import _ "embed"

// MongoTunings is the CustomResourceDefinition of MongoTuning.
//
//go:embed mongotuning.io_mongotunings.yaml
var MongoTunings []byte

// TuningProfiles is the CustomResourceDefinition of TuningProfile.
//
//go:embed mongotuning.io_tuningprofiles.yaml
var TuningProfiles []byte
