// SPDX-License-Identifier: Apache-2.0

// Package matrix tries every row of the knob catalogue on real mongod processes of every line that can
// be had, and keeps the tables in docs/ that say what was found. Its tests have the build tag mongod.
package matrix
