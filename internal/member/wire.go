// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
)

// The probe is run every few seconds in every database pod, so it speaks the few bytes of the wire
// protocol that it needs by itself: a driver would open a pool and heartbeats for one question.

const (
	opMessage = 2013
	// headerBytes are length, request id, response to, operation code.
	headerBytes = 16
	// sectionBytes are the flags of the message and the kind of its one section.
	sectionBytes = 5
	// longestAnswer is far more than hello ever takes.
	longestAnswer = 1 << 20

	codeCommandNotFound = 59
)

// answer holds the numbers, truth values and strings at the top of a BSON document.
type answer map[string]any

func (a answer) isTrue(key string) bool {
	value, _ := a[key].(bool)
	return value
}

// greet asks a server who it is: hello, and isMaster where hello is not known (4.2).
func greet(ctx context.Context, address string) (answer, error) {
	dialer := net.Dialer{}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = connection.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return nil, fmt.Errorf("set deadline: %w", err)
		}
	}
	reply, err := ask(connection, "hello")
	if err != nil {
		return nil, err
	}
	if code, _ := reply["code"].(float64); code == codeCommandNotFound {
		return ask(connection, "isMaster")
	}
	return reply, nil
}

func ask(connection io.ReadWriter, command string) (answer, error) {
	if _, err := connection.Write(request(command)); err != nil {
		return nil, fmt.Errorf("send %s: %w", command, err)
	}
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(connection, header); err != nil {
		return nil, fmt.Errorf("read answer to %s: %w", command, err)
	}
	length := binary.LittleEndian.Uint32(header)
	if length < headerBytes+sectionBytes || length > longestAnswer || binary.LittleEndian.Uint32(header[12:]) != opMessage {
		return nil, fmt.Errorf("answer to %s is no message", command)
	}
	body := make([]byte, length-headerBytes)
	if _, err := io.ReadFull(connection, body); err != nil {
		return nil, fmt.Errorf("read answer to %s: %w", command, err)
	}
	return decode(body[sectionBytes:])
}

// request is {command: 1, $db: "admin"} as one message.
func request(command string) []byte {
	var document bytes.Buffer
	document.WriteByte(typeInt32)
	document.WriteString(command + "\x00")
	document.Write([]byte{1, 0, 0, 0})
	document.WriteByte(typeString)
	document.WriteString("$db\x00")
	document.Write([]byte{6, 0, 0, 0})
	document.WriteString("admin\x00")
	document.WriteByte(0)

	var message []byte
	message = binary.LittleEndian.AppendUint32(message, uint32(headerBytes+sectionBytes+4+document.Len())) //nolint:gosec // some sixty bytes
	message = binary.LittleEndian.AppendUint32(message, 1)
	message = binary.LittleEndian.AppendUint32(message, 0)
	message = binary.LittleEndian.AppendUint32(message, opMessage)
	message = append(message, 0, 0, 0, 0, 0)
	message = binary.LittleEndian.AppendUint32(message, uint32(4+document.Len())) //nolint:gosec // some forty bytes
	return append(message, document.Bytes()...)
}

// BSON types that hello answers with.
const (
	typeDouble    = 0x01
	typeString    = 0x02
	typeDocument  = 0x03
	typeArray     = 0x04
	typeBinary    = 0x05
	typeObjectID  = 0x07
	typeBool      = 0x08
	typeDate      = 0x09
	typeNull      = 0x0A
	typeInt32     = 0x10
	typeTimestamp = 0x11
	typeInt64     = 0x12
)

var errDocument = errors.New("answer is no document")

// decode reads the top of a document; what is nested is passed over. All numbers become float64.
func decode(document []byte) (answer, error) {
	if len(document) < 5 || int64(binary.LittleEndian.Uint32(document)) > int64(len(document)) {
		return nil, errDocument
	}
	decoded := answer{}
	rest := document[4:]
	for len(rest) > 0 && rest[0] != 0 {
		kind := rest[0]
		end := bytes.IndexByte(rest[1:], 0)
		if end < 0 {
			return nil, errDocument
		}
		key := string(rest[1 : 1+end])
		rest = rest[2+end:]
		size, err := sizeOf(kind, rest)
		if err != nil {
			return nil, err
		}
		decoded[key] = scalar(kind, rest[:size])
		rest = rest[size:]
	}
	return decoded, nil
}

// sizeOf is how many bytes a value takes.
func sizeOf(kind byte, rest []byte) (int, error) {
	size := map[byte]int{typeDouble: 8, typeObjectID: 12, typeBool: 1, typeDate: 8, typeInt32: 4, typeTimestamp: 8, typeInt64: 8}[kind]
	switch kind {
	case typeString, typeBinary, typeDocument, typeArray:
		if len(rest) < 4 {
			return 0, errDocument
		}
		size = int(binary.LittleEndian.Uint32(rest))
		if kind == typeString {
			size += 4
		}
		if kind == typeBinary {
			size += 5
		}
	case typeNull:
		return 0, nil
	}
	if size <= 0 || size > len(rest) {
		return 0, errDocument
	}
	return size, nil
}

func scalar(kind byte, value []byte) any {
	switch kind {
	case typeBool:
		return value[0] != 0
	case typeInt32:
		return float64(int32(binary.LittleEndian.Uint32(value))) //nolint:gosec // the bits are those of an int32
	case typeDouble:
		return math.Float64frombits(binary.LittleEndian.Uint64(value))
	case typeString:
		if len(value) < 5 {
			return ""
		}
		return string(value[4 : len(value)-1])
	default:
		return nil
	}
}
