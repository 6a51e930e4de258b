package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// LaunchCommand is the hidden subcommand by which this program becomes another.
const LaunchCommand = "launch-recorded"

// Spec is a program to run.
type Spec struct {
	Part    string
	Program string
	Args    []string
	// Netns is the network namespace file to run in; empty means the host's.
	Netns string
	// Path is prepended to PATH.
	Path string
	// Files are configuration files whose content the program reads at start.
	Files []string
	Log   string
}

// Supervisor keeps the records of one cluster's processes in a directory.
type Supervisor struct {
	Directory string
	Proc      Proc
}

// Load returns all readable records, sorted by part. An unreadable one is an
// error, never skipped: it may stand for a process that would be left behind.
func (s Supervisor) Load() ([]Record, error) {
	files, err := filepath.Glob(filepath.Join(s.Directory, "*.json"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var records []Record
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read process record: %w", err)
		}
		record, err := ParseRecord(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		records = append(records, record)
	}
	return records, nil
}

// Find returns the record of a part whose process is alive.
func (s Supervisor) Find(part string) (Record, bool) {
	content, err := os.ReadFile(s.file(part))
	if err != nil {
		return Record{}, false
	}
	record, err := ParseRecord(content)
	if err != nil {
		return Record{}, false
	}
	return record, s.Proc.IsRunning(record)
}

// Fingerprint covers everything that a start of the program would read.
func (spec Spec) Fingerprint() (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q\n", spec.Program, spec.Args, spec.Netns)
	for _, file := range spec.Files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read configuration of %s: %w", spec.Part, err)
		}
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// Ensure leaves a process alone that already runs with this configuration, and
// otherwise stops the old one and starts it. It reports whether it started.
func (s Supervisor) Ensure(spec Spec) (bool, error) {
	fingerprint, err := spec.Fingerprint()
	if err != nil {
		return false, err
	}
	if record, running := s.Find(spec.Part); running {
		if record.Fingerprint == fingerprint {
			return false, nil
		}
		if err := s.Stop(spec.Part); err != nil {
			return false, err
		}
	}
	return true, s.start(spec, fingerprint)
}

// start runs this program again, which records its own id before it turns into
// the real one: were the record written here, a kill in between would leave a
// process that nobody remembers.
func (s Supervisor) start(spec Spec, fingerprint string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", spec.Part, err)
	}
	defer log.Close()

	args := []string{LaunchCommand, s.file(spec.Part), spec.Part, fingerprint, spec.Netns, spec.Program}
	cmd := exec.Command(self, append(args, spec.Args...)...)
	cmd.Dir = "/" // a working directory in the clone would hinder deleting it
	cmd.Env = os.Environ()
	if spec.Path != "" {
		cmd.Env = append(cmd.Env, "PATH="+spec.Path+":"+os.Getenv("PATH"))
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", spec.Part, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // its end would otherwise leave a zombie
	return s.awaitRecord(spec, ended)
}

// awaitRecord returns once the process has become the real program.
func (s Supervisor) awaitRecord(spec Spec, ended <-chan error) error {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if _, running := s.Find(spec.Part); running {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("start %s: it ended at once (%v)\n%s", spec.Part, err, Tail(spec.Log, 15)) //nolint:errorlint // nil when it ended with success
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("start %s: it did not begin within 10s, see %s", spec.Part, spec.Log)
}

// Tail returns a log's path and last lines, for the person who must find out.
func Tail(log string, count int) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	if len(lines) > count {
		lines = lines[len(lines)-count:]
	}
	return "last lines of " + log + ":\n  " + strings.Join(lines, "\n  ")
}

// Launch is the other half of start; it returns only when it could not become
// the program.
func Launch(args []string) error {
	if len(args) < 5 {
		return fmt.Errorf("%s: %d arguments", LaunchCommand, len(args))
	}
	file, part, fingerprint, netns, program := args[0], args[1], args[2], args[3], args[4]
	boot, err := Host().Boot()
	if err != nil {
		return err
	}
	ticks, err := Host().StartTicks(os.Getpid())
	if err != nil {
		return err
	}
	record := Record{Part: part, PID: os.Getpid(), StartTicks: ticks, Boot: boot, Program: program, Fingerprint: fingerprint}
	if err := writeRecord(file, record); err != nil {
		return err
	}
	argv := append([]string{program}, args[5:]...)
	if netns == "" {
		return syscall.Exec(program, argv, os.Environ())
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	return syscall.Exec(nsenter, append([]string{nsenter, "--net=" + netns, "--"}, argv...), os.Environ())
}

func writeRecord(file string, record Record) error {
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	temporary := fmt.Sprintf("%s.%d", file, record.PID)
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write process record: %w", err)
	}
	return os.Rename(temporary, file)
}

// Stop ends the part's recorded process, politely first, and forgets it.
func (s Supervisor) Stop(part string) error {
	record, running := s.Find(part)
	if running {
		if err := s.end(record); err != nil {
			return fmt.Errorf("stop %s: %w", part, err)
		}
	}
	if err := os.Remove(s.file(part)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget %s: %w", part, err)
	}
	return nil
}

// end takes a handle before it looks again, so that the signal cannot reach a
// process that got the same id in between.
func (s Supervisor) end(record Record) error {
	handle, err := os.FindProcess(record.PID)
	if err != nil {
		return nil // gone
	}
	defer handle.Release()
	for _, attempt := range []struct {
		signal os.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, 10 * time.Second}, {syscall.SIGKILL, 10 * time.Second}} {
		if !s.Proc.IsRunning(record) {
			return nil
		}
		if err := handle.Signal(attempt.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		for deadline := time.Now().Add(attempt.wait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if !s.Proc.IsRunning(record) {
				return nil
			}
		}
	}
	return fmt.Errorf("process %d does not end", record.PID)
}

func (s Supervisor) file(part string) string { return filepath.Join(s.Directory, part+".json") }
