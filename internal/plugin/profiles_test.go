// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/profiles"
)

func profileNamed(t *testing.T, name string) *v1alpha1.TuningProfile {
	t.Helper()
	shipped, err := profiles.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range shipped {
		if shipped[i].Name == name {
			return &shipped[i]
		}
	}
	t.Fatalf("no profile %s is shipped", name)
	return nil
}

func TestProfilesAreGolden(t *testing.T) {
	ours := &v1alpha1.TuningProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TuningProfile"},
		ObjectMeta: metav1.ObjectMeta{Name: "ours-v1"},
		Spec:       v1alpha1.TuningProfileSpec{Description: "Our own.", Tuning: &v1alpha1.MongodTuning{Eviction: &v1alpha1.EvictionTuning{DirtyTriggerPercent: new(int32(25))}}},
	}
	user := tuningNamed("shop", "orders")
	user.Spec.ProfileRef = &v1alpha1.ProfileReference{Name: "ours-v1"}
	d := newDesk(t, ours, user, profileNamed(t, "million-tps-v3"))
	golden(t, "profiles/list.txt", d.prints("profiles"))
	golden(t, "profiles/one.txt", d.prints("profiles", "million-tps-v3"))
	golden(t, "profiles/shipped.txt", d.prints("profiles", "stress-test"))
	golden(t, "profiles/one.yaml", d.prints("profiles", "ours-v1", "-o", "yaml"))
}

func TestProfilesWithoutACluster(t *testing.T) {
	for _, row := range []struct {
		name string
		d    func(*testing.T) *desk
		says string
	}{
		{"no cluster", func(t *testing.T) *desk {
			d := newDesk(t)
			d.offline = noClusterError{errors.New("no cluster is configured")}
			return d
		}, "no cluster is configured"},
		{"no right", func(t *testing.T) *desk {
			d := newDesk(t)
			d.answers("list", apierrors.NewForbidden(profilesResource.GroupResource(), "", nil))
			return d
		}, "forbidden"},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, errOut, err := row.d(t).runFor(t.Context(), "profiles")
			if err != nil {
				t.Fatal(err)
			}
			contains(t, out, "million-tps-v3", sourceShipped)
			contains(t, errOut, "warning: showing only the profiles that come with this program", row.says)
			if strings.Count(errOut, "\n") != 1 {
				t.Errorf("more than a line of warning:\n%s", errOut)
			}
		})
	}
}

func TestUnknownProfile(t *testing.T) {
	contains(t, newDesk(t).fails("profiles", "million-tsp"), "there is no profile million-tsp", "did you mean million-tps-v1")
	contains(t, newDesk(t).fails("profiles", "x"), "did you mean defaults, million-tps-v1")
}
