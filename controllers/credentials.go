// SPDX-License-Identifier: Apache-2.0

package controllers

// Credentials are what servers let the operator in with.
type Credentials = secrets

// KeyFileID names the members' key file without giving it away.
func (s secrets) KeyFileID() string { return s.keyFileID() }

// OperatorPassword is the password of the operator's own user.
func (s secrets) OperatorPassword() string { return s.operator.password }

// AppPassword is the password of the application's user.
func (s secrets) AppPassword() string { return s.app.password }
