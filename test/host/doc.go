// SPDX-License-Identifier: Apache-2.0

// Package host tunes the machine it runs on, for real, and puts it back: each test compares what the
// kernel says before and after. It needs root. Its only interface of the machine is a pair that it makes
// itself, and its only pod is a process in a network namespace of its own.
package host
