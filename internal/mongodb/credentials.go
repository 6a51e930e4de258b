// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"encoding/json"
	"strings"
	"unicode"
)

// mechanism is the only one used: every supported server has it, and created users get no other credentials.
const mechanism = "SCRAM-SHA-256"

// Credentials say as whom a connection authenticates. The zero value means not at all. The password appears in
// no textual form of the value.
type Credentials struct {
	// Username of the user.
	Username string
	// Password in clear text.
	Password string
	// Source is the database that the user is stored in.
	Source string
}

// MemberIdentity is the identity that the members of a cluster use among themselves. It may do anything, so it
// serves bootstrap and repair only. The whitespace of the key file is dropped as mongod does.
func MemberIdentity(keyFile []byte) Credentials {
	key := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, string(keyFile))
	return Credentials{Username: "__system", Password: key, Source: "local"}
}

// String names the user and its database.
func (c Credentials) String() string {
	if c.Username == "" {
		return "nobody"
	}
	return c.Username + "@" + c.Source
}

// GoString is String, so that no verb of fmt prints the password.
func (c Credentials) GoString() string { return c.String() }

// MarshalJSON returns String as JSON, so that a structured log shows no password.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }
