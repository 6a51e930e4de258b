// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Kernel is the node as host-tune sees and changes it. Paths are relative to the root of the node and
// begin with proc or sys.
type Kernel interface {
	// Read returns a file without blanks around it.
	Read(path string) (string, error)
	// Write writes a setting in one piece.
	Write(path, value string) error
	// IsWritable says whether the file's mode lets its owner write.
	IsWritable(path string) (bool, error)
	// List returns the names in a directory.
	List(directory string) ([]string, error)
	// Resolve follows symbolic links.
	Resolve(path string) (string, error)
	// Network names the network namespace of a process of the node: a number, "self" or "1".
	Network(process string) (string, error)
	// InNetwork runs do with the network settings that a process of the node sees. do must stay on its
	// goroutine.
	InNetwork(process string, do func() error) error
	// Space tells how large a filesystem is and how much of it is free to users.
	Space(path string) (total, free uint64, err error)
}

// nodeProcess is the node's first process, whose namespaces are the node's.
const nodeProcess = "1"

// ownProcess is the process that asks.
const ownProcess = "self"

// debugDirectory is where nodes mount debugfs; many do not.
const debugDirectory = "sys/kernel/debug"

// Tree is the real node, its /proc and /sys below a root.
type Tree struct {
	// Root is where the node's /proc and /sys are mounted: /host in a container, / on the node.
	Root string

	debug     sync.Once
	debugRoot string
	debugFile *os.File
	errDebug  error
}

// Close ends the private mount of debugfs, if there was one.
func (t *Tree) Close() error {
	if t.debugFile == nil {
		return nil
	}
	return t.debugFile.Close()
}

func (t *Tree) path(path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("%q leaves the root of the node", path)
	}
	if rest, ok := strings.CutPrefix(path, debugDirectory+"/"); ok {
		root, err := t.debugfs()
		return filepath.Join(root, rest), err
	}
	return filepath.Join(t.Root, path), nil
}

// Read returns a file without blanks around it.
func (t *Tree) Read(path string) (string, error) {
	full, err := t.path(path)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(full) //nolint:gosec // below the root
	return strings.TrimSpace(string(content)), named(err, path)
}

// named tells an error with the path that people know, not with that of a private mount.
func named(err error, path string) error {
	if about, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: about.Op, Path: "/" + path, Err: about.Err}
	}
	return err
}

// Write writes a setting in one piece: the kernel takes each write for a whole value.
func (t *Tree) Write(path, value string) error {
	full, err := t.path(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(full, os.O_WRONLY|os.O_TRUNC, 0) //nolint:gosec // below the root
	if err != nil {
		return named(err, path)
	}
	_, err = file.WriteString(value)
	return named(errors.Join(err, file.Close()), path)
}

// IsWritable says whether the file's mode lets its owner write.
func (t *Tree) IsWritable(path string) (bool, error) {
	full, err := t.path(path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return false, err
	}
	const ownerWrites = fs.FileMode(0o200)
	return info.Mode()&ownerWrites != 0, nil
}

// List returns the names in a directory.
func (t *Tree) List(directory string) ([]string, error) {
	full, err := t.path(directory)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(full)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// Resolve follows symbolic links.
func (t *Tree) Resolve(path string) (string, error) {
	full, err := t.path(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", err
	}
	return filepath.Rel(t.Root, resolved)
}

// Network names the network namespace of a process.
func (t *Tree) Network(process string) (string, error) {
	full, err := t.path("proc/" + process + "/ns/net")
	if err != nil {
		return "", err
	}
	return os.Readlink(full)
}

// InNetwork runs do on a thread that enters the network namespace of a process and comes back. A thread
// that cannot come back ends, so nothing else of this process ever runs there. It has to come back where
// it can: the first thread of a process cannot end, and what is seen of the process is what that one is in.
func (t *Tree) InNetwork(process string, do func() error) error {
	full, err := t.path("proc/" + process + "/ns/net")
	if err != nil {
		return err
	}
	namespace, err := os.Open(full) //nolint:gosec // below the root
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer func() { _ = namespace.Close() }()
	done := make(chan error)
	go func() { done <- inNamespace(namespace, do) }()
	return <-done
}

// inNamespace stays locked to its thread unless that is back where it was; its goroutine has to end then.
func inNamespace(namespace *os.File, do func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("open own network namespace: %w", err)
	}
	defer func() { _ = home.Close() }()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter network namespace: %w", err)
	}
	defer func() {
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return do()
}

// Space tells how large a filesystem is and how much of it is free to users.
func (t *Tree) Space(path string) (total, free uint64, err error) {
	full, err := t.path(path)
	if err != nil {
		return 0, 0, err
	}
	var about unix.Statfs_t
	if err := unix.Statfs(full, &about); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: full, Err: err}
	}
	size := uint64(about.Bsize) //nolint:gosec // a block size is no negative number
	return about.Blocks * size, about.Bavail * size, nil
}

// debugfs finds debugfs. Where the node has not mounted it, it is mounted for this process alone, on no
// path of any namespace: the node's mounts stay as they are.
func (t *Tree) debugfs() (string, error) {
	t.debug.Do(func() {
		t.debugRoot = filepath.Join(t.Root, debugDirectory)
		var about unix.Statfs_t
		if unix.Statfs(t.debugRoot, &about) != nil || about.Type != unix.SYSFS_MAGIC {
			return // mounted, or not the place of a real kernel: a root of plain files stays one
		}
		t.debugFile, t.errDebug = openDebugfs()
		if t.errDebug == nil {
			t.debugRoot = fmt.Sprintf("/proc/self/fd/%d", t.debugFile.Fd())
		}
	})
	return t.debugRoot, t.errDebug
}

// openDebugfs needs kernel 5.2, which is older than the first with scheduler settings in debugfs.
func openDebugfs() (*os.File, error) {
	context, err := unix.Fsopen("debugfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, &fs.PathError{Op: "open debugfs for", Path: debugDirectory, Err: err}
	}
	defer func() { _ = unix.Close(context) }()
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, &fs.PathError{Op: "open debugfs for", Path: debugDirectory, Err: err}
	}
	mount, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, &fs.PathError{Op: "mount debugfs for", Path: debugDirectory, Err: err}
	}
	return os.NewFile(uintptr(mount), "debugfs"), nil
}

// errnoOf is the kernel's refusal by name, "" when the error is not the kernel's.
func errnoOf(err error) string {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return unix.ErrnoName(errno)
	}
	return ""
}

// isMissing says whether there is no such file, on this kernel or with this device.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EOPNOTSUPP)
}
