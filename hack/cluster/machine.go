package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/build"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/claim"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/hostsettings"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/network"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/node"
)

// ownedClaim returns the claim of this run's cluster name, or an error if the
// name is another clone's.
func (m machine) ownedClaim() (claim.Claim, error) {
	current, err := claim.Read(m.roots, m.name)
	if err != nil {
		return claim.Claim{}, err
	}
	return current, current.CheckOwner(m.clone, node.OwnerPID(current.Layout(m.roots)))
}

// cluster is the claimed cluster with the programs of this clone.
func (m machine) cluster(current claim.Claim) (node.Cluster, error) {
	programs := map[string]string{}
	for _, part := range build.ClusterParts() {
		path, err := m.cache.Path(part)
		if err != nil {
			return node.Cluster{}, err
		}
		programs[part.Name] = path
	}
	return node.Cluster{Layout: current.Layout(m.roots), Programs: programs, Progress: os.Stderr}, nil
}

// take claims the name, under the cluster's lock. What an earlier boot or a
// deleted clone has left is removed first: none of it can be used.
func (m machine) take(ctx context.Context) (claim.Claim, error) {
	current, err := m.ownedClaim()
	if err != nil && !errors.Is(err, claim.ErrNone) {
		return claim.Claim{}, err
	}
	if err == nil && (current.Boot != m.boot || current.Clone != m.clone) {
		fmt.Fprintf(os.Stderr, "removing what is left of cluster %q from %s\n", m.name, current.Clone)
		if err := m.remove(ctx, current); err != nil {
			return claim.Claim{}, fmt.Errorf("remove leftovers: %w", err)
		}
		err = claim.ErrNone
	}
	lock, lockErr := m.lockMachine(ctx)
	if lockErr != nil {
		return claim.Claim{}, lockErr
	}
	defer lock.Release()
	if errors.Is(err, claim.ErrNone) {
		wanted := claim.Claim{Name: m.name, Clone: m.clone, PID: os.Getpid(), Boot: m.boot}
		current, err = claim.Make(m.roots, wanted, func(slot int) bool {
			return network.IsUsable(layout.Layout{Name: m.name, Slot: slot, Roots: m.roots})
		})
		if err != nil {
			return claim.Claim{}, err
		}
	}
	// Before anything starts: the snapshot is what down goes back to.
	return current, m.settings().Join(m.name)
}

// remove takes a cluster down and gives its name back.
func (m machine) remove(ctx context.Context, current claim.Claim) error {
	l := current.Layout(m.roots)
	if err := node.Down(ctx, l, os.Stderr); err != nil {
		return err
	}
	lock, err := m.lockMachine(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	restored, err := m.settings().Leave(m.name)
	for _, setting := range restored {
		fmt.Fprintf(os.Stderr, "restored %s\n", setting)
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(l.StateDir()); err != nil {
		return fmt.Errorf("give back the name: %w", err)
	}
	if os.Remove(m.roots.State) == nil { // it was the last cluster
		lock.Discard()
	}
	return nil
}

func (m machine) settings() hostsettings.Host {
	return hostsettings.Host{Root: "/", File: filepath.Join(m.roots.State, "host-settings.json"), Boot: m.boot}
}

// lockCluster keeps two runs from changing the same cluster at once.
func (m machine) lockCluster(ctx context.Context) (*claim.Held, error) {
	return claim.Lock(ctx, filepath.Join(m.roots.Run, m.name+".lock"), func(holder int) {
		fmt.Fprintf(os.Stderr, "waiting for pid %d, which is changing cluster %q\n", holder, m.name)
	})
}

// lockMachine guards what clusters share: slots and host settings. It is held
// for moments only, and always taken after a cluster's own lock.
func (m machine) lockMachine(ctx context.Context) (*claim.Held, error) {
	return claim.Lock(ctx, filepath.Join(m.roots.Run, ".machine.lock"), func(int) {})
}
