// SPDX-License-Identifier: Apache-2.0

package router

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
)

// majority is the write concern mongos adds to what it writes on the config servers.
var majority = bson.E{Key: "writeConcern", Value: bson.D{
	{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: 60000},
}}

// runInternal runs a command as the cluster itself, after the client's right to it was checked, and answers the client
// with the outcome.
func runInternal(ctx context.Context, c *session, r request, database string, command bson.D) (bson.Raw, error) {
	if limit, err := r.document.LookupErr("maxTimeMS"); err == nil {
		command = append(command, bson.E{Key: "maxTimeMS", Value: limit})
	}
	reply, err := c.server.set.RunInternal(ctx, database, command)
	if refused, isRefusal := errors.AsType[*configserver.CommandError](err); isRefusal {
		reply, err = refused.Reply, nil
	}
	if err != nil {
		return nil, err
	}
	return withoutFields(reply, func(key string) bool { return memberOnly[key] })
}

func addShard(ctx context.Context, c *session, r request) (bson.Raw, error) {
	command := bson.D{{Key: "_configsvrAddShard", Value: r.document.Lookup(r.name)}}
	for _, field := range []string{"name", "maxSize"} {
		if value, err := r.document.LookupErr(field); err == nil {
			command = append(command, bson.E{Key: field, Value: value})
		}
	}
	return runInternal(ctx, c, r, "admin", append(command, majority))
}

// listShards reads the shards as a majority of the config servers knows them. mongos asks for no order either: they
// come as they were added.
func listShards(ctx context.Context, c *session, r request) (bson.Raw, error) {
	raw, err := runInternal(ctx, c, r, "config", bson.D{
		{Key: "find", Value: "shards"},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}},
		{Key: "batchSize", Value: 10000},
	})
	if err != nil {
		return nil, err
	}
	shards := raw.Lookup("cursor", "firstBatch")
	if shards.IsZero() {
		return raw, nil // The server's refusal.
	}
	return done(bson.D{{Key: "shards", Value: shards}})
}

// enableSharding creates the database's entry. The config servers' command for it changed its name in 5.0.
func enableSharding(ctx context.Context, c *session, r request) (bson.Raw, error) {
	database, _ := r.document.Lookup(r.name).StringValueOK()
	command := bson.D{{Key: "_configsvrEnableSharding", Value: database}}
	shardField := "primaryShard"
	if slices.Compare(c.server.numbers, []int32{5, 0}) >= 0 {
		command = bson.D{{Key: "_configsvrCreateDatabase", Value: database}}
		shardField = "primaryShardId"
		if slices.Compare(c.server.numbers, []int32{6, 0}) < 0 {
			command = append(command, bson.E{Key: "enableSharding", Value: true})
		}
	}
	if shard, err := r.document.LookupErr("primaryShard"); err == nil {
		command = append(command, bson.E{Key: shardField, Value: shard})
	}
	raw, err := runInternal(ctx, c, r, "admin", append(command, majority))
	if err != nil {
		return nil, err
	}
	if ok, isNumber := raw.Lookup("ok").AsInt64OK(); !isNumber || ok != 1 {
		return raw, nil
	}
	return done(bson.D{})
}

// balancer passes one of the three balancer commands on. None of them takes a write concern.
func balancer(internal string) func(context.Context, *session, request) (bson.Raw, error) {
	return func(ctx context.Context, c *session, r request) (bson.Raw, error) {
		return runInternal(ctx, c, r, "admin", bson.D{{Key: internal, Value: 1}})
	}
}
