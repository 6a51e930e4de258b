// SPDX-License-Identifier: Apache-2.0

package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
	"github.com/mongotuning/mongotuning/test/mongosstandin/wire"
)

// primaryWait is how long a client waits for a config server primary. mongos waits 20 s; the 30 s that drivers give
// the choice of a server leave room for one more try.
const primaryWait = 15 * time.Second

// session is one client and, once it has sent something, its own connection to the config server primary. That
// connection carries the client's login, so the real server knows who asks.
type session struct {
	server *Server
	client net.Conn

	mutex    sync.Mutex
	upstream *configserver.Conn
	isClosed bool
	replies  int32
}

// request is one command of a client.
type request struct {
	name     string
	database string
	document bson.Raw
	// sequences are the document sequences that came with it, to be passed on as they are.
	sequences []byte
	// expectsReply is false for a client that asked not to be answered.
	expectsReply bool
}

func (c *session) serve(ctx context.Context) {
	defer c.close()
	for {
		frame, err := wire.Read(c.client)
		if err == nil {
			err = c.answer(ctx, frame)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return
		default:
			c.server.log.Info("Ending connection", "client", c.client.RemoteAddr().String(), "reason", err.Error())
			return
		}
	}
}

func (c *session) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.isClosed = true
	_ = c.client.Close()
	if c.upstream != nil {
		_ = c.upstream.Close()
	}
}

func (c *session) upstreamAddress() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.upstream == nil {
		return ""
	}
	return c.upstream.Address()
}

// connect returns the connection to the config server primary, dialling it the first time.
func (c *session) connect(ctx context.Context) (*configserver.Conn, error) {
	c.mutex.Lock()
	conn := c.upstream
	c.mutex.Unlock()
	if conn != nil {
		return conn, nil
	}
	waiting, cancel := context.WithTimeout(ctx, primaryWait)
	defer cancel()
	primary, err := c.server.set.AwaitPrimary(waiting)
	if err != nil {
		return nil, err
	}
	if conn, err = configserver.Dial(waiting, primary.Address); err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isClosed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c.upstream = conn
	return conn, nil
}

// answer reads one message and replies to it. An error ends the connection.
func (c *session) answer(ctx context.Context, frame wire.Message) error {
	switch frame.OpCode {
	case wire.OpMsg:
		m, err := wire.ParseMsg(frame)
		if err != nil {
			return err
		}
		r := request{document: m.Document, sequences: m.Sequences, expectsReply: m.Flags&wire.FlagMoreToCome == 0}
		r.database, _ = m.Document.Lookup("$db").StringValueOK()
		reply, err := c.reply(ctx, r)
		if err != nil || !r.expectsReply {
			return err
		}
		return wire.Write(c.client, wire.Msg{Document: reply}.Message(c.nextReply(), frame.RequestID))
	case wire.OpQuery:
		q, err := wire.ParseQuery(frame)
		if err != nil {
			return err
		}
		reply, err := c.replyToQuery(ctx, q)
		if err != nil {
			return err
		}
		return wire.Write(c.client, wire.Reply(reply, c.nextReply(), frame.RequestID))
	default:
		return fmt.Errorf("%w: operation code %d is not answered", wire.ErrMalformed, frame.OpCode)
	}
}

func (c *session) nextReply() int32 {
	c.replies++
	return c.replies
}

// reply looks the command up and runs it.
func (c *session) reply(ctx context.Context, r request) (bson.Raw, error) {
	first, err := r.document.IndexErr(0)
	if err != nil {
		return encode(refusal(codeFailedToParse, "a command has to have a name"))
	}
	r.name = first.Key()
	if r.database == "" {
		return encode(refusal(codeFailedToParse, "OP_MSG requests require a $db argument"))
	}
	command, isKnown := commands[r.name]
	switch {
	case !isKnown:
		return encode(refusal(codeCommandNotFound, "no such command: '%s'", r.name))
	case command.isAdminOnly && r.database != "admin":
		return encode(refusal(codeUnauthorized, "%s may only be run against the admin database.", r.name))
	}
	if command.right != nil {
		refused, err := c.checkRight(ctx, r, command.right(r))
		if err != nil {
			return nil, err
		}
		if refused != nil {
			return encode(refused)
		}
	}
	return command.run(ctx, c, r)
}

// replyToQuery answers the greeting of a driver that does not know yet whether OP_MSG is spoken.
func (c *session) replyToQuery(ctx context.Context, q wire.Query) (bson.Raw, error) {
	first, err := q.Document.IndexErr(0)
	if err != nil {
		return encode(refusal(codeFailedToParse, "a command has to have a name"))
	}
	if !isGreeting(first.Key()) {
		return encode(refusal(codeUnsupportedOpQueryCommand, "Unsupported OP_QUERY command: %s", first.Key()))
	}
	var document bson.D
	if err := bson.Unmarshal(q.Document, &document); err != nil {
		return nil, fmt.Errorf("%w: %w", wire.ErrMalformed, err)
	}
	raw, err := encode(append(document, bson.E{Key: "$db", Value: q.Database}))
	if err != nil {
		return nil, err
	}
	return c.reply(ctx, request{database: q.Database, document: raw, expectsReply: true})
}

func encode(d bson.D) (bson.Raw, error) {
	raw, err := bson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	return raw, nil
}
