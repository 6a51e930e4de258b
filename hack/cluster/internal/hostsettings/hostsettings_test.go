package hostsettings

import (
	"os"
	"path/filepath"
	"testing"
)

const (
	swappiness = "proc/sys/vm/swappiness"
	ratio      = "proc/sys/vm/dirty_ratio"
	bytes      = "proc/sys/vm/dirty_bytes"
	hugepages  = "sys/kernel/mm/transparent_hugepage/enabled"
	unwatched  = "proc/sys/vm/laptop_mode"
)

func fakeHost(t *testing.T) Host {
	t.Helper()
	h := Host{Root: t.TempDir(), File: filepath.Join(t.TempDir(), "state", "settings.json"), Boot: "boot-1"}
	for path, value := range map[string]string{
		swappiness: "60\n", ratio: "20\n", bytes: "0\n", hugepages: "always [madvise] never\n", unwatched: "0\n",
	} {
		set(t, h, path, value)
	}
	return h
}

func set(t *testing.T, h Host, path, value string) {
	t.Helper()
	file := filepath.Join(h.Root, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, h Host, path string) string {
	t.Helper()
	value, err := read(filepath.Join(h.Root, path))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func join(t *testing.T, h Host, name string) {
	t.Helper()
	if err := h.Join(name); err != nil {
		t.Fatal(err)
	}
}

func leave(t *testing.T, h Host, name string) []string {
	t.Helper()
	restored, err := h.Leave(name)
	if err != nil {
		t.Fatal(err)
	}
	return restored
}

func TestLastClusterRestores(t *testing.T) {
	h := fakeHost(t)
	join(t, h, "a")
	set(t, h, swappiness, "1\n")
	set(t, h, hugepages, "[always] madvise never\n")
	set(t, h, unwatched, "1\n")
	join(t, h, "b") // must not take the changed values for the machine's own
	join(t, h, "a") // a second up

	if restored := leave(t, h, "a"); len(restored) != 0 || get(t, h, swappiness) != "1" {
		t.Errorf("restored %v while another cluster is there", restored)
	}
	if restored := leave(t, h, "b"); len(restored) != 2 {
		t.Errorf("restored %v, want two settings", restored)
	}
	for path, want := range map[string]string{swappiness: "60", hugepages: "madvise", unwatched: "1"} {
		if got := get(t, h, path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if _, err := os.Stat(h.File); !os.IsNotExist(err) {
		t.Errorf("the record is still there: %v", err)
	}
}

func TestRestoreSetsTheUsedHalfOfAPair(t *testing.T) {
	h := fakeHost(t)
	join(t, h, "a")
	set(t, h, ratio, "0\n") // as the kernel does when bytes are set
	set(t, h, bytes, "1048576\n")
	leave(t, h, "a")
	if got := get(t, h, ratio); got != "20" {
		t.Errorf("dirty_ratio = %s, want 20", got)
	}
	if got := get(t, h, bytes); got != "1048576" {
		t.Errorf("dirty_bytes = %s: its zero must not be written, the kernel sets it with the ratio", got)
	}
}

func TestAnotherBootHasItsOwnValues(t *testing.T) {
	h := fakeHost(t)
	join(t, h, "a")
	h.Boot = "boot-2"
	set(t, h, swappiness, "30\n")
	if restored := leave(t, h, "a"); len(restored) != 0 || get(t, h, swappiness) != "30" {
		t.Errorf("restored %v from an earlier boot", restored)
	}
	join(t, h, "a")
	set(t, h, swappiness, "1\n")
	leave(t, h, "a")
	if got := get(t, h, swappiness); got != "30" {
		t.Errorf("swappiness = %s, want this boot's 30", got)
	}
}

func TestDamagedRecordIsAnError(t *testing.T) {
	h := fakeHost(t)
	join(t, h, "a")
	if err := os.WriteFile(h.File, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Join("b"); err == nil {
		t.Error("Join() took a new snapshot over a damaged record")
	}
	if _, err := h.Leave("a"); err == nil {
		t.Error("Leave() forgot a damaged record")
	}
}
