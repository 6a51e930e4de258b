// SPDX-License-Identifier: Apache-2.0

// Package options reads the arguments and the configuration file of a mongos and refuses what mongos refuses. It also
// knows the server parameters the stand-in stores; it never acts on any of them.
package options
