// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// OpCode says how the body of a message is laid out.
type OpCode int32

// The operation codes of the wire protocol that occur between a driver and a router.
const (
	OpReply      OpCode = 1
	OpQuery      OpCode = 2004
	OpCompressed OpCode = 2012
	OpMsg        OpCode = 2013
)

const (
	headerLength = 16
	// maxMessageLength is maxMessageSizeBytes as every server from 4.2 to 6.0 reports it in hello.
	maxMessageLength = 48000000
)

// ErrMalformed marks bytes that are no message of the wire protocol. The stream cannot be trusted after it.
var ErrMalformed = errors.New("malformed message")

// Message is one frame: its header without the length, and the body that follows.
type Message struct {
	RequestID  int32
	ResponseTo int32
	OpCode     OpCode
	Body       []byte
}

// Read takes one whole message from r. It returns io.EOF only when r ends between two messages.
func Read(r io.Reader) (Message, error) {
	var header [headerLength]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Message{}, err
	}
	length := int32(binary.LittleEndian.Uint32(header[0:]))
	if length < headerLength || length > maxMessageLength {
		return Message{}, fmt.Errorf("%w: length %d", ErrMalformed, length)
	}
	m := Message{
		RequestID:  int32(binary.LittleEndian.Uint32(header[4:])),
		ResponseTo: int32(binary.LittleEndian.Uint32(header[8:])),
		OpCode:     OpCode(binary.LittleEndian.Uint32(header[12:])),
		Body:       make([]byte, length-headerLength),
	}
	if _, err := io.ReadFull(r, m.Body); err != nil {
		return Message{}, fmt.Errorf("read message body: %w", err)
	}
	return m, nil
}

// Write sends the message in one call, so that two writers never interleave their frames.
func Write(w io.Writer, m Message) error {
	_, err := w.Write(m.bytes())
	return err
}

func (m Message) bytes() []byte {
	out := make([]byte, 0, headerLength+len(m.Body))
	out = binary.LittleEndian.AppendUint32(out, uint32(headerLength+len(m.Body)))
	out = binary.LittleEndian.AppendUint32(out, uint32(m.RequestID))
	out = binary.LittleEndian.AppendUint32(out, uint32(m.ResponseTo))
	out = binary.LittleEndian.AppendUint32(out, uint32(m.OpCode))
	return append(out, m.Body...)
}
