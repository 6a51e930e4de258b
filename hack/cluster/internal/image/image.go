// Package image writes an OCI image of one static program, byte for byte the
// same for the same program. It exists so that the cluster's own pause image
// needs neither a registry nor an image builder.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

type object = map[string]any

// Write stores an OCI layout archive whose only layer is the program.
func Write(path, reference, program string) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read program of image %s: %w", reference, err)
	}
	layer, err := archive([]file{{"pause", 0o755, binary}})
	if err != nil {
		return err
	}
	config, err := json.Marshal(object{
		"architecture": runtime.GOARCH, "os": "linux",
		// Not root: a namespace admission level that forbids root also looks at
		// the image of the sandbox's container.
		"config": object{"Entrypoint": []string{"/pause"}, "User": "65535:65535"},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor("application/vnd.oci.image.config.v1+json", config),
		"layers": []object{descriptor("application/vnd.oci.image.layer.v1.tar", layer)},
	})
	if err != nil {
		return err
	}
	entry := descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
	entry["annotations"] = object{"io.containerd.image.name": reference}
	index, err := json.Marshal(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": []object{entry},
	})
	if err != nil {
		return err
	}
	content, err := archive([]file{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, index},
		blob(layer), blob(config), blob(manifest),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

type file struct {
	name    string
	mode    int64
	content []byte
}

func blob(content []byte) file {
	return file{"blobs/sha256/" + digest(content)[len("sha256:"):], 0o644, content}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func descriptor(mediaType string, content []byte) object {
	return object{"mediaType": mediaType, "digest": digest(content), "size": len(content)}
}

// archive leaves all times at zero; they would change the digest.
func archive(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
