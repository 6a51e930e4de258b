// SPDX-License-Identifier: Apache-2.0

package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
	"github.com/mongotuning/mongotuning/test/mongosstandin/wire"
)

// errPrimaryChanged ends a client's connection: the server behind it is no primary any more.
var errPrimaryChanged = errors.New("config server primary changed")

// memberOnly are the fields by which replica set members speak to each other and to a router. mongos takes them out of
// what it passes on.
var memberOnly = map[string]bool{
	"$gleStats": true, "lastCommittedOpTime": true, "$configServerState": true, "$replData": true, "$oplogQueryData": true,
	"$topologyTime": true, "$configTime": true,
}

// greetingFields are what of a config server's greeting holds for a router too, under the same name.
var greetingFields = map[string]bool{
	"helloOk": true, "maxBsonObjectSize": true, "maxMessageSizeBytes": true, "maxWriteBatchSize": true, "localTime": true,
	"logicalSessionTimeoutMinutes": true, "connectionId": true, "minWireVersion": true, "maxWireVersion": true,
	"saslSupportedMechs": true, "speculativeAuthenticate": true, "ok": true, "operationTime": true, "$clusterTime": true,
}

// notForwarded are the parts of a greeting that would change how the config server speaks on this connection:
// compressed, or by itself whenever its state changes.
var notForwarded = []string{"compression", "topologyVersion", "maxAwaitTimeMS", "loadBalanced"}

func isGreeting(name string) bool {
	return name == "hello" || name == "isMaster" || name == "ismaster"
}

// relay has the config server primary run the command as the client it comes from.
func relay(ctx context.Context, c *session, r request) (bson.Raw, error) {
	reply, err := c.exchange(ctx, r)
	if err != nil || !r.expectsReply {
		return nil, err
	}
	return withoutFields(reply, func(key string) bool { return memberOnly[key] })
}

// exchange passes the command on and returns the reply as it comes. When the server turns out to be no primary the
// client is not told: its connection ends, and the next one leads to the right server.
func (c *session) exchange(ctx context.Context, r request) (bson.Raw, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	m := wire.Msg{Document: r.document, Sequences: r.sequences}
	if !r.expectsReply {
		m.Flags = wire.FlagMoreToCome
	}
	reply, err := conn.Exchange(ctx, m)
	if err != nil {
		return nil, err
	}
	if r.expectsReply && configserver.IsNotPrimary(reply.Document) {
		return nil, errPrimaryChanged
	}
	return reply.Document, nil
}

// greet introduces the stand-in as a router. The greeting goes to the config server first, for it may carry the first
// step of a login and asks for the wire versions that are spoken.
func greet(ctx context.Context, c *session, r request) (bson.Raw, error) {
	forwarded, err := withoutFields(r.document, func(key string) bool { return slices.Contains(notForwarded, key) })
	if err != nil {
		return nil, err
	}
	r.document = forwarded
	reply, err := c.exchange(ctx, r)
	if err != nil || !r.expectsReply {
		return nil, err
	}
	if ok, isNumber := reply.Lookup("ok").AsInt64OK(); !isNumber || ok != 1 {
		return withoutFields(reply, func(key string) bool { return memberOnly[key] })
	}
	flag := "ismaster"
	if r.name == "hello" {
		flag = "isWritablePrimary"
	}
	if isPrimary, _ := reply.Lookup(flag).BooleanOK(); !isPrimary {
		return nil, errPrimaryChanged
	}
	greeting := bson.D{{Key: flag, Value: true}, {Key: "msg", Value: "isdbgrid"}}
	elements, err := reply.Elements()
	if err != nil {
		return nil, fmt.Errorf("read greeting: %w", err)
	}
	for _, element := range elements {
		if greetingFields[element.Key()] {
			greeting = append(greeting, bson.E{Key: element.Key(), Value: element.Value()})
		}
	}
	return encode(greeting)
}

// relayUserChange passes a change of users or roles on, to be written to a majority as mongos does: a change that a
// step down rolls back would lock the client out.
func relayUserChange(ctx context.Context, c *session, r request) (bson.Raw, error) {
	if _, err := r.document.LookupErr("writeConcern"); err != nil {
		var document bson.D
		if err := bson.Unmarshal(r.document, &document); err != nil {
			return nil, fmt.Errorf("%w: %w", wire.ErrMalformed, err)
		}
		raw, err := encode(append(document, majority))
		if err != nil {
			return nil, err
		}
		r.document = raw
	}
	return relay(ctx, c, r)
}

// relayConfigData passes reads and writes of the config database on: that database is the config servers' own, and
// mongos has no other source for it. User data is refused.
func relayConfigData(ctx context.Context, c *session, r request) (bson.Raw, error) {
	if r.database != "config" {
		return refuse(ctx, c, r)
	}
	return relay(ctx, c, r)
}

// buildInfo passes the config server's build on, marked so that nobody takes it for a mongos.
func buildInfo(ctx context.Context, c *session, r request) (bson.Raw, error) {
	reply, err := relay(ctx, c, r)
	if err != nil || reply == nil {
		return nil, err
	}
	var d bson.D
	if err := bson.Unmarshal(reply, &d); err != nil {
		return nil, fmt.Errorf("read build: %w", err)
	}
	return encode(append(bson.D{standIn}, d...))
}

// withoutFields copies a document and leaves out the top-level fields that are not wanted.
func withoutFields(document bson.Raw, isUnwanted func(key string) bool) (bson.Raw, error) {
	elements, err := document.Elements()
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	kept := make(bson.D, 0, len(elements))
	for _, element := range elements {
		if !isUnwanted(element.Key()) {
			kept = append(kept, bson.E{Key: element.Key(), Value: element.Value()})
		}
	}
	return encode(kept)
}
