// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

const (
	mib = 1 << 20
	// probeReserve is how many times the probe's size has to be free: it must not fill a volume.
	probeReserve = 4
	probeFile    = ".host-tune-write-probe"
)

// Prober measures how fast a directory's filesystem writes.
type Prober interface {
	// Probe writes as much as the bounds allow and leaves nothing behind.
	Probe(directory string, bounds hosttune.WriteProbe) (written int64, took time.Duration, err error)
}

// Disk is the real prober.
type Disk struct {
	// Now reads the clock.
	Now func() time.Time
}

// Probe writes blocks of 1 MiB past the page cache to a file without a name, one after the other, and
// ends with a sync. The file is gone with the process, however that ends.
func (d Disk) Probe(directory string, bounds hosttune.WriteProbe) (written int64, took time.Duration, err error) {
	file, err := openUnnamed(directory)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = file.Close() }()
	// Direct I/O wants memory that begins at a page.
	block, err := unix.Mmap(-1, 0, mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return 0, 0, fmt.Errorf("get memory for the write probe: %w", err)
	}
	defer func() { _ = unix.Munmap(block) }()
	fill(block)
	began := d.Now()
	enough := began.Add(time.Duration(bounds.Seconds) * time.Second)
	for range bounds.MiB {
		count, err := file.Write(block)
		written += int64(count)
		if err != nil {
			return written, d.Now().Sub(began), err
		}
		if !d.Now().Before(enough) {
			break
		}
	}
	err = file.Sync()
	return written, d.Now().Sub(began), err
}

// openUnnamed opens a file that no directory lists. Filesystems that cannot make one get a name that is
// taken away at once.
func openUnnamed(directory string) (*os.File, error) {
	const onlyOwner = 0o600
	file, err := os.OpenFile(directory, os.O_WRONLY|unix.O_TMPFILE|unix.O_DIRECT, onlyOwner) //nolint:gosec // the data directory
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return file, err
	}
	named := filepath.Join(directory, probeFile)
	file, err = os.OpenFile(named, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_DIRECT, onlyOwner) //nolint:gosec // the data directory
	if errors.Is(err, fs.ErrExist) {                                                                           // of a probe that was killed between two calls
		_ = os.Remove(named)
		file, err = os.OpenFile(named, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_DIRECT, onlyOwner) //nolint:gosec // the data directory
	}
	if err != nil {
		_ = os.Remove(named) // EINVAL of a filesystem without direct I/O comes after the file was made
		return nil, err
	}
	return file, os.Remove(named)
}

// fill makes a block that no disk can compress (xorshift64).
func fill(block []byte) {
	number := uint64(0x9E3779B97F4A7C15)
	for i := range block {
		number ^= number << 13
		number ^= number >> 7
		number ^= number << 17
		block[i] = byte(number & math.MaxUint8)
	}
}

// writeProbe measures the data volume of the own pod, before its server starts. It is never run beside
// a server: a probe takes from it what it measures.
func (h Host) writeProbe(r *resolution) (line hosttune.Line, device string, speed int64) {
	const setting = "write probe"
	line = hosttune.Line{Setting: setting, Scope: hosttune.ScopeProcess}
	bounds, of := *r.settings.Checks.WriteProbe, pod{process: ownProcess}
	mounted, err := mountOf(r.kernel, of.process, r.place.Data)
	if err == nil {
		_, free, errSpace := r.kernel.Space(r.dataPath(of))
		if needed := uint64(bounds.MiB) * mib * probeReserve; errSpace == nil && free < needed { //nolint:gosec // 1..4096
			line.Result, line.Reason = hosttune.Warning, fmt.Sprintf("not run: %d MiB are free, %d MiB are needed", free/mib, needed/mib)
			return line, "", 0
		}
		var written int64
		var took time.Duration
		written, took, err = h.Prober.Probe(r.place.Data, bounds)
		if err == nil && took > 0 {
			speed = max(int64(float64(written)/mib/took.Seconds()), 1)
			line.Result, line.Found = hosttune.Checked, fmt.Sprintf("%d MiB/s", speed)
			line.Wanted = line.Found
			line.Reason = fmt.Sprintf("%d MiB in %d ms", written/mib, took.Milliseconds())
			return line, mounted.device, speed
		}
	}
	line.Result = hosttune.Warning
	if err != nil {
		line.Errno, line.Reason = errnoOf(err), err.Error()
	}
	if errors.Is(err, unix.EINVAL) {
		line.Result, line.Reason = hosttune.Unsupported, "the filesystem has no direct I/O"
	}
	return line, "", 0
}
