// SPDX-License-Identifier: Apache-2.0

package controllers

// Credentials are what Databases need to be let in with. Their contents are reached by methods only, so
// that printing them by chance takes an intent.
type Credentials = secrets

// KeyFileID names the members' key file without giving it away.
func (s secrets) KeyFileID() string { return s.keyFileID() }

// OperatorPassword is the password of the operator's own user.
func (s secrets) OperatorPassword() string { return s.operator.password }

// AppPassword is the password of the application's user.
func (s secrets) AppPassword() string { return s.app.password }
