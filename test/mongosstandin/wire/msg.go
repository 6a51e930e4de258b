// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The flag bits of OP_MSG. Bits 0 to 15 are required: a peer that does not know one must refuse the message.
const (
	FlagChecksumPresent uint32 = 1 << 0
	FlagMoreToCome      uint32 = 1 << 1
	FlagExhaustAllowed  uint32 = 1 << 16

	requiredFlags uint32 = 0xffff
)

const (
	sectionBody     = 0
	sectionSequence = 1
	checksumLength  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Msg is the content of an OP_MSG: one body document and, uninterpreted, the document sequences of its kind 1 sections.
type Msg struct {
	Flags     uint32
	Document  bson.Raw
	Sequences []byte
}

// ParseMsg takes an OP_MSG apart. A checksum is verified and dropped together with its flag.
func ParseMsg(m Message) (Msg, error) {
	if m.OpCode != OpMsg {
		return Msg{}, fmt.Errorf("%w: operation code %d is not OP_MSG", ErrMalformed, m.OpCode)
	}
	body := m.Body
	if len(body) < 4 {
		return Msg{}, fmt.Errorf("%w: OP_MSG without flags", ErrMalformed)
	}
	out := Msg{Flags: binary.LittleEndian.Uint32(body)}
	if unknown := out.Flags & requiredFlags &^ (FlagChecksumPresent | FlagMoreToCome); unknown != 0 {
		return Msg{}, fmt.Errorf("%w: unknown flags %#x", ErrMalformed, unknown)
	}
	if out.Flags&FlagChecksumPresent != 0 {
		if err := verifyChecksum(m); err != nil {
			return Msg{}, err
		}
		body = body[:len(body)-checksumLength]
		out.Flags &^= FlagChecksumPresent
	}
	for rest := body[4:]; len(rest) > 0; {
		section, err := out.takeSection(rest)
		if err != nil {
			return Msg{}, err
		}
		rest = rest[section:]
	}
	if out.Document == nil {
		return Msg{}, fmt.Errorf("%w: OP_MSG without a body section", ErrMalformed)
	}
	return out, nil
}

func verifyChecksum(m Message) error {
	if len(m.Body) < 4+checksumLength {
		return fmt.Errorf("%w: OP_MSG too short for its checksum", ErrMalformed)
	}
	frame := m.bytes()
	end := len(frame) - checksumLength
	if crc32.Checksum(frame[:end], castagnoli) != binary.LittleEndian.Uint32(frame[end:]) {
		return fmt.Errorf("%w: OP_MSG checksum does not match", ErrMalformed)
	}
	return nil
}

// takeSection reads the section at the start of rest into m and returns how many bytes it took.
func (m *Msg) takeSection(rest []byte) (int, error) {
	kind, content := rest[0], rest[1:]
	length, err := sizedPrefix(content)
	if err != nil {
		return 0, err
	}
	switch kind {
	case sectionBody:
		if m.Document != nil {
			return 0, fmt.Errorf("%w: OP_MSG with two body sections", ErrMalformed)
		}
		document := bson.Raw(content[:length])
		if err := document.Validate(); err != nil {
			return 0, fmt.Errorf("%w: body: %w", ErrMalformed, err)
		}
		m.Document = document
	case sectionSequence:
		m.Sequences = append(m.Sequences, rest[:1+length]...)
	default:
		return 0, fmt.Errorf("%w: section kind %d", ErrMalformed, kind)
	}
	return 1 + length, nil
}

// sizedPrefix returns the length that the first four bytes of b announce, when b holds that much.
func sizedPrefix(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, fmt.Errorf("%w: %d bytes where a length belongs", ErrMalformed, len(b))
	}
	length := int64(int32(binary.LittleEndian.Uint32(b)))
	if length < 5 || length > int64(len(b)) {
		return 0, fmt.Errorf("%w: length %d of %d bytes", ErrMalformed, length, len(b))
	}
	return int(length), nil
}

// Message frames m without a checksum.
func (m Msg) Message(requestID, responseTo int32) Message {
	body := binary.LittleEndian.AppendUint32(nil, m.Flags&^FlagChecksumPresent)
	body = append(body, sectionBody)
	body = append(body, m.Document...)
	body = append(body, m.Sequences...)
	return Message{RequestID: requestID, ResponseTo: responseTo, OpCode: OpMsg, Body: body}
}
