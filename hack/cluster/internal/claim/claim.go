// Package claim decides which clone owns a cluster name and which slot the name
// has. Without it two clones would stop each other's processes.
package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
)

// Claim is the record of a name that is in use on this machine.
type Claim struct {
	Name string `json:"name"`
	Slot int    `json:"slot"`
	// Clone is the path of the working tree that started the cluster.
	Clone string `json:"clone"`
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
	return layout.Layout{Name: c.Name, Slot: c.Slot, Clone: c.Clone, Roots: roots}
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
func Make(roots layout.Roots, claim Claim, isUsable func(slot int) bool) (Claim, error) {
	taken, err := slots(roots)
	if err != nil {
		return Claim{}, err
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

func slots(roots layout.Roots) (map[int]bool, error) {
	files, err := filepath.Glob(filepath.Join(roots.State, "*", fileName))
	if err != nil {
		return nil, err
	}
	taken := map[int]bool{}
	for _, file := range files {
		claim, err := Read(roots, filepath.Base(filepath.Dir(file)))
		if err != nil && !errors.Is(err, ErrNone) {
			return nil, err
		}
		if err == nil {
			taken[claim.Slot] = true
		}
	}
	return taken, nil
}

// Lock waits for a lock file and returns its release. The kernel releases it
// when the holder dies. The holder's pid is inside, for whoever waits.
func Lock(ctx context.Context, path string, waiting func(holder int)) (func(), error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make lock directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for said := false; ; {
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			file.Truncate(0)
			file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			return func() { file.Close() }, nil
		}
		if !said {
			content, _ := os.ReadFile(path)
			holder, _ := strconv.Atoi(strings.TrimSpace(string(content)))
			waiting(holder)
			said = true
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
