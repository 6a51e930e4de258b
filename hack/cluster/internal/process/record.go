// Package process starts the cluster's long-running programs apart from the
// command that started them, remembers them, and stops only those it remembers.
//
// A process id alone is never enough to signal a process: it may have been
// given to somebody else since.
package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Record identifies one started process.
type Record struct {
	Part string `json:"part"`
	PID  int    `json:"pid"`
	// StartTicks is the kernel's start time; with the boot it makes a pid unique.
	StartTicks uint64 `json:"startTicks"`
	Boot       string `json:"boot"`
	// Program is the executable the process runs.
	Program string `json:"program"`
	// Fingerprint changes with the arguments and configuration, so that a
	// changed configuration is noticed although the process runs.
	Fingerprint string `json:"fingerprint"`
}

// ParseRecord refuses a record that could match a process it does not mean.
func ParseRecord(content []byte) (Record, error) {
	var record Record
	if err := json.Unmarshal(content, &record); err != nil {
		return Record{}, fmt.Errorf("parse process record: %w", err)
	}
	switch {
	case record.PID <= 1:
		return Record{}, fmt.Errorf("process record of %q: pid %d", record.Part, record.PID)
	case record.StartTicks == 0, record.Boot == "", record.Part == "":
		return Record{}, fmt.Errorf("process record of %q is incomplete", record.Part)
	case !filepath.IsAbs(record.Program):
		return Record{}, fmt.Errorf("process record of %q: program %q is not absolute", record.Part, record.Program)
	}
	return record, nil
}

// Proc reads the kernel's process table; Root is /proc outside tests.
type Proc struct{ Root string }

// Host is the process table of this machine.
func Host() Proc { return Proc{Root: "/proc"} }

// Boot names the running boot.
func (p Proc) Boot() (string, error) {
	content, err := os.ReadFile(filepath.Join(p.Root, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// StartTicks returns when a living process started. A zombie is not living.
func (p Proc) StartTicks(pid int) (uint64, error) {
	content, err := os.ReadFile(filepath.Join(p.Root, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	return parseStat(string(content))
}

// parseStat skips the command, which may hold spaces and parentheses itself.
func parseStat(stat string) (uint64, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("process state has no command")
	}
	fields := strings.Fields(stat[end+1:])
	const state, startTime = 0, 19 // fields 3 and 22 of proc(5), counted after the command
	if len(fields) <= startTime {
		return 0, errors.New("process state is too short")
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return 0, os.ErrNotExist
	}
	return strconv.ParseUint(fields[startTime], 10, 64)
}

// IsRunning says whether the recorded process, and no other, is alive.
func (p Proc) IsRunning(record Record) bool {
	boot, err := p.Boot()
	if err != nil || boot != record.Boot {
		return false
	}
	ticks, err := p.StartTicks(record.PID)
	if err != nil || ticks != record.StartTicks {
		return false
	}
	program, err := os.Readlink(filepath.Join(p.Root, strconv.Itoa(record.PID), "exe"))
	return err == nil && strings.TrimSuffix(program, " (deleted)") == record.Program
}
