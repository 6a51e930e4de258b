// SPDX-License-Identifier: Apache-2.0

package configserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/wire"
)

// Error codes a config server gives when it is not, or no longer, the primary or is going away.
// Source: src/mongo/base/error_codes of MongoDB 4.2 to 6.0, categories NotMasterError and ShutdownError.
var notPrimaryCodes = map[int32]bool{
	91:    true, // ShutdownInProgress
	189:   true, // PrimarySteppedDown
	10058: true, // LegacyNotPrimary
	10107: true, // NotWritablePrimary
	11600: true, // InterruptedAtShutdown
	11602: true, // InterruptedDueToReplStateChange
	13435: true, // NotPrimaryNoSecondaryOk
	13436: true, // NotPrimaryOrSecondary
}

// CommandError is an answer of the server with ok: 0. Reply is that answer as it came.
type CommandError struct {
	Code  int32
	Reply bson.Raw
}

// Error tells the server's own words.
func (e *CommandError) Error() string {
	message, _ := e.Reply.Lookup("errmsg").StringValueOK()
	return fmt.Sprintf("server answered %d: %s", e.Code, message)
}

// IsNotPrimary reports whether a reply says that its server is no primary.
func IsNotPrimary(reply bson.Raw) bool {
	code, ok := reply.Lookup("code").AsInt64OK()
	return ok && !isOK(reply) && notPrimaryCodes[int32(code)]
}

func isOK(reply bson.Raw) bool {
	ok, isNumber := reply.Lookup("ok").AsInt64OK()
	return isNumber && ok == 1
}

// Conn is one connection to one server. It is not safe for use by two goroutines, Close excepted.
type Conn struct {
	conn      net.Conn
	address   string
	requestID int32
}

// Dial opens a connection. The host name is resolved anew each time, for a member may come back under another address.
func Dial(ctx context.Context, address string) (*Conn, error) {
	dialer := net.Dialer{Timeout: 3 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dial config server: %w", err)
	}
	return &Conn{conn: conn, address: address}, nil
}

// Address is where the connection was dialled to.
func (c *Conn) Address() string { return c.address }

// Close ends the connection, also under a call that waits on it.
func (c *Conn) Close() error { return c.conn.Close() }

// Exchange sends a message and waits for its reply, unless the message says that none will come: then the reply is
// empty. The connection cannot be used after an error.
func (c *Conn) Exchange(ctx context.Context, m wire.Msg) (wire.Msg, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	reply, err := c.exchange(m)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return reply, err
}

func (c *Conn) exchange(m wire.Msg) (wire.Msg, error) {
	// Without the exhaust flag the server sends one reply per request and never more.
	m.Flags &^= wire.FlagExhaustAllowed
	c.requestID++
	if err := wire.Write(c.conn, m.Message(c.requestID, 0)); err != nil {
		return wire.Msg{}, fmt.Errorf("send to %s: %w", c.address, err)
	}
	if m.Flags&wire.FlagMoreToCome != 0 {
		return wire.Msg{}, nil
	}
	frame, err := wire.Read(c.conn)
	if err != nil {
		return wire.Msg{}, fmt.Errorf("receive from %s: %w", c.address, err)
	}
	if frame.ResponseTo != c.requestID {
		return wire.Msg{}, fmt.Errorf("receive from %s: answer to request %d, want %d", c.address, frame.ResponseTo, c.requestID)
	}
	reply, err := wire.ParseMsg(frame)
	if err != nil {
		return wire.Msg{}, fmt.Errorf("receive from %s: %w", c.address, err)
	}
	return reply, nil
}

// Run runs one command on a database. A refusal by the server is a *CommandError.
func (c *Conn) Run(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	document, err := bson.Marshal(append(slices.Clip(command), bson.E{Key: "$db", Value: database}))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", command[0].Key, err)
	}
	m, err := c.Exchange(ctx, wire.Msg{Document: document})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", command[0].Key, err)
	}
	if !isOK(m.Document) {
		code, _ := m.Document.Lookup("code").AsInt64OK()
		return nil, fmt.Errorf("run %s: %w", command[0].Key, &CommandError{Code: int32(code), Reply: m.Document})
	}
	return m.Document, nil
}
