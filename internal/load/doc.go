// SPDX-License-Identifier: Apache-2.0

// Package load puts a measured load on a MongoDB cluster and tells what it did: operations per second, latencies
// that do not leave out what a stalled server kept from being asked, errors by their kind, and whether every write
// that was acknowledged is still there. It works in collections of its own and removes them. It decides nothing
// about tuning, and the operator never runs it.
package load
