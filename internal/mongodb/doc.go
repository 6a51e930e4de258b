// SPDX-License-Identifier: Apache-2.0

// Package mongodb talks to mongod and mongos: it dials, runs commands, decodes the answers into plain Go values
// and names the errors that callers decide on. Numbers are taken in whatever type a server version sends them.
// What a server did not answer stays absent, with the reason beside it: it is never turned into a zero.
// The package never forces anything (no forced step down, no forced reconfiguration), never retries an act on
// its own, never reads the clock, and lets no password into an error or a log line.
package mongodb
