// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the modification time of everything in an image and an archive: a clock reading would make every build another image.
var epoch = time.Unix(0, 0).UTC()

// An entry is one path of a layer. Exactly one of source, content and link is set; a directory has none of them.
type entry struct {
	path    string // in the image, without a leading slash
	mode    int64
	owner   int    // user and group id
	source  string // a file of this machine
	content string
	link    string // the target of a symbolic link
}

func directory(path string, mode int64, owner int) entry {
	return entry{path: path, mode: mode, owner: owner}
}

func fileFrom(path string, mode int64, source string) entry {
	return entry{path: path, mode: mode, source: source}
}

func fileWith(path string, mode int64, content string) entry {
	return entry{path: path, mode: mode, content: content}
}

func symlink(path, target string) entry { return entry{path: path, mode: 0o777, link: target} }

// buildLayer makes one layer of the entries. Their order does not matter; parents that are not named are root's, mode 0755.
func buildLayer(entries []entry) (v1.Layer, error) {
	all := withParents(entries)
	// Written anew whenever it is read: a server's layer is too big to be held in memory beside its compressed form.
	open := func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(writeEntries(writer, all)) }()
		return reader, nil
	}
	// The fastest compression: a test image is built far more often than it is carried anywhere.
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("build a layer: %w", err)
	}
	return layer, nil
}

// withParents adds the missing parent directories and sorts by path, which puts each parent before what is in it.
func withParents(entries []entry) []entry {
	known := map[string]bool{".": true}
	for _, e := range entries {
		known[e.path] = true
	}
	all := slices.Clone(entries)
	for _, e := range entries {
		for parent := path.Dir(e.path); !known[parent]; parent = path.Dir(parent) {
			known[parent] = true
			all = append(all, directory(parent, 0o755, 0))
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all
}

// writeEntries writes a tar of the entries in their order.
func writeEntries(out io.Writer, entries []entry) error {
	writer := tar.NewWriter(out)
	for _, e := range entries {
		if err := writeEntry(writer, e); err != nil {
			return fmt.Errorf("write %s: %w", e.path, err)
		}
	}
	return writer.Close()
}

func writeEntry(writer *tar.Writer, e entry) error {
	header := &tar.Header{Name: e.path, Mode: e.mode, Uid: e.owner, Gid: e.owner, ModTime: epoch, Format: tar.FormatPAX}
	var content io.Reader = strings.NewReader(e.content)
	switch {
	case e.link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.link
	case e.source != "":
		file, err := os.Open(e.source)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		header.Typeflag, header.Size, content = tar.TypeReg, info.Size(), file
	case e.content != "":
		header.Typeflag, header.Size = tar.TypeReg, int64(len(e.content))
	default:
		header.Typeflag, header.Name = tar.TypeDir, e.path+"/"
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(writer, content)
	return err
}
