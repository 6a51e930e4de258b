// Package cgroup makes the control groups that a kubelet needs as its root and
// removes them with everything that runs inside.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hierarchy is one mounted cgroup tree.
type hierarchy struct {
	path      string
	isUnified bool
}

// Hierarchies finds the mounted trees, or says that there are none.
func hierarchies() ([]hierarchy, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	found := parseMounts(string(content))
	if len(found) == 0 {
		return nil, errors.New("no cgroup file system is mounted below /sys/fs/cgroup: the kubelet cannot run pods here")
	}
	return found, nil
}

func parseMounts(mountinfo string) []hierarchy {
	var found []hierarchy
	for _, line := range strings.Split(mountinfo, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 5 || len(kind) < 1 || !strings.HasPrefix(fields[4], "/sys/fs/cgroup") {
			continue
		}
		if kind[0] == "cgroup" || kind[0] == "cgroup2" {
			found = append(found, hierarchy{path: fields[4], isUnified: kind[0] == "cgroup2"})
		}
	}
	return found
}

// Check says why pods cannot be run, if so.
func Check() error {
	_, err := hierarchies()
	return err
}

// Ensure makes the root in every tree.
func Ensure(root string) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if tree.isUnified {
			enableControllers(tree.path)
		}
		directory := filepath.Join(tree.path, root)
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
		// A fresh cpuset is empty and nothing could run in it.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(tree.path, directory, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// enableControllers is an attempt only: a tree that is mounted beside the old
// ones has no controllers, and where one is missing the kubelet names it.
func enableControllers(path string) {
	available, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, controller := range strings.Fields(string(available)) {
		_ = os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
}

func inherit(parent, child, file string) error {
	have, err := os.ReadFile(filepath.Join(child, file))
	if err != nil || strings.TrimSpace(string(have)) != "" {
		return nil // not a cpuset tree, or set already
	}
	value, err := os.ReadFile(filepath.Join(parent, file))
	if err != nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(child, file), value, 0o644); err != nil {
		return fmt.Errorf("set %s of %s: %w", file, child, err)
	}
	return nil
}

// Remove kills what is left below the root and removes it. Only processes of
// this cluster's pods can be there, which is what makes killing them safe.
func Remove(root string) error {
	if root == "" || root == "/" {
		return errors.New("remove cgroups: refusing the machine's root")
	}
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	var failure error
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		failure = nil
		for _, tree := range trees {
			failure = errors.Join(failure, removeTree(filepath.Join(tree.path, root)))
		}
		if failure == nil {
			return nil
		}
	}
	return fmt.Errorf("remove cgroups: %w", failure)
}

// removeTree goes from the leaves up; a group with a process in it stays until
// the next round.
func removeTree(path string) error {
	var directories []string
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			directories = append(directories, path)
		}
		return nil // a group may vanish while we look
	})
	if err != nil {
		return err
	}
	slices.Reverse(directories)
	var failures []error
	for _, directory := range directories {
		kill(directory)
		if err := syscall.Rmdir(directory); err != nil && !errors.Is(err, os.ErrNotExist) {
			failures = append(failures, fmt.Errorf("%s: %w", directory, err))
		}
	}
	return errors.Join(failures...)
}

func kill(directory string) {
	content, err := os.ReadFile(filepath.Join(directory, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, field := range strings.Fields(string(content)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
