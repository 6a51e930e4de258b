// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// errorKind is what failed, in a word or two.
type errorKind string

const (
	errorTimeout      errorKind = "timeout"
	errorNetwork      errorKind = "network"
	errorNotPrimary   errorKind = "not primary"
	errorWriteConcern errorKind = "write concern"
	errorOther        errorKind = "other"
)

// notPrimary are the server's codes for "another member leads now": NotWritablePrimary, NotPrimaryNoSecondaryOk,
// InterruptedDueToReplStateChange, NotPrimaryOrSecondary, PrimarySteppedDown, InterruptedAtShutdown and
// ShutdownInProgress.
var notPrimary = []int{10107, 13435, 11602, 13436, 189, 11600, 91}

func kindOf(err error) errorKind {
	server, isServer := errors.AsType[mongo.ServerError](err)
	if isServer && slices.ContainsFunc(notPrimary, server.HasErrorCode) {
		return errorNotPrimary
	}
	switch {
	case writeConcernFailed(err):
		return errorWriteConcern
	case mongo.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return errorTimeout
	case mongo.IsNetworkError(err):
		return errorNetwork
	}
	if isServer {
		if codes := server.ErrorCodes(); len(codes) > 0 {
			return errorKind(fmt.Sprintf("code %d", codes[0]))
		}
	}
	return errorOther
}

func writeConcernFailed(err error) bool {
	if failed, ok := errors.AsType[mongo.WriteException](err); ok {
		return failed.WriteConcernError != nil
	}
	if failed, ok := errors.AsType[mongo.BulkWriteException](err); ok {
		return failed.WriteConcernError != nil
	}
	return false
}

// failedWrites are the places of the writes of a bulk that were not acknowledged; all of them when the error is
// about the bulk as a whole.
func failedWrites(err error, writes int) map[int]bool {
	failed := map[int]bool{}
	if err == nil {
		return failed
	}
	bulk, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok || bulk.WriteConcernError != nil {
		for i := range writes {
			failed[i] = true
		}
		return failed
	}
	for _, write := range bulk.WriteErrors {
		failed[write.Index] = true
	}
	return failed
}
