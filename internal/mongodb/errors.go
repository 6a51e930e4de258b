// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// The errors that callers tell apart with errors.Is. The text of an error is the server's or the driver's.
var (
	// ErrNotInitialized is a member that has no replica set configuration (94). A member of a set answers the same
	// for a moment while it starts.
	ErrNotInitialized = errors.New("replica set is not initialized")
	// ErrAlreadyInitialized is a replica set that exists (23): initiating twice is harmless.
	ErrAlreadyInitialized = errors.New("replica set is already initialized")
	// ErrAuthenticationFailed is a user that is unknown, or known with another password (18, 334).
	ErrAuthenticationFailed = errors.New("authentication failed")
	// ErrUnauthorized is a user without the right to this command (13).
	ErrUnauthorized = errors.New("not authorized")
	// ErrExceededTimeLimit is an act the server gave up in time (262), above all a step down for which no
	// electable secondary was caught up: the primary stayed.
	ErrExceededTimeLimit = errors.New("exceeded the server's time limit")
	// ErrNotPrimary is an act that only a primary performs (10107 and its kin).
	ErrNotPrimary = errors.New("not primary")
	// ErrBadValue is a value that the server refuses (2, 14, 72, 51024).
	ErrBadValue = errors.New("value refused")
	// ErrUnknownCommand is a command that this server version does not have (59).
	ErrUnknownCommand = errors.New("unknown command")
	// ErrConfigChanged is a replica set configuration that is older than the one in force (103), or one in motion
	// (109): read it again and retry.
	ErrConfigChanged = errors.New("replica set configuration is in conflict")
	// ErrNotReplicated is a write that the primary did, and that a majority did not confirm in time.
	ErrNotReplicated = errors.New("write is not confirmed by a majority")
	// ErrShuttingDown is a server on its way out (91, 11600).
	ErrShuttingDown = errors.New("server is shutting down")
	// ErrUnreachable is no answer: nobody listens, the connection broke, or the deadline passed.
	ErrUnreachable = errors.New("no answer")
	// ErrMaybeDone accompanies ErrUnreachable when the command went out before the answer was lost: look before
	// anything is repeated.
	ErrMaybeDone = errors.New("sent, result unknown")

	errExists   = errors.New("exists already")
	errNotFound = errors.New("not found")
)

// errorOfCode is the meaning of the server's error codes, the same on 4.2 to 8.0.
var errorOfCode = map[int32]error{
	2:     ErrBadValue,
	11:    errNotFound, // UserNotFound
	13:    ErrUnauthorized,
	14:    ErrBadValue, // TypeMismatch
	18:    ErrAuthenticationFailed,
	23:    ErrAlreadyInitialized,
	31:    errNotFound,    // RoleNotFound
	50:    ErrUnreachable, // MaxTimeMSExpired: the deadline that went with the command
	59:    ErrUnknownCommand,
	72:    ErrBadValue, // InvalidOptions
	91:    ErrShuttingDown,
	94:    ErrNotInitialized,
	103:   ErrConfigChanged,
	109:   ErrConfigChanged,
	189:   ErrNotPrimary, // PrimarySteppedDown
	262:   ErrExceededTimeLimit,
	334:   ErrAuthenticationFailed, // MechanismUnavailable: the user has no SCRAM-SHA-256 credentials
	10058: ErrNotPrimary,           // LegacyNotPrimary
	10107: ErrNotPrimary,           // NotWritablePrimary
	11600: ErrShuttingDown,         // InterruptedAtShutdown
	11602: ErrNotPrimary,           // InterruptedDueToReplStateChange
	13435: ErrNotPrimary,           // NotPrimaryNoSecondaryOk
	13436: ErrNotPrimary,           // NotPrimaryOrSecondary
	51002: errExists,               // a role
	51003: errExists,               // a user
	51024: ErrBadValue,             // a field out of its bounds
}

// commandError is a failed command with its meanings. It keeps the text of the cause and not the cause, which
// might print more than its text.
type commandError struct {
	command string
	address string
	text    string
	kinds   []error
}

// Error is the command, the server and the cause.
func (e *commandError) Error() string {
	return e.command + " on " + e.address + ": " + e.text
}

// Unwrap returns the meanings of the error.
func (e *commandError) Unwrap() []error { return e.kinds }

// isUnanswered tells that no server said anything.
func (e *commandError) isUnanswered() bool {
	return errors.Is(e, ErrUnreachable) || errors.Is(e, context.Canceled)
}

// kindsOf tells what an error of the driver means.
func kindsOf(err error) []error {
	if errors.Is(err, context.Canceled) {
		return []error{context.Canceled}
	}
	if answered, kind := kindOfServerError(err); answered {
		if kind == nil {
			return nil
		}
		return []error{kind}
	}
	if _, isOurs := errors.AsType[mongo.MarshalError](err); isOurs {
		return nil
	}
	kinds := []error{ErrUnreachable}
	if errors.Is(err, context.DeadlineExceeded) {
		kinds = append(kinds, context.DeadlineExceeded)
	}
	return kinds
}

// kindOfServerError is the meaning of the server's error code; answered is false when no server answered. The
// meaning is nil when nobody decides on that code.
func kindOfServerError(err error) (answered bool, kind error) {
	if writeError, ok := errors.AsType[mongo.WriteException](err); ok {
		if writeError.WriteConcernError != nil {
			return true, ErrNotReplicated
		}
		return true, nil
	}
	commandError, ok := errors.AsType[mongo.CommandError](err)
	if !ok {
		return false, nil
	}
	if commandError.Code == 0 && commandError.Raw != nil {
		return true, kindOfMessage(commandError.Message)
	}
	return commandError.Code != 0, errorOfCode[commandError.Code]
}

// kindOfMessage is the meaning of the refusals that 4.2 sends without a code.
func kindOfMessage(message string) error {
	if strings.HasPrefix(message, unknownOption) || strings.HasPrefix(message, "attempted to set unrecognized parameter") {
		return ErrBadValue
	}
	return nil
}

// unknownOption is how servers answer getParameter when they have none of the names.
const unknownOption = "no option found to get"

// withoutSecrets is a text in which the secrets are blotted out. Servers do not repeat passwords, and this does
// not depend on it.
func withoutSecrets(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return text
}

func isUninitialized(err error) bool  { return errors.Is(err, ErrNotInitialized) }
func isUnknownCommand(err error) bool { return errors.Is(err, ErrUnknownCommand) }
