// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	operatorRepository = "docker.io/mongotuning/operator"
	// operatorUser is distroless's nonroot, as in the Dockerfile; the numbers let the kubelet check runAsNonRoot.
	operatorUser = "65532:65532"
	// operatorPasswd gives the user its group: the kubelet hands on the user alone, and a user without an entry runs in root's group.
	operatorPasswd = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
	operatorGroup  = "root:x:0:\nnonroot:x:65532:\n"
	// digestInTag is how much of the image's digest the tag shows: enough that two builds of a day do not meet.
	digestInTag = 12
)

// caBundles are where the usual distributions keep the CA certificates; the image has them where Go looks first.
var caBundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}

// A platformImage is the operator image for one platform.
type platformImage struct {
	platform v1.Platform
	image    v1.Image
}

// buildOperator writes the operator image of one static binary per platform and returns its reference. The tag is the content's
// digest, so a changed binary is a changed tag: a node never runs a stale image, and pull policy IfNotPresent is right.
func buildOperator(binaries []string, target string) (string, error) {
	certificates := firstExisting(caBundles)
	if certificates == "" {
		progress("no CA bundle on this machine: the operator image goes without one")
	}
	images := make([]platformImage, 0, len(binaries))
	for _, binary := range binaries {
		built, err := operatorImage(binary, certificates)
		if err != nil {
			return "", err
		}
		images = append(images, built)
	}
	combined, err := combine(images)
	if err != nil {
		return "", err
	}
	digest, err := combined.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the image's digest: %w", err)
	}
	reference := operatorRepository + ":dev-" + digest.Hex[:digestInTag]
	return reference, writeArchive(target, reference, combined)
}

func operatorImage(binary, certificates string) (platformImage, error) {
	platform, err := staticPlatform(binary)
	if err != nil {
		return platformImage{}, err
	}
	entries := []entry{
		fileFrom("mongotuning", 0o755, binary),
		fileWith("etc/passwd", 0o644, operatorPasswd),
		fileWith("etc/group", 0o644, operatorGroup),
	}
	if certificates != "" {
		entries = append(entries, fileFrom("etc/ssl/certs/ca-certificates.crt", 0o644, certificates))
	}
	layer, err := buildLayer(entries)
	if err != nil {
		return platformImage{}, err
	}
	image, err := buildImage(platform, v1.Config{User: operatorUser, Entrypoint: []string{"/mongotuning"}, WorkingDir: "/"}, layer)
	return platformImage{platform: platform, image: image}, err
}

// combine returns a lone image as it is and several as an index, in an order that the command line has no part in.
func combine(images []platformImage) (mutate.Appendable, error) {
	if len(images) == 1 {
		return images[0].image, nil
	}
	images = slices.SortedFunc(slices.Values(images), func(a, b platformImage) int {
		return cmp.Compare(a.platform.Architecture, b.platform.Architecture)
	})
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, built := range images {
		if i > 0 && built.platform.Equals(images[i-1].platform) {
			return nil, fmt.Errorf("two of the binaries are for %s", built.platform)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        built.image,
			Descriptor: v1.Descriptor{Platform: &built.platform},
		})
	}
	return index, nil
}

// staticPlatform reads from a binary what it runs on. A dynamically linked one is refused: the image has no loader, and the pod's
// "no such file or directory" would say nothing about the cause.
func staticPlatform(binary string) (v1.Platform, error) {
	file, err := elf.Open(binary)
	if err != nil {
		return v1.Platform{}, fmt.Errorf("read the binary %s: %w", binary, err)
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return v1.Platform{}, fmt.Errorf("%s is dynamically linked: build it with CGO_ENABLED=0", binary)
		}
	}
	switch file.Machine {
	case elf.EM_X86_64:
		return v1.Platform{OS: "linux", Architecture: "amd64"}, nil
	case elf.EM_AARCH64:
		return v1.Platform{OS: "linux", Architecture: "arm64"}, nil
	default:
		return v1.Platform{}, fmt.Errorf("%s is for %s, the operator image for amd64 and arm64", binary, file.Machine)
	}
}

func firstExisting(paths []string) string {
	for _, path := range paths {
		if isRegular(path) {
			return path
		}
	}
	return ""
}
