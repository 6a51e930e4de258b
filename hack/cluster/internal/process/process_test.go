package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test program be launched as the real one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == LaunchCommand {
		fmt.Fprint(os.Stderr, Launch(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestParseRecord(t *testing.T) {
	const good = `{"part":"etcd","pid":42,"startTicks":7,"boot":"b","program":"/bin/etcd"}`
	tests := []struct {
		name    string
		content string
		wantErr bool
	}{
		{"whole record", good, false},
		{"half a record", good[:20], true},
		{"empty file", "", true},
		{"init is never ours", strings.Replace(good, "42", "1", 1), true},
		{"a negative pid would signal a group", strings.Replace(good, "42", "-42", 1), true},
		{"no start time", strings.Replace(good, `"startTicks":7,`, "", 1), true},
		{"no boot", strings.Replace(good, `"boot":"b",`, "", 1), true},
		{"no part", strings.Replace(good, `"part":"etcd",`, "", 1), true},
		{"relative program", strings.Replace(good, "/bin/etcd", "etcd", 1), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record, err := ParseRecord([]byte(test.content))
			if (err != nil) != test.wantErr {
				t.Fatalf("ParseRecord() = %+v, %v", record, err)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 2 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0"
	tests := []struct {
		name, stat string
		want       uint64
		wantErr    bool
	}{
		{"plain", "42 (etcd)" + rest, 4711, false},
		{"command with spaces and parentheses", "42 (a) S (b)" + rest, 4711, false},
		{"zombie", "42 (etcd)" + strings.Replace(rest, "S", "Z", 1), 0, true},
		{"too short", "42 (etcd) S 1", 0, true},
		{"garbage", "", 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseStat(test.stat)
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("parseStat() = %d, %v, want %d", got, err, test.want)
			}
		})
	}
}

func TestIsRunning(t *testing.T) {
	proc := Proc{Root: t.TempDir()}
	write := func(path, content string) {
		t.Helper()
		file := filepath.Join(proc.Root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("sys/kernel/random/boot_id", "b\n")
	write("42/stat", "42 (etcd) S 1 2 2 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0")
	if err := os.Symlink("/bin/etcd (deleted)", filepath.Join(proc.Root, "42", "exe")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		record Record
		want   bool
	}{
		{"same process, whose program was replaced on disk", Record{PID: 42, StartTicks: 7, Boot: "b", Program: "/bin/etcd"}, true},
		{"pid given to a later process", Record{PID: 42, StartTicks: 6, Boot: "b", Program: "/bin/etcd"}, false},
		{"another program", Record{PID: 42, StartTicks: 7, Boot: "b", Program: "/bin/other"}, false},
		{"an earlier boot", Record{PID: 42, StartTicks: 7, Boot: "a", Program: "/bin/etcd"}, false},
		{"gone", Record{PID: 43, StartTicks: 7, Boot: "b", Program: "/bin/etcd"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := proc.IsRunning(test.record); got != test.want {
				t.Errorf("IsRunning() = %v, want %v", got, test.want)
			}
		})
	}
}

func sleeper(t *testing.T, seconds int) Spec {
	t.Helper()
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep here")
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}
	return Spec{Part: "sleeper", Program: path, Args: []string{strconv.Itoa(seconds)}, Log: filepath.Join(t.TempDir(), "log")}
}

func TestEnsureKeepsReplacesAndStops(t *testing.T) {
	s := Supervisor{Directory: t.TempDir(), Proc: Host()}
	ensure := func(spec Spec, wantStarted bool) int {
		t.Helper()
		started, err := s.Ensure(spec)
		if err != nil || started != wantStarted {
			t.Fatalf("Ensure() = %v, %v, want %v", started, err, wantStarted)
		}
		record, running := s.Find(spec.Part)
		if !running {
			t.Fatal("not running")
		}
		return record.PID
	}
	spec := sleeper(t, 300)
	first := ensure(spec, true)
	if again := ensure(spec, false); again != first {
		t.Errorf("pid %d, want the running %d", again, first)
	}
	spec.Args = []string{"301"}
	second := ensure(spec, true)
	if second == first {
		t.Error("changed arguments did not restart the process")
	}
	if err := s.Stop(spec.Part); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{first, second} {
		// This process is the parent here, and takes in the dead in its own time.
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if _, err := Host().StartTicks(pid); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
		}
	}
}

func TestStopSparesAProcessThatOnlyHasThePID(t *testing.T) {
	s := Supervisor{Directory: t.TempDir(), Proc: Host()}
	spec := sleeper(t, 300)
	if _, err := s.Ensure(spec); err != nil {
		t.Fatal(err)
	}
	running, _ := s.Find(spec.Part)
	stale := running
	stale.Part, stale.StartTicks = "stale", running.StartTicks-1
	if err := writeRecord(s.file("stale"), stale); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop("stale"); err != nil {
		t.Fatal(err)
	}
	if _, running := s.Find(spec.Part); !running {
		t.Error("the other process was stopped")
	}
	if err := s.Stop(spec.Part); err != nil {
		t.Fatal(err)
	}
}

func TestEnsureShowsWhyAProgramEnds(t *testing.T) {
	s := Supervisor{Directory: t.TempDir(), Proc: Host()}
	spec := sleeper(t, 1)
	spec.Program = "/nonexistent"
	if _, err := s.Ensure(spec); err == nil || !strings.Contains(err.Error(), spec.Log) {
		t.Errorf("Ensure() = %v, want the log's path", err)
	}
}
