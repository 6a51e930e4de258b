package claim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
)

func fakeClone(t *testing.T) string {
	t.Helper()
	clone := t.TempDir()
	if err := os.MkdirAll(filepath.Join(clone, "hack", "cluster"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, "hack", "cluster", "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return clone
}

func always(int) bool { return true }

func TestCheckOwner(t *testing.T) {
	owner, other := fakeClone(t), fakeClone(t)
	tests := []struct {
		name  string
		claim Claim
		clone string
		pid   int
		want  []string // parts of the refusal; none means it is allowed
	}{
		{"the owner itself", Claim{Name: "x", Clone: owner}, owner, 7, nil},
		{"another clone is told who and where", Claim{Name: "x", Clone: owner, PID: 3}, other, 7, []string{`"x"`, owner, "pid 7", "CLUSTER_NAME"}},
		{"another clone while nothing runs", Claim{Name: "x", Clone: owner, PID: 3}, other, 0, []string{owner, "pid 3", "not running"}},
		{"a deleted clone owns nothing", Claim{Name: "x", Clone: filepath.Join(owner, "gone")}, other, 7, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.claim.CheckOwner(test.clone, test.pid)
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("CheckOwner() = %v", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("refusal %q does not name %q", err, part)
				}
			}
		})
	}
}

func TestMake(t *testing.T) {
	roots := layout.Roots{State: t.TempDir(), Run: t.TempDir()}
	if _, err := Read(roots, "a"); !errors.Is(err, ErrNone) {
		t.Fatalf("Read() before Make = %v, want ErrNone", err)
	}
	a, err := Make(roots, Claim{Name: "a", Clone: "/clone", PID: 5, Boot: "boot"}, always)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read(roots, "a"); err != nil || got != a {
		t.Errorf("Read() = %+v, %v, want %+v", got, err, a)
	}
	if a.Slot != layout.PreferredSlot("a") {
		t.Errorf("slot = %d, want the preferred %d", a.Slot, layout.PreferredSlot("a"))
	}

	// A second name that may not have the first one's slot, however it hashes.
	b, err := Make(roots, Claim{Name: "b", Clone: "/clone"}, func(slot int) bool { return slot == a.Slot || slot == 0 })
	if err != nil || b.Slot != 0 {
		t.Errorf("second cluster = slot %d, %v, want slot 0", b.Slot, err)
	}
	if a.Kubeconfig != "/clone/.cluster/kubeconfig" || b.Kubeconfig != "/clone/.cluster/b.kubeconfig" {
		t.Errorf("kubeconfigs %s and %s", a.Kubeconfig, b.Kubeconfig)
	}
}

func TestLockIsExclusiveAndSurvivesDiscard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks", "x.lock")
	first, err := Lock(t.Context(), path, func(int) { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	holder := 0
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Lock(short, path, func(pid int) { holder = pid }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second Lock() = %v, want it to wait", err)
	}
	if holder != os.Getpid() {
		t.Errorf("waited for pid %d, want %d", holder, os.Getpid())
	}
	first.Discard()
	second, err := Lock(t.Context(), path, func(int) { t.Error("waited for a discarded lock") })
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
}
