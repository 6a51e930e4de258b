// SPDX-License-Identifier: Apache-2.0

// Package servers runs real mongod processes on loopback for tests: alone or as replica sets, with key files and
// configuration files, in several versions. A server that cannot be had fails the test, it never skips it. Every
// process is ended with its test by the process id that was recorded at its start.
package servers
