// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// plugin is a manifest as krew's index takes it; fields that it does not know are refused.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string           `json:"version"`
		Homepage         string           `json:"homepage"`
		ShortDescription string           `json:"shortDescription"`
		Description      string           `json:"description"`
		Caveats          string           `json:"caveats"`
		Platforms        []pluginPlatform `json:"platforms"`
	} `json:"spec"`
}

type pluginPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
	Files  []struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"files"`
}

func sums() map[string]string {
	all := map[string]string{}
	for _, p := range platforms {
		all[p.archive()] = strings.Repeat("0f", 32)
	}
	return all
}

func rendered(t *testing.T) plugin {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", manifestPath))
	if err != nil {
		t.Fatal(err)
	}
	filled, err := render(string(text), "v1.2.3", sums())
	if err != nil {
		t.Fatal(err)
	}
	var read plugin
	if err := yaml.UnmarshalStrict([]byte(filled), &read); err != nil {
		t.Fatalf("%v in\n%s", err, filled)
	}
	return read
}

// TestManifestIsWhatKrewTakes holds the manifest to the rules of krew's index: kebab-case name, a version with
// v, a short description that fits in a column, https, checksums, and one entry for each platform.
func TestManifestIsWhatKrewTakes(t *testing.T) {
	manifest := rendered(t)
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" || manifest.Metadata.Name != "mongotuning" || manifest.Spec.Version != "v1.2.3" {
		t.Errorf("%+v", manifest)
	}
	short := manifest.Spec.ShortDescription
	if short == "" || len(short) > 50 || strings.HasSuffix(short, ".") || manifest.Spec.Description == "" {
		t.Errorf("short description %q of %d letters, description %q", short, len(short), manifest.Spec.Description)
	}
	var found []platform
	for _, entry := range manifest.Spec.Platforms {
		expectEntry(t, entry)
		found = append(found, platform{entry.Selector.MatchLabels["os"], entry.Selector.MatchLabels["arch"]})
	}
	if !slices.Equal(found, platforms) {
		t.Errorf("platforms %v, built are %v", found, platforms)
	}
}

// expectEntry holds what the manifest says of one platform.
func expectEntry(t *testing.T, entry pluginPlatform) {
	t.Helper()
	p := platform{entry.Selector.MatchLabels["os"], entry.Selector.MatchLabels["arch"]}
	address, err := url.Parse(entry.URI)
	if err != nil || address.Scheme != "https" || !strings.HasSuffix(address.Path, "/v1.2.3/"+p.archive()) {
		t.Errorf("%v: %s", p, entry.URI)
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(entry.SHA256) || entry.Bin != p.binary() {
		t.Errorf("%v: checksum %q, program %q", p, entry.SHA256, entry.Bin)
	}
	var files []string
	for _, file := range entry.Files {
		files = append(files, file.From)
		if file.To != "." {
			t.Errorf("%v: %s goes to %s", p, file.From, file.To)
		}
	}
	if !slices.Contains(files, entry.Bin) || !slices.Contains(files, "LICENSE") {
		t.Errorf("%v: files %v", p, files)
	}
}

func TestAPlatformThatWasNotBuiltIsNoticed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", manifestPath))
	if err != nil {
		t.Fatal(err)
	}
	some := sums()
	delete(some, platforms[2].archive())
	if _, err := render(string(text), "v1.2.3", some); err == nil || !strings.Contains(err.Error(), platforms[2].archive()) {
		t.Errorf("got %v", err)
	}
}

func TestVersionsThatAreNone(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3;rm"} {
		if err := run(t.Context(), version, t.TempDir(), nil); err == nil {
			t.Errorf("%q is taken", version)
		}
	}
}

// TestArchivesAreReproducible packs the same files twice, and looks into the archive.
func TestArchivesAreReproducible(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []packedFile{{"kubectl-mongotuning", file, 0o755}, {"LICENSE", filepath.Join("..", "..", licencePath), 0o644}}
	once, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	twice, err := pack(files)
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("two archives of the same files differ (%v)", err)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(once))
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for archive := tar.NewReader(compressed); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[head.Name] = head.Mode
	}
	if modes["kubectl-mongotuning"] != 0o755 || modes["LICENSE"] != 0o644 || len(modes) != 2 {
		t.Errorf("packed %v", modes)
	}
}
