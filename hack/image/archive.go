// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageNameAnnotation is where containerd's importer looks for an image's full reference.
const imageNameAnnotation = "io.containerd.image.name"

// buildImage makes an image of the layers for one platform.
func buildImage(platform v1.Platform, config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(image, layers...)
	if err != nil {
		return nil, fmt.Errorf("append the layers: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's configuration: %w", err)
	}
	file = file.DeepCopy()
	file.Created = v1.Time{Time: epoch}
	file.OS, file.Architecture, file.Variant = platform.OS, platform.Architecture, platform.Variant
	file.Config = config
	file.History = nil
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, fmt.Errorf("set the image's configuration: %w", err)
	}
	return image, nil
}

// writeArchive writes what has been built, an image or an index of images, as an OCI layout in a tar that carries its reference.
func writeArchive(target, reference string, built mutate.Appendable) error {
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add:        built,
		Descriptor: v1.Descriptor{Annotations: map[string]string{imageNameAnnotation: reference}},
	})
	// Beside the target, not in the system's temporary directory, which is often small.
	directory, err := os.MkdirTemp(filepath.Dir(target), ".layout-")
	if err != nil {
		return fmt.Errorf("create a directory for the layout: %w", err)
	}
	defer os.RemoveAll(directory)
	if _, err := layout.Write(directory, index); err != nil {
		return fmt.Errorf("write the layout of %s: %w", reference, err)
	}
	return writeTar(target, directory)
}

// writeTar packs a directory; the target appears only when it is complete.
func writeTar(target, directory string) error {
	entries, err := entriesBelow(directory)
	if err != nil {
		return fmt.Errorf("list the layout: %w", err)
	}
	temporary := target + ".partial"
	file, err := os.Create(temporary)
	if err != nil {
		return fmt.Errorf("create the archive: %w", err)
	}
	defer os.Remove(temporary)
	if err := writeEntries(file, withParents(entries)); err != nil {
		file.Close()
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return os.Rename(temporary, target)
}

// entriesBelow lists a directory's files, all with the same mode, so that the umask of the build does not show in the archive.
func entriesBelow(directory string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(directory, func(path string, item fs.DirEntry, err error) error {
		if err != nil || item.IsDir() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		entries = append(entries, fileFrom(filepath.ToSlash(name), 0o644, path))
		return err
	})
	return entries, err
}
