// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Query is the content of an OP_QUERY that carries a command.
type Query struct {
	Database string
	Document bson.Raw
}

// ParseQuery takes an OP_QUERY apart. Only commands are understood, as on servers since 5.1: the namespace has to end
// in ".$cmd". A command wrapped in $query, as old drivers send it, is unwrapped.
func ParseQuery(m Message) (Query, error) {
	if m.OpCode != OpQuery {
		return Query{}, fmt.Errorf("%w: operation code %d is not OP_QUERY", ErrMalformed, m.OpCode)
	}
	if len(m.Body) < 4 {
		return Query{}, fmt.Errorf("%w: OP_QUERY without flags", ErrMalformed)
	}
	rest := m.Body[4:]
	end := bytes.IndexByte(rest, 0)
	if end < 0 {
		return Query{}, fmt.Errorf("%w: OP_QUERY namespace does not end", ErrMalformed)
	}
	database, isCommand := strings.CutSuffix(string(rest[:end]), ".$cmd")
	if !isCommand || database == "" {
		return Query{}, fmt.Errorf("%w: OP_QUERY on %q carries no command", ErrMalformed, rest[:end])
	}
	rest = rest[end+1:]
	if len(rest) < 8 {
		return Query{}, fmt.Errorf("%w: OP_QUERY ends before its document", ErrMalformed)
	}
	rest = rest[8:]
	length, err := sizedPrefix(rest)
	if err != nil {
		return Query{}, err
	}
	document := bson.Raw(rest[:length])
	if err := document.Validate(); err != nil {
		return Query{}, fmt.Errorf("%w: query: %w", ErrMalformed, err)
	}
	for _, wrapper := range []string{"$query", "query"} {
		first, err := document.IndexErr(0)
		if err != nil || first.Key() != wrapper {
			continue
		}
		if inner, ok := first.Value().DocumentOK(); ok {
			document = inner
		}
	}
	return Query{Database: database, Document: document}, nil
}

// Reply frames the one document that answers an OP_QUERY command.
func Reply(document bson.Raw, requestID, responseTo int32) Message {
	const awaitCapable = 8
	body := binary.LittleEndian.AppendUint32(nil, awaitCapable)
	body = binary.LittleEndian.AppendUint64(body, 0) // No cursor.
	body = binary.LittleEndian.AppendUint32(body, 0) // Starts at the first document.
	body = binary.LittleEndian.AppendUint32(body, 1) // One document.
	return Message{RequestID: requestID, ResponseTo: responseTo, OpCode: OpReply, Body: append(body, document...)}
}
