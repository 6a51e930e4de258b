// SPDX-License-Identifier: Apache-2.0

// Package router answers clients as mongos would, as far as building and watching a cluster asks for it: it passes
// logins, users and the config database on to the real config server primary, decides by the real server's word who
// may run a sharding command, and speaks for itself about its own options. It never routes user data and never claims
// to: what it cannot do honestly it refuses.
package router
