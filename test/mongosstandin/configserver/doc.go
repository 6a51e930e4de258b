// SPDX-License-Identifier: Apache-2.0

// Package configserver reaches the real config server replica set behind a stand-in: it finds the primary, dials it,
// authenticates as the cluster's internal user and runs commands. It never decides whether a client may run them.
package configserver
