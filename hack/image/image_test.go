// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// writeELF makes the smallest file that is recognised as a static binary of a machine; body tells two of them apart.
func writeELF(t *testing.T, machine elf.Machine, interpreter bool, body string) string {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64}
	copy(header.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}))
	var content bytes.Buffer
	if interpreter {
		header.Phoff, header.Phentsize, header.Phnum = 64, 56, 1
	}
	err := binary.Write(&content, binary.LittleEndian, header)
	if interpreter {
		err = errors.Join(err, binary.Write(&content, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_INTERP)}))
	}
	content.WriteString(body)
	path := filepath.Join(t.TempDir(), "binary")
	if err := errors.Join(err, os.WriteFile(path, content.Bytes(), 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestTheOperatorImageIsItsContent(t *testing.T) {
	amd64 := writeELF(t, elf.EM_X86_64, false, "one")
	arm64 := writeELF(t, elf.EM_AARCH64, false, "one")
	changed := writeELF(t, elf.EM_X86_64, false, "two")
	build := func(binaries ...string) (string, []byte) {
		target := filepath.Join(t.TempDir(), "operator.tar")
		reference, err := buildOperator(binaries, target)
		if err != nil {
			t.Fatal(err)
		}
		return reference, readFile(t, target)
	}

	reference, archive := build(amd64, arm64)
	// Everything that is not content changes: the order, the files' times and the umask.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(amd64, later, later); err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0o077))
	again, archiveAgain := build(arm64, amd64)
	if reference != again || !bytes.Equal(archive, archiveAgain) {
		t.Errorf("two builds of the same binaries differ: %s and %s", reference, again)
	}
	if !strings.HasPrefix(reference, "docker.io/mongotuning/operator:dev-") || len(reference) != len("docker.io/mongotuning/operator:dev-")+12 {
		t.Errorf("the reference is %s", reference)
	}
	if !bytes.Contains(archive, []byte(`"io.containerd.image.name":"`+reference+`"`)) {
		t.Error("the archive does not carry its reference")
	}
	if other, _ := build(changed, arm64); other == reference {
		t.Error("a changed binary has the same tag")
	}
}

func TestTheOperatorImageNamesItsUser(t *testing.T) {
	built, err := operatorImage(writeELF(t, elf.EM_AARCH64, false, ""), "")
	if err != nil {
		t.Fatal(err)
	}
	headers := headersOf(t, built.image)
	if program := headers["mongotuning"]; program == nil || program.Mode != 0o755 {
		t.Errorf("the program is %v", program)
	}
	if headers["etc/passwd"] == nil || !strings.Contains(operatorPasswd, ":"+operatorUser+":") {
		t.Errorf("no entry for %s: the kubelet would run it in root's group", operatorUser)
	}
	config, err := built.image.ConfigFile()
	if err != nil || config.Architecture != "arm64" || config.Config.User != operatorUser {
		t.Errorf("configuration is %+v, error %v", config, err)
	}
}

// An importer reads the archive, so it is judged as it was written: every blob against its digest and size.
func TestAnArchiveIsAValidLayout(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "operator.tar")
	binaries := []string{writeELF(t, elf.EM_X86_64, false, ""), writeELF(t, elf.EM_AARCH64, false, "")}
	if _, err := buildOperator(binaries, archive); err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	reader := tar.NewReader(bytes.NewReader(readFile(t, archive)))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if err := writeFile(filepath.Join(directory, header.Name), reader, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	index, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}

func TestTheOperatorImageRefusesWhatCannotRun(t *testing.T) {
	amd64 := writeELF(t, elf.EM_X86_64, false, "")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name     string
		binaries []string
		want     string
	}{
		{"a dynamically linked binary", []string{writeELF(t, elf.EM_X86_64, true, "")}, "dynamically linked"},
		{"another machine", []string{writeELF(t, elf.EM_RISCV, false, "")}, "for amd64 and arm64"},
		{"one platform twice", []string{amd64, amd64}, "two of the binaries are for linux/amd64"},
		{"no binary", []string{script}, "read the binary"},
	} {
		t.Run(row.name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "operator.tar")
			_, err := buildOperator(row.binaries, target)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want %q in it", err, row.want)
			}
			if exists(target) {
				t.Error("a refused build left an archive")
			}
		})
	}
}

// mongoDBFixture is the test image's parts with small files in the place of the real ones.
func mongoDBFixture(t *testing.T) mongoDBParts {
	t.Helper()
	root := t.TempDir()
	file := func(path string) string {
		path = filepath.Join(root, path)
		if err := writeFile(path, strings.NewReader(path[len(root):]), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return mongoDBParts{
		mongod:  file("libexec/mongod"),
		mongos:  file("mongos"),
		busybox: file("busybox"),
		libraries: []string{
			file("cache/libssl.so.1.1"), file("lib/libc.so.6"), file("lib64/ld-linux-x86-64.so.2"),
		},
	}
}

func TestTheMongoDBImageIsComplete(t *testing.T) {
	parts := mongoDBFixture(t)
	image, err := mongoDBImage(parts)
	if err != nil {
		t.Fatal(err)
	}
	headers := headersOf(t, image)
	standard := strings.TrimPrefix(filepath.Dir(parts.libraries[1]), "/")
	loader := strings.TrimPrefix(parts.libraries[2], "/")
	for _, path := range []string{
		"usr/bin/mongod", "usr/bin/mongos", "bin/busybox", "etc/nsswitch.conf", "etc/passwd",
		standard + "/libc.so.6", standard + "/libssl.so.1.1", loader,
	} {
		if headers[path] == nil {
			t.Errorf("%s is not in the image", path)
		}
	}
	if shell := headers["bin/sh"]; shell == nil || shell.Linkname != "busybox" {
		t.Errorf("the shell is %v", shell)
	}
	if data := headers["data/db"]; data == nil || data.Uid != 999 || data.Gid != 999 {
		t.Errorf("the data directory is %v", data)
	}
	if tmp := headers["tmp"]; tmp == nil || tmp.Mode != 0o1777 {
		t.Errorf("/tmp is %v", tmp)
	}
	for path, header := range headers {
		if !header.ModTime.Equal(epoch) {
			t.Errorf("%s has the time %s", path, header.ModTime)
		}
	}
	config, err := image.ConfigFile()
	if err != nil || config.Config.User != "999" || !config.Created.Equal(epoch) {
		t.Errorf("configuration is %+v, error %v", config, err)
	}
}

func TestTheMongoDBImageIsReproducible(t *testing.T) {
	parts := mongoDBFixture(t)
	var archives [2][]byte
	for i := range archives {
		image, err := mongoDBImage(parts)
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(t.TempDir(), "mongodb.tar")
		if err := writeArchive(target, "docker.io/mongotuning/mongodb-test:0", image); err != nil {
			t.Fatal(err)
		}
		archives[i] = readFile(t, target)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two builds of the same parts differ")
	}
}

// headersOf lists an image's file system, all layers together.
func headersOf(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	flat := mutate.Extract(image)
	defer flat.Close()
	headers := map[string]*tar.Header{}
	reader := tar.NewReader(flat)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[header.Name] = header
	}
}

func TestALayerHasEachPathOnceAndParentsFirst(t *testing.T) {
	var names []string
	for _, e := range withParents([]entry{fileWith("b/c/d", 0o644, "x"), fileWith("b/a", 0o644, "x"), directory("b", 0o700, 7)}) {
		names = append(names, e.path)
	}
	if got := strings.Join(names, " "); got != "b b/a b/c b/c/d" {
		t.Errorf("paths are %q", got)
	}
}

func TestPathsOnTheCommandLineAreAbsolute(t *testing.T) {
	for _, args := range [][]string{{"operator", "bin/x", "/out.tar"}, {"mongodb", "4.4.2", "out.tar"}, {"mongodb"}, {}, {"push", "x"}} {
		if err := run(t.Context(), args, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q is answered with %v", args, err)
		}
	}
}
