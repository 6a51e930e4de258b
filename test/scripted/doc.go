// SPDX-License-Identifier: Apache-2.0

// Package scripted plays mongod and mongos processes in memory, and the Kubernetes around them, so that
// decisions can be tested to their end in microseconds. Servers keep what a real volume keeps (the
// configuration of the replica set and its users), take their values from the file they were started
// with, elect a primary when a majority runs, and forget what was set online when they end. What a real
// server answers is shown by the tests that run real servers; this package only has to agree with them.
package scripted
