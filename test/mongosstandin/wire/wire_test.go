// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/wire"
)

func document(t testing.TB, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return raw
}

// sequence builds a kind 1 section with one document under the name documents.
func sequence(t testing.TB, d bson.D) []byte {
	t.Helper()
	content := append([]byte("documents\x00"), document(t, d)...)
	out := binary.LittleEndian.AppendUint32([]byte{1}, uint32(4+len(content)))
	return append(out, content...)
}

// withChecksum sets the checksum flag and appends the checksum of the frame that results.
func withChecksum(t testing.TB, m wire.Message) wire.Message {
	t.Helper()
	m.Body = append([]byte(nil), m.Body...)
	m.Body[0] |= byte(wire.FlagChecksumPresent)
	m.Body = append(m.Body, 0, 0, 0, 0)
	var frame bytes.Buffer
	if err := wire.Write(&frame, m); err != nil {
		t.Fatalf("write: %v", err)
	}
	sum := crc32.Checksum(frame.Bytes()[:frame.Len()-4], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(m.Body[len(m.Body)-4:], sum)
	return m
}

func TestMessageSurvivesTheStream(t *testing.T) {
	want := wire.Msg{
		Flags:     wire.FlagMoreToCome,
		Document:  document(t, bson.D{{Key: "insert", Value: "c"}, {Key: "$db", Value: "d"}}),
		Sequences: sequence(t, bson.D{{Key: "_id", Value: 1}}),
	}
	var stream bytes.Buffer
	if err := wire.Write(&stream, want.Message(7, 3)); err != nil {
		t.Fatalf("write: %v", err)
	}
	m, err := wire.Read(&stream)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if m.RequestID != 7 || m.ResponseTo != 3 || m.OpCode != wire.OpMsg {
		t.Errorf("header is %d, %d, %d", m.RequestID, m.ResponseTo, m.OpCode)
	}
	got, err := wire.ParseMsg(m)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content differs (-want +got):\n%s", diff)
	}
	if _, err := wire.Read(&stream); !errors.Is(err, io.EOF) {
		t.Errorf("end of stream is %v, want io.EOF", err)
	}
}

func TestReadRefusesImpossibleFrames(t *testing.T) {
	for _, row := range []struct {
		name string
		in   []byte
		want error
	}{
		{"length below the header", []byte{15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, wire.ErrMalformed},
		{"length above what a server accepts", []byte{1, 0x6c, 0xdc, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, wire.ErrMalformed},
		{"negative length", []byte{0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, wire.ErrMalformed},
		{"header cut short", []byte{16, 0, 0}, io.ErrUnexpectedEOF},
		{"body cut short", []byte{18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, io.ErrUnexpectedEOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := wire.Read(bytes.NewReader(row.in)); !errors.Is(err, row.want) {
				t.Errorf("error is %v, want %v", err, row.want)
			}
		})
	}
}

func TestParseMsgVerifiesAndDropsTheChecksum(t *testing.T) {
	plain := wire.Msg{Document: document(t, bson.D{{Key: "ping", Value: 1}})}
	checked := withChecksum(t, plain.Message(1, 0))
	got, err := wire.ParseMsg(checked)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if diff := cmp.Diff(plain, got); diff != "" {
		t.Errorf("content differs (-want +got):\n%s", diff)
	}
	checked.Body[len(checked.Body)-1]++
	if _, err := wire.ParseMsg(checked); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("spoiled checksum gives %v, want %v", err, wire.ErrMalformed)
	}
}

func TestParseMsgRefusesBrokenSections(t *testing.T) {
	body := append([]byte{0}, document(t, bson.D{{Key: "ping", Value: 1}})...)
	flags := []byte{0, 0, 0, 0}
	for _, row := range []struct {
		name string
		body []byte
	}{
		{"no flags", nil},
		{"no section", flags},
		{"unknown required flag", append([]byte{4, 0, 0, 0}, body...)},
		{"checksum flag without room", append([]byte{1, 0, 0, 0}, 0, 0)},
		{"two bodies", append(append(append([]byte(nil), flags...), body...), body...)},
		{"unknown section kind", append(append(append([]byte(nil), flags...), body...), 2, 5, 0, 0, 0, 0)},
		{"section longer than the message", append(append([]byte(nil), flags...), 0, 99, 0, 0, 0, 0)},
		{"document not terminated", append(append([]byte(nil), flags...), 0, 5, 0, 0, 0, 1)},
		{"only a document sequence", append(append([]byte(nil), flags...), sequence(t, bson.D{})...)},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := wire.Message{OpCode: wire.OpMsg, Body: row.body}
			if _, err := wire.ParseMsg(m); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("error is %v, want %v", err, wire.ErrMalformed)
			}
		})
	}
}

// query builds the body of an OP_QUERY for one document.
func query(namespace string, d bson.Raw) wire.Message {
	body := append([]byte{4, 0, 0, 0}, namespace...)
	body = append(body, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
	return wire.Message{OpCode: wire.OpQuery, Body: append(body, d...)}
}

func TestParseQueryReadsTheGreetingOfDrivers(t *testing.T) {
	greeting := bson.D{{Key: "isMaster", Value: int32(1)}, {Key: "helloOk", Value: true}}
	want := wire.Query{Database: "admin", Document: document(t, greeting)}
	for _, row := range []struct {
		name string
		in   bson.D
	}{
		{"plain", greeting},
		{"wrapped in $query", bson.D{{Key: "$query", Value: greeting}}},
		{"wrapped in query", bson.D{{Key: "query", Value: greeting}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := wire.ParseQuery(query("admin.$cmd", document(t, row.in)))
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("query differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseQueryRefusesEverythingElse(t *testing.T) {
	greeting := document(t, bson.D{{Key: "isMaster", Value: 1}})
	for _, row := range []struct {
		name string
		in   wire.Message
	}{
		{"a find of old drivers", query("d.c", greeting)},
		{"no database", query(".$cmd", greeting)},
		{"document missing", query("admin.$cmd", nil)},
		{"namespace without end", wire.Message{OpCode: wire.OpQuery, Body: []byte("\x00\x00\x00\x00admin")}},
		{"another operation", wire.Message{OpCode: wire.OpMsg, Body: query("admin.$cmd", greeting).Body}},
		{"nothing", wire.Message{OpCode: wire.OpQuery}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := wire.ParseQuery(row.in); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("error is %v, want %v", err, wire.ErrMalformed)
			}
		})
	}
}

func FuzzParseMsg(f *testing.F) {
	ping := wire.Msg{Document: document(f, bson.D{{Key: "ping", Value: 1}})}
	f.Add(ping.Message(1, 0).Body)
	f.Add(withChecksum(f, ping.Message(0, 0)).Body)
	ping.Sequences = sequence(f, bson.D{{Key: "_id", Value: 1}})
	f.Add(ping.Message(1, 0).Body)
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := wire.ParseMsg(wire.Message{OpCode: wire.OpMsg, Body: body})
		if err != nil {
			if !errors.Is(err, wire.ErrMalformed) {
				t.Fatalf("error %v is not marked as malformed", err)
			}
			return
		}
		second, err := wire.ParseMsg(first.Message(1, 0))
		if err != nil {
			t.Fatalf("own frame is refused: %v", err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("content changes on the way (-first +second):\n%s", diff)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	f.Add(query("admin.$cmd", document(f, bson.D{{Key: "isMaster", Value: 1}})).Body)
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := wire.ParseQuery(wire.Message{OpCode: wire.OpQuery, Body: body})
		if err == nil && q.Document.Validate() != nil {
			t.Fatalf("accepted an invalid document")
		}
	})
}
