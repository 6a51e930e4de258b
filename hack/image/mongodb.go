// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	mongoDBRepository = "docker.io/mongotuning/mongodb-test"
	// mongoDBUser is uid and gid of mongodb, the same as in MongoDB's own image: manifests work with either.
	mongoDBUser = 999
	searchPath  = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// applets are the busybox commands that the image has by name; every other is there as "busybox NAME".
var applets = []string{
	"awk", "cat", "chmod", "chown", "cp", "cut", "date", "df", "dirname", "du", "echo", "env", "false", "find", "grep", "head",
	"hostname", "id", "ip", "kill", "ln", "ls", "mkdir", "mv", "nc", "nslookup", "ps", "readlink", "rm", "sed", "seq", "sh",
	"sleep", "sort", "stat", "sync", "sysctl", "tail", "tee", "test", "timeout", "top", "touch", "tr", "true", "uname", "vi", "wc",
}

// mongoDBParts are the files of this machine that the test image is made of.
type mongoDBParts struct {
	mongod    string
	mongos    string // optional: the stand-in that the tests use in place of a mongos server
	busybox   string
	libraries []string // with the loader, each where this machine has it
}

// buildMongoDB writes the test image of one MongoDB version and returns its reference.
//
// It is a fixture for tests on this machine and its cluster, never published: MongoDB servers are under the SSPL.
func buildMongoDB(ctx context.Context, version, target, mongos string) (string, error) {
	parts, err := gatherMongoDB(ctx, version)
	if err != nil {
		return "", err
	}
	parts.mongos = mongos
	image, err := mongoDBImage(parts)
	if err != nil {
		return "", fmt.Errorf("build the MongoDB %s image: %w", version, err)
	}
	reference := mongoDBRepository + ":" + version
	progress("writing %s", target)
	return reference, writeArchive(target, reference, image)
}

// gatherMongoDB finds the parts, fetching what is not there.
func gatherMongoDB(ctx context.Context, version string) (mongoDBParts, error) {
	directory, err := ensureServer(ctx, version)
	if err != nil {
		return mongoDBParts{}, err
	}
	libraries, err := serverLibraries(ctx, directory)
	if err != nil {
		return mongoDBParts{}, err
	}
	busybox, err := ensureBusybox(ctx)
	if err != nil {
		return mongoDBParts{}, err
	}
	return mongoDBParts{
		mongod:    filepath.Join(directory, "libexec", "mongod"),
		busybox:   busybox,
		libraries: append(libraries, nameServiceLibraries(libraries)...),
	}, nil
}

// mongoDBImage puts the parts together in three layers, so that the big ones stay the same when only the mongos stand-in changes.
func mongoDBImage(parts mongoDBParts) (v1.Image, error) {
	base, err := baseEntries(parts)
	if err != nil {
		return nil, err
	}
	contents := [][]entry{base, {fileFrom("usr/bin/mongod", 0o755, parts.mongod)}}
	if parts.mongos != "" {
		contents = append(contents, []entry{fileFrom("usr/bin/mongos", 0o755, parts.mongos)})
	}
	layers := make([]v1.Layer, 0, len(contents))
	for _, entries := range contents {
		layer, err := buildLayer(entries)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return buildImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{
		User:       fmt.Sprint(mongoDBUser),
		Env:        []string{"PATH=" + searchPath},
		Cmd:        []string{"mongod"},
		WorkingDir: "/",
	}, layers...)
}

// baseEntries are the image without its servers: a shell, the libraries, the users and the directories a server writes to.
func baseEntries(parts mongoDBParts) ([]entry, error) {
	libraries, err := libraryEntries(parts.libraries)
	if err != nil {
		return nil, err
	}
	entries := append(libraries,
		fileFrom("bin/busybox", 0o755, parts.busybox),
		fileWith("etc/passwd", 0o644, "root:x:0:0:root:/root:/bin/sh\nmongodb:x:999:999:mongodb:/data/db:/bin/sh\n"),
		fileWith("etc/group", 0o644, "root:x:0:\nmongodb:x:999:\n"),
		// Without it the resolver's default asks DNS before /etc/hosts, where the pod's own name is.
		fileWith("etc/nsswitch.conf", 0o644, "passwd: files\ngroup: files\nhosts: files dns\n"),
		directory("root", 0o700, 0),
		directory("tmp", 0o1777, 0),
		directory("data/db", 0o755, mongoDBUser),
		directory("data/configdb", 0o755, mongoDBUser),
	)
	for _, applet := range applets {
		entries = append(entries, symlink("bin/"+applet, "busybox"))
	}
	return entries, nil
}

// libraryEntries puts every library where this machine has its C library. That directory is built into the loader, which comes
// from this machine too, so the server finds its libraries by a plain exec and without a loader cache.
func libraryEntries(libraries []string) ([]entry, error) {
	var standard string
	for _, library := range libraries {
		if path.Base(library) == "libc.so.6" {
			standard = strings.TrimPrefix(path.Dir(library), "/")
		}
	}
	if standard == "" {
		return nil, fmt.Errorf("the C library is not among the server's libraries: %s", strings.Join(libraries, ", "))
	}
	entries := make([]entry, 0, len(libraries))
	for _, library := range libraries {
		inImage := path.Join(standard, path.Base(library))
		if strings.HasPrefix(path.Base(library), "ld-linux") {
			inImage = strings.TrimPrefix(library, "/") // the one path that is written in the binary
		}
		entries = append(entries, fileFrom(inImage, 0o755, library))
	}
	return entries, nil
}

// nameServiceLibraries are loaded by name at the first look-up of a host, so ldd does not list them. A recent C library (2.34)
// has them built in.
func nameServiceLibraries(libraries []string) []string {
	var found []string
	for _, library := range libraries {
		if path.Base(library) != "libc.so.6" {
			continue
		}
		for _, name := range []string{"libnss_dns.so.2", "libnss_files.so.2"} {
			if candidate := path.Join(path.Dir(library), name); isRegular(candidate) {
				found = append(found, candidate)
			}
		}
	}
	return found
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
