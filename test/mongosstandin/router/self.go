// SPDX-License-Identifier: Apache-2.0

package router

import (
	"context"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// standIn marks the answers that describe the process, so that nobody can take them for a real mongos' answers.
var standIn = bson.E{Key: "standIn", Value: true}

// genericArguments are fields any command may carry. They name no parameter.
var genericArguments = map[string]bool{
	"$db": true, "$readPreference": true, "$clusterTime": true, "lsid": true, "comment": true, "maxTimeMS": true,
	"readConcern": true, "writeConcern": true, "apiVersion": true, "apiStrict": true, "apiDeprecationErrors": true,
}

// named returns the fields of a getParameter or setParameter that name parameters.
func named(r request) []bson.RawElement {
	elements, err := r.document.Elements()
	if err != nil || len(elements) == 0 {
		return nil
	}
	var parameters []bson.RawElement
	for _, element := range elements[1:] {
		if !genericArguments[element.Key()] {
			parameters = append(parameters, element)
		}
	}
	return parameters
}

func getParameter(_ context.Context, c *session, r request) (bson.Raw, error) {
	names := c.server.parameters.Names()
	if all, isText := r.document.Lookup(r.name).StringValueOK(); !isText || all != "*" {
		names = nil
		for _, element := range named(r) {
			names = append(names, element.Key())
		}
	}
	found := bson.D{}
	for _, name := range names {
		if value, isKnown := c.server.parameters.Get(name); isKnown {
			found = append(found, bson.E{Key: name, Value: value})
		}
	}
	if len(found) == 0 {
		return encode(refusal(codeNone, "no option found to get"))
	}
	return done(found)
}

func setParameter(_ context.Context, c *session, r request) (bson.Raw, error) {
	parameters := named(r)
	if len(parameters) == 0 {
		return encode(refusal(codeNone, "no option found to set, use help:true to see options "))
	}
	answer := bson.D{}
	for _, element := range parameters {
		was, err := c.server.parameters.Set(element.Key(), element.Value())
		if err != nil {
			return encode(refusal(codeNone, "%s", err))
		}
		// One field, the first parameter's: so servers answer.
		if len(answer) == 0 {
			answer = bson.D{{Key: "was", Value: was}}
		}
	}
	return done(answer)
}

func getCmdLineOpts(_ context.Context, c *session, _ request) (bson.Raw, error) {
	return done(bson.D{
		{Key: "argv", Value: c.server.options.Argv},
		{Key: "parsed", Value: c.server.options.Parsed()},
		standIn,
	})
}

// serverStatus tells only what this process can know of itself. Sections about routing are left out.
func serverStatus(_ context.Context, c *session, _ request) (bson.Raw, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	current, totalCreated := c.server.connections()
	uptime := time.Since(c.server.started)
	return done(bson.D{
		{Key: "host", Value: host},
		{Key: "version", Value: c.server.version},
		{Key: "process", Value: "mongos"},
		{Key: "pid", Value: int64(os.Getpid())},
		{Key: "uptime", Value: uptime.Seconds()},
		{Key: "uptimeMillis", Value: uptime.Milliseconds()},
		{Key: "localTime", Value: time.Now()},
		{Key: "connections", Value: bson.D{
			{Key: "current", Value: current},
			{Key: "totalCreated", Value: totalCreated},
		}},
		{Key: "sharding", Value: bson.D{
			{Key: "configsvrConnectionString", Value: c.server.options.ConfigDB()},
		}},
		standIn,
	})
}

func isDBGrid(_ context.Context, _ *session, _ request) (bson.Raw, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return done(bson.D{{Key: "isdbgrid", Value: int32(1)}, {Key: "hostname", Value: host}})
}

func replSetGetStatus(_ context.Context, _ *session, _ request) (bson.Raw, error) {
	return encode(append(bson.D{{Key: "info", Value: "mongos"}},
		refusal(codeNone, "replSetGetStatus is not supported through mongos")...))
}
