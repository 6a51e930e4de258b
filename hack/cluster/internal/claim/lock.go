package claim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

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
