// Package claim decides which clone owns a cluster name and which slot the name
// has. Without it two clones would stop each other's processes.
package claim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
)

// Claim is the record of a name that is in use on this machine.
type Claim struct {
	Name string `json:"name"`
	Slot int    `json:"slot"`
	// Clone is the path of the working tree that started the cluster.
	Clone string `json:"clone"`
	// Kubeconfig is where that tree finds the administrator's kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// PID is the run that made the claim.
	PID int `json:"pid"`
	// Boot is the boot it was made in; nothing of the cluster runs in a later one.
	Boot string `json:"boot"`
}

// ErrNone means that nobody has claimed the name.
var ErrNone = errors.New("not claimed")

// fileName is inside the cluster's state directory and removed last of all, so
// that a killed teardown still knows what it has to clean.
const fileName = "cluster.json"

// Read returns the claim of a name, or ErrNone.
func Read(roots layout.Roots, name string) (Claim, error) {
	path := filepath.Join(roots.State, name, fileName)
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Claim{}, ErrNone
	}
	if err != nil {
		return Claim{}, fmt.Errorf("read claim: %w", err)
	}
	var claim Claim
	if err := json.Unmarshal(content, &claim); err != nil {
		return Claim{}, fmt.Errorf("parse claim %s: %w", path, err)
	}
	return claim, nil
}

// Layout is the claimed cluster's layout.
func (c Claim) Layout(roots layout.Roots) layout.Layout {
	return layout.Layout{Name: c.Name, Slot: c.Slot, Clone: c.Clone, AdminKubeconfig: c.Kubeconfig, Roots: roots}
}

// CheckOwner refuses a clone that is not the owner. A clone that was deleted
// owns nothing: nobody could ever stop its cluster otherwise. ownerPID is a
// process of the running cluster, or 0 when none runs.
func (c Claim) CheckOwner(clone string, ownerPID int) error {
	if c.Clone == clone {
		return nil
	}
	if _, err := os.Stat(filepath.Join(c.Clone, "hack", "cluster", "go.mod")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	who := fmt.Sprintf("pid %d, which started it; it is not running now", c.PID)
	if ownerPID > 0 {
		who = fmt.Sprintf("pid %d", ownerPID)
	}
	return fmt.Errorf("cluster %q belongs to the clone %s (%s): set CLUSTER_NAME to another name, or take it down from there", c.Name, c.Clone, who)
}

// Make claims a name for a clone and gives it a slot that no other cluster has
// and isUsable does not refuse. Call it under the machine's lock.
//
// A clone's first cluster has the kubeconfig that everything in the clone looks
// for; a second one must not overwrite it and gets one named after itself.
func Make(roots layout.Roots, claim Claim, isUsable func(slot int) bool) (Claim, error) {
	others, err := all(roots)
	if err != nil {
		return Claim{}, err
	}
	taken := map[int]bool{}
	directory := filepath.Join(claim.Clone, ".cluster")
	claim.Kubeconfig = filepath.Join(directory, "kubeconfig")
	for _, other := range others {
		taken[other.Slot] = true
		if other.Kubeconfig == filepath.Join(directory, "kubeconfig") {
			claim.Kubeconfig = filepath.Join(directory, claim.Name+".kubeconfig")
		}
	}
	claim.Slot, err = layout.NextSlot(claim.Name, func(slot int) bool {
		return !taken[slot] && isUsable(slot)
	})
	if err != nil {
		return Claim{}, err
	}
	return claim, Write(roots, claim)
}

// Write stores a claim in one step.
func Write(roots layout.Roots, claim Claim) error {
	directory := filepath.Join(roots.State, claim.Name)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	content, err := json.MarshalIndent(claim, "", "  ")
	if err != nil {
		return err
	}
	temporary := filepath.Join(directory, "."+fileName)
	if err := os.WriteFile(temporary, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write claim: %w", err)
	}
	return os.Rename(temporary, filepath.Join(directory, fileName))
}

// all returns the claims of every cluster on the machine.
func all(roots layout.Roots) ([]Claim, error) {
	files, err := filepath.Glob(filepath.Join(roots.State, "*", fileName))
	if err != nil {
		return nil, err
	}
	var claims []Claim
	for _, file := range files {
		claim, err := Read(roots, filepath.Base(filepath.Dir(file)))
		if errors.Is(err, ErrNone) {
			continue // removed since
		}
		if err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	return claims, nil
}
