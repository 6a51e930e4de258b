// SPDX-License-Identifier: Apache-2.0

// Command plugin builds the kubectl plugin for every platform, packs each build into an archive that is the
// same whenever it is made of the same tree, and writes their checksums and the manifest for krew:
//
//	go run ./hack/plugin VERSION DIRECTORY [OS/ARCH ...]
//
// VERSION is a tag such as v0.1.0. Without platforms, all are built.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"
)

// platforms that the manifest lists.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

type platform struct {
	os, arch string
}

func (p platform) archive() string {
	return fmt.Sprintf("kubectl-mongotuning-%s-%s.tar.gz", p.os, p.arch)
}

func (p platform) binary() string {
	if p.os == "windows" {
		return "kubectl-mongotuning.exe"
	}
	return "kubectl-mongotuning"
}

// Files of the tree.
const (
	manifestPath   = ".krew.yaml"
	completionPath = "cmd/kubectl-mongotuning/kubectl_complete-mongotuning"
	licencePath    = "LICENSE"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/plugin VERSION DIRECTORY [OS/ARCH ...]")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "build the plugin:", err)
		os.Exit(1)
	}
}

var tag = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, version, directory string, only []string) error {
	if !tag.MatchString(version) {
		return fmt.Errorf("version %q is not of the form v1.2.3", version)
	}
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // archives are for everybody
		return err
	}
	sums := map[string]string{}
	for _, p := range platforms {
		if len(only) > 0 && !slices.Contains(only, p.os+"/"+p.arch) {
			continue
		}
		packed, err := build(ctx, p, version)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, p.archive()), packed, 0o644); err != nil { //nolint:gosec // archives are for everybody
			return err
		}
		sum := sha256.Sum256(packed)
		sums[p.archive()] = hex.EncodeToString(sum[:])
		fmt.Printf("%s  %s\n", sums[p.archive()], p.archive())
	}
	return describe(directory, version, sums)
}

// build makes the archive of one platform.
func build(ctx context.Context, p platform, version string) ([]byte, error) {
	scratch, err := os.MkdirTemp("", "kubectl-mongotuning")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	binary := filepath.Join(scratch, p.binary())
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w -buildid= -X main.version="+version, "-o", binary, "./cmd/kubectl-mongotuning") //nolint:gosec // our own arguments
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
	}
	files := []packedFile{{p.binary(), binary, 0o755}, {"LICENSE", licencePath, 0o644}}
	if p.os != "windows" {
		files = append(files, packedFile{filepath.Base(completionPath), completionPath, 0o755})
	}
	return pack(files)
}

type packedFile struct {
	name, path string
	mode       int64
}

// pack makes an archive without anything in it that differs from one build to the next.
func pack(files []packedFile) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		content, err := os.ReadFile(file.path)
		if err != nil {
			return nil, err
		}
		head := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(content)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// describe writes the checksums, and the manifest when every platform was built.
func describe(directory, version string, sums map[string]string) error {
	var list strings.Builder
	for _, p := range platforms {
		if sum, built := sums[p.archive()]; built {
			fmt.Fprintf(&list, "%s  %s\n", sum, p.archive())
		}
	}
	if err := os.WriteFile(filepath.Join(directory, "checksums.txt"), []byte(list.String()), 0o644); err != nil { //nolint:gosec // for everybody
		return err
	}
	if len(sums) < len(platforms) {
		return nil
	}
	text, err := os.ReadFile(manifestPath)
	if err != nil {
		return err
	}
	manifest, err := render(string(text), version, sums)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "mongotuning.yaml"), []byte(manifest), 0o644) //nolint:gosec // for everybody
}

// render fills in the manifest as krew-release-bot does, with the checksums of the archives at hand.
func render(text, version string, sums map[string]string) (string, error) {
	functions := template.FuncMap{"addURIAndSha": func(address, tag string) (string, error) {
		address = strings.ReplaceAll(address, "{{ .TagName }}", tag)
		sum, built := sums[address[strings.LastIndex(address, "/")+1:]]
		if !built {
			return "", fmt.Errorf("%s is in the manifest and was not built", address)
		}
		return fmt.Sprintf("uri: %s\n    sha256: %s", address, sum), nil
	}}
	parsed, err := template.New("manifest").Funcs(functions).Parse(text)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", manifestPath, err)
	}
	var filled strings.Builder
	if err := parsed.Execute(&filled, map[string]string{"TagName": version}); err != nil {
		return "", fmt.Errorf("fill in %s: %w", manifestPath, err)
	}
	return filled.String(), nil
}
