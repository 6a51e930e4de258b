// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// cacheDir is where fetched files are kept between runs. MongoDB servers are in mongodb/<version>.
func cacheDir() (string, error) {
	if dir := os.Getenv("MONGOTUNING_CACHE"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("MONGOTUNING_CACHE %s is not an absolute path", dir)
		}
		return dir, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set MONGOTUNING_CACHE): %w", err)
	}
	return filepath.Join(base, "mongotuning"), nil
}

// fillOnce makes target exist: fill gets a temporary path beside it, which becomes target only when fill succeeded. A killed run
// therefore leaves nothing that looks complete, and of two runs at once one waits and then finds the work done.
func fillOnce(target string, fill func(temporary string) error) error {
	if exists(target) {
		return nil
	}
	parent := filepath.Dir(target)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("create the cache: %w", err)
	}
	unlock, err := lock(target + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if exists(target) {
		return nil
	}
	temporary := target + ".partial"
	// What a killed run left; the lock says that nobody is writing to it.
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("remove what an interrupted run left: %w", err)
	}
	defer os.RemoveAll(temporary)
	if err := fill(temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, target); err != nil {
		return fmt.Errorf("complete the cache entry: %w", err)
	}
	return nil
}

// lock takes an exclusive lock that the kernel releases when the process ends in whatever way. The file stays: removing it would
// let a third run lock a fresh file while the second still waits on the removed one.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		progress("waiting for another run that holds %s", path)
		err = lockWaiting(file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}

// lockWaiting blocks until the lock is free; signals that Go's runtime sends to its own threads interrupt the wait and are no reason to end it.
func lockWaiting(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
