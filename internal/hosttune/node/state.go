// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// stateVersion is the version of the state file. A file of a later version is left alone, and so is the
// node.
const stateVersion = 1

// state is what is kept on the node.
type state struct {
	Version int `json:"version"`
	// Boot is the id of the boot that Written belongs to.
	Boot string `json:"boot"`
	// Settings are all settings that anybody wants or has not given back yet, by target.key.
	Settings map[string]*entry `json:"settings"`
	// Probes are the last measurements of the write probe in MiB/s, by device number of the data volume.
	Probes map[string]int64 `json:"probes,omitempty"`
}

// entry is one setting: one file of the kernel.
type entry struct {
	target
	// Original is the value that was found before anybody here wrote.
	Original string `json:"original"`
	// Written is the last value that was written, or was about to be when the process ended; "" if none.
	Written string `json:"written,omitempty"`
	// Pending says that Written has not been seen in force yet: a run that ended before it got there, or
	// a kernel that refused. The next run of anybody goes on with it.
	Pending bool             `json:"pending,omitempty"`
	Claims  []hosttune.Claim `json:"claims"`
}

func (e *entry) release(uid string) (released bool) {
	before := len(e.Claims)
	e.Claims = slices.DeleteFunc(e.Claims, func(claim hosttune.Claim) bool { return claim.Owner.UID == uid })
	return len(e.Claims) != before
}

func (e *entry) claim(claim hosttune.Claim) {
	for i := range e.Claims {
		if e.Claims[i].Owner.UID == claim.Owner.UID {
			e.Claims[i] = claim
			return
		}
	}
	e.Claims = append(e.Claims, claim)
}

// parseState reads the state file; nothing is the state of a node that was never tuned. What cannot be
// read is an error: without the originals nothing may be written.
func parseState(content []byte) (*state, error) {
	current := &state{Version: stateVersion, Settings: map[string]*entry{}, Probes: map[string]int64{}}
	if len(content) == 0 {
		return current, nil
	}
	if err := json.Unmarshal(content, current); err != nil {
		return nil, fmt.Errorf("parse state file: %w", err)
	}
	if current.Version != stateVersion {
		return nil, fmt.Errorf("state file has version %d, this program knows version %d", current.Version, stateVersion)
	}
	if current.Settings == nil {
		current.Settings = map[string]*entry{}
	}
	if current.Probes == nil {
		current.Probes = map[string]int64{}
	}
	for key, one := range current.Settings {
		if one == nil || !isSettingPath(one.Path) || one.Instead != "" && !isSettingPath(one.Instead) {
			return nil, fmt.Errorf("state file: %q is no setting", key)
		}
	}
	return current, nil
}

// isSettingPath keeps a damaged state file from leading a privileged process elsewhere.
func isSettingPath(path string) bool {
	return filepath.IsLocal(path) && filepath.Clean(path) == path && (strings.HasPrefix(path, "proc/sys/") || strings.HasPrefix(path, "sys/"))
}

func (s *state) encode() ([]byte, error) {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return append(content, '\n'), nil
}

// Store keeps the state on the node.
type Store interface {
	// Lock keeps every other process of the node out until release is called.
	Lock(ctx context.Context) (release func(), err error)
	// Load returns what was saved last, nothing if that never happened.
	Load() ([]byte, error)
	// Save replaces what is there in one step and returns when it will survive a crash of the node.
	Save(content []byte) error
}

// Directory is the store on a real node: a directory with one file and one lock.
type Directory struct {
	Path string

	// before is called before each act, so that tests can end a run there.
	before func(act string) error
}

// Names in the state directory.
const (
	stateFile = "state.json"
	lockFile  = "lock"
)

// lockPoll is how often a lock that somebody holds is tried.
const lockPoll = 100 * time.Millisecond

func (d *Directory) act(name string) error {
	if d.before == nil {
		return nil
	}
	return d.before(name)
}

// Lock keeps every other process of the node out until release is called. It also makes the directory.
func (d *Directory) Lock(ctx context.Context) (release func(), err error) {
	const onlyOwner = 0o700
	if err := d.act("make directory"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.Path, onlyOwner); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(d.Path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("lock %s, which another process holds: %w", file.Name(), ctx.Err())
		case <-ticker.C:
		}
	}
}

// Load returns what was saved last, nothing if that never happened.
func (d *Directory) Load() ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(d.Path, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// Save writes a new file beside the old one and takes its place; a crash leaves one or the other.
func (d *Directory) Save(content []byte) error {
	path := filepath.Join(d.Path, stateFile)
	if err := d.act("write state"); err != nil {
		return err
	}
	if err := writeSynced(path+".new", content); err != nil {
		return err
	}
	if err := d.act("replace state"); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	if err := d.act("sync directory"); err != nil {
		return err
	}
	directory, err := os.Open(d.Path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

func writeSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // in the state directory
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}
