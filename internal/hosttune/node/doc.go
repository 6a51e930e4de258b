// SPDX-License-Identifier: Apache-2.0

// Package node tunes the node it runs on: it reads what is in force, decides with package hosttune what
// should be, writes, and reads back. What it found first, and who wants what, it keeps in a file on the
// node before it writes anything else. It never runs a program, and writes nothing outside of /proc/sys
// and /sys, the state directory and, for the write probe, the data volume.
package node
