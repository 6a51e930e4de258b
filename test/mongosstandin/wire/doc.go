// SPDX-License-Identifier: Apache-2.0

// Package wire reads and writes the frames of the MongoDB wire protocol that a router meets: OP_MSG, and the
// OP_QUERY and OP_REPLY pair that drivers still use for their first greeting. It owns framing only and never decides
// what a command means.
package wire
