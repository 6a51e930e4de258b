// SPDX-License-Identifier: Apache-2.0

package hosttune

import "time"

// NodeVariable is the environment variable with the name of the node, in every container that runs
// host-tune.
const NodeVariable = "NODE_NAME"

// ClearanceWait is how long apply waits for the settings of its node to appear. A pod that lands on a
// node for the first time has to wait until the operator has recorded the node; that takes seconds. When
// the operator is away the wait ends, nothing is written on the node, the report says so, and OnFailure
// of the container's arguments decides whether the server may start.
const ClearanceWait = 3 * time.Minute

// ReleasedKey is the key of the ConfigMap that says that nobody tunes nodes any more. Members that start
// from then on, those of an orphaned cluster, wait for nothing and write nothing.
const ReleasedKey = "released"

// Paths inside the containers that run host-tune. All of them get the ConfigMap with SettingsKey of
// each node below SettingsDirectory. Those that act (apply, restore) run privileged as root and get three host paths:
// /proc and /sys below HostRoot, and the state directory. They need no hostPID and no hostNetwork: what
// belongs to another namespace is reached through the host's /proc. The reader (serve) runs without any
// right and gets /proc and /sys below HostRoot read-only; without them it sees less, and says so.
const (
	// SettingsDirectory is where the ConfigMap is mounted, as a directory: a later change arrives there.
	SettingsDirectory = "/etc/mongotuning/host"
	// HostRoot is where the host's /proc and /sys are mounted.
	HostRoot = "/host"
	// StateDirectory is the path on the node where originals and claims are kept.
	StateDirectory = "/var/lib/mongotuning"
	// StateMount is where StateDirectory is mounted.
	StateMount = HostRoot + StateDirectory
	// ReadingPath is the path under which the reader serves a Reading as JSON.
	ReadingPath = "/reading"
	// ReaderPort is the port of the reader unless another one is chosen.
	ReaderPort = 9217
)

// Exit codes of host-tune apply and restore.
const (
	// ExitTuned says that nothing failed, or that failures are to be reported only.
	ExitTuned = 0
	// ExitRefused says that something failed and OnFailure is Block, or, for restore, that something
	// could not be put back. A command line that is not understood ends so, too.
	ExitRefused = 1
)
