package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/build"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/cgroup"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/claim"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/node"
)

// up is repeatable: what already runs as it should is only looked at.
func up(ctx context.Context, m machine, _ []string) error {
	if err := checkHost(); err != nil {
		return err
	}
	// Refuse before building, which takes minutes.
	if _, err := m.ownedClaim(); err != nil && !errors.Is(err, claim.ErrNone) {
		return err
	}
	tools, err := node.EnsureTools(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if _, err := m.cache.Ensure(ctx, build.ClusterParts()); err != nil {
		return err
	}
	lock, err := m.lockCluster(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	current, err := m.take(ctx)
	if err != nil {
		return err
	}
	c, err := m.cluster(current)
	if err != nil {
		return err
	}
	c.Tools = tools
	begin := time.Now()
	if err := c.Up(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "cluster %q is up after %.1fs, kubeconfig %s\n", m.name, time.Since(begin).Seconds(), c.Layout.AdminKubeconfig)
	return nil
}

func status(ctx context.Context, m machine, _ []string) error {
	current, err := m.ownedClaim()
	if errors.Is(err, claim.ErrNone) {
		return fmt.Errorf("cluster %q is not up", m.name)
	}
	if err != nil {
		return err
	}
	c, err := m.cluster(current)
	if err != nil {
		return err
	}
	return c.Status(ctx, os.Stdout)
}

// down needs no programs, so that it works although the cache was emptied.
func down(ctx context.Context, m machine, _ []string) error {
	if _, err := claim.Read(m.roots, m.name); errors.Is(err, claim.ErrNone) {
		fmt.Fprintf(os.Stderr, "cluster %q is not there\n", m.name)
		return nil
	}
	if err := checkHost(); err != nil {
		return err
	}
	lock, err := m.lockCluster(ctx)
	if err != nil {
		return err
	}
	current, err := m.ownedClaim()
	if err == nil {
		err = m.remove(ctx, current)
	}
	if err == nil || errors.Is(err, claim.ErrNone) { // taken down while we waited
		lock.Discard()
	} else {
		lock.Release()
		return fmt.Errorf("take down cluster %q: %w", m.name, err)
	}
	fmt.Fprintf(os.Stderr, "cluster %q is down\n", m.name)
	return nil
}

func loadImage(ctx context.Context, m machine, files []string) error {
	if len(files) == 0 {
		return errors.New("load-image: name at least one archive")
	}
	current, err := m.ownedClaim()
	if errors.Is(err, claim.ErrNone) {
		return fmt.Errorf("cluster %q is not up", m.name)
	}
	if err != nil {
		return err
	}
	c, err := m.cluster(current)
	if err != nil {
		return err
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if err := c.LoadImage(ctx, path); err != nil {
			return fmt.Errorf("load %s: %w", file, err)
		}
		fmt.Fprintf(os.Stderr, "loaded %s\n", file)
	}
	return nil
}

func assets(ctx context.Context, m machine, _ []string) error {
	programs, err := m.cache.Ensure(ctx, build.AssetParts())
	if err != nil {
		return err
	}
	directory, err := m.cache.EnvtestDirectory(programs)
	if err != nil {
		return err
	}
	fmt.Println(directory)
	return nil
}

func kubectlPath(ctx context.Context, m machine, _ []string) error {
	programs, err := m.cache.Ensure(ctx, build.AssetParts()[1:2])
	if err != nil {
		return err
	}
	fmt.Println(programs["kubectl"])
	return nil
}

// checkHost says what makes a cluster impossible here.
func checkHost() error {
	if os.Geteuid() != 0 {
		return errors.New("a cluster's node mounts, routes and makes control groups: run as root")
	}
	return cgroup.Check()
}
