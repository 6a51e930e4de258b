// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"testing"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/profile"
	"github.com/mongotuning/mongotuning/profiles"
	"github.com/mongotuning/mongotuning/test/builders"
)

// BenchmarkResolve lays the largest profile and an override together, as every reconcile does.
func BenchmarkResolve(b *testing.B) {
	all, err := profiles.All()
	if err != nil {
		b.Fatal(err)
	}
	var base *v1alpha1.TuningProfileSpec
	for i := range all {
		if all[i].Name == "million-tps-v3" {
			base = &all[i].Spec
		}
	}
	spec := builders.ShardedCluster().Memory("96Gi").DirtyTrigger(25).Object().Spec
	b.ReportAllocs()
	for b.Loop() {
		if _, err := profile.Resolve(spec, base); err != nil {
			b.Fatal(err)
		}
	}
}
