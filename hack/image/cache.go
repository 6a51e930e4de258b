// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPeriod is how long a run waits before it asks for a held lock again.
const lockPeriod = 200 * time.Millisecond

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
func fillOnce(ctx context.Context, target string, fill func(temporary string) error) error {
	if exists(target) {
		return nil
	}
	parent := filepath.Dir(target)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("create the cache: %w", err)
	}
	unlock, err := lock(ctx, target+".lock")
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
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	// Asked again and again, not waited for in the kernel: there an interrupt could not end the wait.
	again := time.NewTicker(lockPeriod)
	defer again.Stop()
	for waiting := false; ; waiting = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !waiting {
			progress("waiting for another run that holds %s", path)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("wait for another run: %w", ctx.Err())
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
