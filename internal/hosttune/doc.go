// SPDX-License-Identifier: Apache-2.0

// Package hosttune is the language in which the operator and a node speak about host settings: what is
// wanted (Settings, in a ConfigMap), what was found and done (Report, in a termination message), and
// what is in force now (Reading, from the reader in the pod). It also holds the rules that need no
// node: which sysctls may be set, how masks and CPU lists are written, and which of several owners of
// one setting gets its way. It is pure; package node acts.
package hosttune
