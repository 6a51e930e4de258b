package claim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Held is a lock that this process has. The kernel releases it when the process
// dies, however that happens.
type Held struct{ file *os.File }

// Release gives the lock back.
func (h *Held) Release() { h.file.Close() }

// Discard also removes the lock's file, and the directory if it was the last
// one. Whoever waits for it notices.
func (h *Held) Discard() {
	_ = os.Remove(h.file.Name())
	_ = os.Remove(filepath.Dir(h.file.Name()))
	h.file.Close()
}

// Lock waits for a lock file. The holder's pid is inside, for whoever waits.
func Lock(ctx context.Context, path string, waiting func(holder int)) (*Held, error) {
	for said := false; ; {
		held, err := tryLock(path)
		if held != nil || err != nil {
			return held, err
		}
		if !said {
			content, _ := os.ReadFile(path)
			holder, _ := strconv.Atoi(strings.TrimSpace(string(content)))
			waiting(holder)
			said = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tryLock returns nothing if somebody else holds the lock. A file that was
// discarded between opening and locking it guards nothing any more.
func tryLock(path string) (*Held, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make lock directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the last cluster has just taken the directory away
	}
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		file.Close()
		return nil, nil
	}
	opened, openedErr := file.Stat()
	current, currentErr := os.Stat(path)
	if openedErr != nil || currentErr != nil || !os.SameFile(opened, current) {
		file.Close()
		return nil, nil
	}
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("write lock: %w", err)
	}
	return &Held{file}, nil
}
