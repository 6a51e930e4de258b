// SPDX-License-Identifier: Apache-2.0

package router

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/wire"
)

func TestOddRequestsAreRefusedByCode(t *testing.T) {
	for _, row := range []struct {
		name     string
		document bson.D
		want     errorCode
	}{
		{"no command at all", bson.D{}, codeFailedToParse},
		{"a command without a database", bson.D{{Key: "ping", Value: 1}}, codeFailedToParse},
		{"a command nobody knows", bson.D{{Key: "nosuch", Value: 1}, {Key: "$db", Value: "admin"}}, codeCommandNotFound},
		{"a command of the config servers", bson.D{{Key: "_configsvrAddShard", Value: "h:1"}, {Key: "$db", Value: "admin"}}, codeCommandNotFound},
		{"a sharding command elsewhere", bson.D{{Key: "addShard", Value: "h:1"}, {Key: "$db", Value: "d"}}, codeUnauthorized},
		{"user data", bson.D{{Key: "find", Value: "c"}, {Key: "$db", Value: "d"}}, codeCommandNotSupported},
	} {
		t.Run(row.name, func(t *testing.T) {
			raw, err := encode(row.document)
			if err != nil {
				t.Fatalf("encode: %v", err)
			}
			database, _ := raw.Lookup("$db").StringValueOK()
			reply, err := (&session{}).reply(t.Context(), request{database: database, document: raw, expectsReply: true})
			if err != nil {
				t.Fatalf("reply: %v", err)
			}
			if code := reply.Lookup("code").AsInt64(); errorCode(code) != row.want {
				t.Errorf("code is %d, want %d: %v", code, row.want, reply)
			}
		})
	}
}

func TestOldQueriesOtherThanGreetingsAreRefused(t *testing.T) {
	for _, row := range []struct {
		document bson.D
		want     errorCode
	}{
		{bson.D{}, codeFailedToParse},
		{bson.D{{Key: "ping", Value: 1}}, codeUnsupportedOpQueryCommand},
	} {
		raw, err := encode(row.document)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		reply, err := (&session{}).replyToQuery(t.Context(), wire.Query{Database: "admin", Document: raw})
		if err != nil {
			t.Fatalf("reply: %v", err)
		}
		if code := reply.Lookup("code").AsInt64(); errorCode(code) != row.want {
			t.Errorf("%v gives code %d, want %d", row.document, code, row.want)
		}
	}
}
