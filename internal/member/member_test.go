// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestPrepareKeyFile(t *testing.T) {
	source, destination := filepath.Join(t.TempDir(), "source"), filepath.Join(t.TempDir(), "key")
	for _, content := range []string{"first key\n", "another key, over a file that nobody may write"} {
		if err := os.WriteFile(source, []byte(content), 0o440); err != nil {
			t.Fatal(err)
		}
		if err := PrepareKeyFile(source, destination); err != nil {
			t.Fatal(err)
		}
		assertFile(t, destination, content, 0o400)
		if err := os.Remove(source); err != nil {
			t.Fatal(err)
		}
	}
	assertAlone(t, destination)
}

func TestPrepareKeyFileWithoutSource(t *testing.T) {
	destination := filepath.Join(t.TempDir(), "key")
	if err := PrepareKeyFile(filepath.Join(t.TempDir(), "absent"), destination); err == nil {
		t.Error("a key file that is not there was copied")
	}
	if _, err := os.Stat(destination); err == nil {
		t.Error("a destination without a source")
	}
}

func TestCopySelf(t *testing.T) {
	destination := filepath.Join(t.TempDir(), "self")
	if err := CopySelf(destination); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	assertFile(t, destination, string(content), 0o555)
	assertAlone(t, destination)
}

func assertFile(t *testing.T, path, want string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(content) != want {
		t.Errorf("%s differs from its source", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != mode {
		t.Errorf("mode %o, want %o", info.Mode().Perm(), mode)
	}
}

// assertAlone finds temporary files that were left behind.
func assertAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("beside %s there is more: %v", path, entries)
	}
}

func TestRaiseLimits(t *testing.T) {
	if err := RaiseLimits(); err != nil {
		t.Fatal(err)
	}
	for _, resource := range []int{syscall.RLIMIT_NOFILE, limitProcesses} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(resource, &limit); err != nil {
			t.Fatal(err)
		}
		if limit.Cur != limit.Max {
			t.Errorf("limit %d: %d of %d", resource, limit.Cur, limit.Max)
		}
	}
}

func TestExecOfNothing(t *testing.T) {
	for _, command := range [][]string{nil, {"no-such-program-anywhere"}} {
		if err := Exec(command); err == nil {
			t.Errorf("%v: no error", command)
		}
	}
}

// Whoever accepts a connection and says nothing, hangs up or talks another protocol gives no answer.
func TestProbeWithoutAnswer(t *testing.T) {
	tests := []struct {
		name string
		say  []byte
		stay bool
	}{
		{name: "nothing said", stay: true},
		{name: "connection closed"},
		{name: "another protocol", say: []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")},
		{name: "cut short", say: frame(document(), 100)},
		{name: "endless", say: frame(document(), 1<<30)},
		{name: "a document cut short", say: frame([]byte{9, 0, 0, 0, typeInt32, 'o'}, 0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			address := serve(t, test.say, test.stay)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := Probe(ctx, address, Started); err == nil {
				t.Error("an answer was seen")
			}
		})
	}
}

// Readiness is membership and service; a router serves by being one.
func TestProbeReady(t *testing.T) {
	member := field(typeString, "setName", text("rs0"))
	tests := []struct {
		name   string
		fields [][]byte
		want   bool
	}{
		{name: "primary as hello tells it", fields: [][]byte{member, field(typeBool, "isWritablePrimary", []byte{1})}, want: true},
		{name: "primary as isMaster tells it", fields: [][]byte{member, field(typeBool, "ismaster", []byte{1})}, want: true},
		{name: "secondary", fields: [][]byte{member, field(typeBool, "ismaster", []byte{0}), field(typeBool, "secondary", []byte{1})}, want: true},
		{name: "member that starts", fields: [][]byte{member, field(typeBool, "ismaster", []byte{0}), field(typeBool, "secondary", []byte{0})}},
		{name: "standalone", fields: [][]byte{field(typeBool, "ismaster", []byte{1})}},
		{name: "router", fields: [][]byte{field(typeBool, "ismaster", []byte{1}), field(typeString, "msg", text("isdbgrid"))}, want: true},
		{name: "an error", fields: [][]byte{field(typeDouble, "ok", make([]byte, 8)), field(typeInt32, "code", []byte{13, 0, 0, 0})}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// What comes before and between must be passed over, whatever its type.
			fields := append([][]byte{
				field(typeDocument, "topologyVersion", document(field(typeObjectID, "processId", make([]byte, 12)))),
				field(typeArray, "hosts", document(field(typeString, "0", text("a:1")))),
				field(typeDate, "localTime", make([]byte, 8)), field(typeNull, "nothing", nil),
				field(typeBinary, "hash", []byte{1, 0, 0, 0, 0, 7}), field(typeTimestamp, "time", make([]byte, 8)),
				field(typeInt64, "term", make([]byte, 8)),
			}, test.fields...)
			address := serve(t, frame(document(fields...), 0), true)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := Probe(ctx, address, Ready); (err == nil) != test.want {
				t.Errorf("ready: %v, want %t", err, test.want)
			}
		})
	}
	t.Run("no such question", func(t *testing.T) {
		address := serve(t, frame(document(), 0), true)
		if err := Probe(t.Context(), address, "alive"); err == nil {
			t.Error("an unknown question was answered")
		}
	})
}

// FuzzDecode looks for answers that end the probe instead of its connection.
func FuzzDecode(f *testing.F) {
	f.Add(document(field(typeString, "setName", text("rs0")), field(typeBool, "secondary", []byte{1})))
	f.Add([]byte{5, 0, 0, 0, typeString, 'a', 0, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(_ *testing.T, content []byte) {
		// Any result is fine as long as there is one.
		_, _ = decode(content)
	})
}

// serve answers each request on a connection with the same bytes.
func serve(t *testing.T, say []byte, stay bool) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		buffer := make([]byte, 1<<10)
		for {
			if _, err := connection.Read(buffer); err != nil {
				return
			}
			if _, err := connection.Write(say); err != nil || !stay {
				return
			}
		}
	}()
	return listener.Addr().String()
}

// frame is a message around a document; a length of 0 is the true one.
func frame(document []byte, length uint32) []byte {
	if length == 0 {
		length = uint32(headerBytes + sectionBytes + len(document))
	}
	message := binary.LittleEndian.AppendUint32(nil, length)
	for _, field := range []uint32{1, 1, opMessage} {
		message = binary.LittleEndian.AppendUint32(message, field)
	}
	return append(append(message, 0, 0, 0, 0, 0), document...)
}

func document(fields ...[]byte) []byte {
	content := append(bytes.Join(fields, nil), 0)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(4+len(content))), content...)
}

func field(kind byte, name string, value []byte) []byte {
	return append(append([]byte{kind}, name+"\x00"...), value...)
}

func text(content string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(content)+1)), content+"\x00"...)
}
