package node

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestRemoveDeadSocketSparesALiveOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := removeDeadSocket(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("a socket that answers was removed")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing left
		if err := removeDeadSocket(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a dead socket stays behind")
	}
}
