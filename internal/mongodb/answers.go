// SPDX-License-Identifier: Apache-2.0

package mongodb

// Hello is how a server introduces itself.
type Hello struct {
	// IsPrimary tells that the member takes writes; a mongos and a standalone mongod say so as well.
	IsPrimary bool
	// IsSecondary tells that the member is a secondary.
	IsSecondary bool
	// IsMongos tells that the server is a mongos.
	IsMongos bool
	// IsConfigServer tells that the member is started as a config server.
	IsConfigServer bool
	// IsUninitialized tells that the member is started for a replica set and has no configuration.
	IsUninitialized bool
	// ReplicaSet is the name of the set, empty outside of one.
	ReplicaSet string
	// Me is the member's own address in the configuration.
	Me string
	// Primary is the address of the primary, empty when the member knows of none.
	Primary string
	// Hosts are the addresses of the members that bear data and are not hidden.
	Hosts []string
}

// BuildInfo is what the server was built from.
type BuildInfo struct {
	// Version is the release, such as 4.4.2.
	Version string
}

// CommandLine is what a process was started with. The server blots passwords out of it.
type CommandLine struct {
	// Parsed is the configuration file and the command line together, by the names of the configuration file.
	Parsed map[string]any
	// Arguments are those of the command line.
	Arguments []string
}

// Parameters are the values of server parameters by name.
type Parameters map[string]any

func helloOf(d document) Hello {
	return Hello{
		IsPrimary:       d.is("isWritablePrimary") || d.is("ismaster"),
		IsSecondary:     d.is("secondary"),
		IsMongos:        d.word("msg") == "isdbgrid",
		IsConfigServer:  d.number("configsvr") != nil,
		IsUninitialized: d.is("isreplicaset"),
		ReplicaSet:      d.word("setName"),
		Me:              d.word("me"),
		Primary:         d.word("primary"),
		Hosts:           d.words("hosts"),
	}
}
