// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// errorCode is a server error by its number.
type errorCode int32

// The errors the stand-in gives by itself. Source: src/mongo/base/error_codes of MongoDB 4.2 to 6.0.
const (
	// codeNone stands for refusals to which servers give no code.
	codeNone                      errorCode = 0
	codeBadValue                  errorCode = 2
	codeFailedToParse             errorCode = 9
	codeUnauthorized              errorCode = 13
	codeCommandNotFound           errorCode = 59
	codeCommandNotSupported       errorCode = 115
	codeUnsupportedOpQueryCommand errorCode = 352
)

var codeNames = map[errorCode]string{
	codeBadValue:                  "BadValue",
	codeFailedToParse:             "FailedToParse",
	codeUnauthorized:              "Unauthorized",
	codeCommandNotFound:           "CommandNotFound",
	codeCommandNotSupported:       "CommandNotSupported",
	codeUnsupportedOpQueryCommand: "UnsupportedOpQueryCommand",
}

// refusal is the answer to a command that is not run.
func refusal(code errorCode, format string, arguments ...any) bson.D {
	d := bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: fmt.Sprintf(format, arguments...)}}
	if code == codeNone {
		return d
	}
	return append(d, bson.E{Key: "code", Value: int32(code)}, bson.E{Key: "codeName", Value: codeNames[code]})
}

// done ends the answer to a command that was run.
func done(d bson.D) (bson.Raw, error) {
	return encode(append(d, bson.E{Key: "ok", Value: 1.0}))
}
