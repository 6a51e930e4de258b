// SPDX-License-Identifier: Apache-2.0

// Package profiles holds the TuningProfiles that come with the operator, as files, for the command line
// plugin and for tests. The operator itself reads objects only.
package profiles

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Files are the profiles, one YAML file each.
//
//go:embed *.yaml
var Files embed.FS

// AnnotationVersions lists the release lines that a profile can be declared on, separated by spaces.
const AnnotationVersions = "mongotuning.io/versions"

// All reads the profiles in the order of their names.
func All() ([]v1alpha1.TuningProfile, error) {
	names, err := fs.Glob(Files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	var all []v1alpha1.TuningProfile
	for _, name := range names {
		text, err := Files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read profile %s: %w", name, err)
		}
		var profile v1alpha1.TuningProfile
		if err := yaml.UnmarshalStrict(text, &profile); err != nil {
			return nil, fmt.Errorf("read profile %s: %w", name, err)
		}
		all = append(all, profile)
	}
	return all, nil
}

// Lines are the release lines that a profile says it can be declared on.
func Lines(profile v1alpha1.TuningProfile) []string {
	return strings.Fields(profile.Annotations[AnnotationVersions])
}
