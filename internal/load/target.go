// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// applicationName is what the server's log and currentOp show of these connections.
const applicationName = "mongotuning-load"

// The collections.
const (
	documentsCollection = "documents"
	copyCollection      = "copy"
	markerCollection    = "made_by_mongotuning_load"
)

// target is a cluster or replica set with the collections of the load.
type target struct {
	client            *mongo.Client
	database          *mongo.Database
	documents, copies *mongo.Collection
	marker            *mongo.Collection
	name              string
	router            bool
}

// connect prepares a client, which sends nothing yet.
func (o Options) connect(t Target) (*target, error) {
	concern, err := o.writeConcern()
	if err != nil {
		return nil, err
	}
	settings, err := t.settings()
	if err != nil {
		return nil, err
	}
	settings.SetWriteConcern(concern).SetServerSelectionTimeout(o.Timeout).SetMaxPoolSize(0)
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %s", t.Name(), withoutPassword(err.Error(), t))
	}
	// What the primary has is what counts, whatever the connection string says: the ledger is checked against it.
	database := client.Database(o.Database, options.Database().SetReadPreference(readpref.Primary()))
	return &target{
		client: client, database: database, name: t.Name(),
		documents: database.Collection(documentsCollection),
		copies:    database.Collection(copyCollection),
		marker:    database.Collection(markerCollection),
	}, nil
}

// settings are those of every client of a target.
func (t Target) settings() (*options.ClientOptions, error) {
	settings := options.Client().ApplyURI(t.withUser())
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("connection string of %s: %s", t.Name(), withoutPassword(err.Error(), t))
	}
	settings.SetAppName(applicationName)
	if t.Dialer != nil {
		settings.SetDialer(t.Dialer)
	}
	return settings, nil
}

// withUser is the connection string with the user and the password that it lacks.
func (t Target) withUser() string {
	scheme, rest, found := strings.Cut(t.URI, "://")
	userinfo, hosts, named := cutLast(rest, "@")
	if !named {
		userinfo, hosts = escaped(t.Username), rest
	}
	if !found || userinfo == "" || strings.Contains(userinfo, ":") || t.Password == "" {
		return t.URI
	}
	return scheme + "://" + userinfo + ":" + escaped(t.Password) + "@" + hosts
}

// escaped is a user or password as connection strings take them, which know no plus for a blank.
func escaped(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// writeConcern of every write, always said: servers differ in their default.
func (o Options) writeConcern() (*writeconcern.WriteConcern, error) {
	concern := writeconcern.Majority()
	if o.WriteConcern != "majority" {
		members, err := strconv.Atoi(o.WriteConcern)
		if err != nil || members < 1 || members > 50 {
			return nil, fmt.Errorf("write concern %q: it has to be majority or the number of members, from 1 to 50", o.WriteConcern)
		}
		concern = &writeconcern.WriteConcern{W: members}
	}
	if o.Journal {
		concern.Journal = new(true)
	}
	return concern, nil
}

// Name is the target's hosts: nothing of its credentials.
func (t Target) Name() string {
	_, rest, found := strings.Cut(t.URI, "://")
	if !found {
		return "target"
	}
	rest, _, _ = strings.Cut(rest, "?")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	hosts, _, _ := strings.Cut(rest, "/")
	return hosts
}

// HasPassword tells whether a connection string has a password in it.
func HasPassword(uri string) bool {
	_, rest, _ := strings.Cut(uri, "://")
	userinfo, _, found := cutLast(rest, "@")
	_, password, _ := strings.Cut(userinfo, ":")
	return found && password != ""
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// withoutPassword takes passwords out of an error's text.
func withoutPassword(text string, t Target) string {
	if t.Password != "" {
		text = strings.ReplaceAll(text, t.Password, "***")
		text = strings.ReplaceAll(text, escaped(t.Password), "***")
	}
	_, rest, _ := strings.Cut(t.URI, "://")
	if userinfo, _, found := cutLast(rest, "@"); found {
		if _, password, _ := strings.Cut(userinfo, ":"); password != "" {
			text = strings.ReplaceAll(text, password, "***")
		}
	}
	return text
}

// greet finds out whether the target answers and what it is.
func (t *target) greet(ctx context.Context) error {
	var answer struct {
		Message string `bson:"msg"`
	}
	// hello is not known before 4.4.
	if err := t.client.Database("admin").RunCommand(ctx, bson.D{{Key: "isMaster", Value: 1}}).Decode(&answer); err != nil {
		return fmt.Errorf("ask %s who it is: %w", t.name, err)
	}
	t.router = answer.Message == "isdbgrid"
	return nil
}

func (t *target) close(ctx context.Context) error {
	if err := t.client.Disconnect(ctx); err != nil && !errors.Is(err, mongo.ErrClientDisconnected) {
		return fmt.Errorf("close the connections to %s: %w", t.name, err)
	}
	return nil
}

// leaders are the servers that take writes: every router, or the primary.
func (t *target) leaders(ctx context.Context, settings *options.ClientOptions) ([]string, error) {
	if t.router {
		return settings.Hosts, nil
	}
	var answer struct {
		Primary string `bson:"primary"`
		Me      string `bson:"me"`
	}
	if err := t.client.Database("admin").RunCommand(ctx, bson.D{{Key: "isMaster", Value: 1}}).Decode(&answer); err != nil {
		return nil, fmt.Errorf("ask %s who leads: %w", t.name, err)
	}
	if answer.Primary == "" {
		// A server alone is no replica set.
		return settings.Hosts[:1], nil
	}
	return []string{answer.Primary}, nil
}

// connectionsOf is a client of one server that may open so many connections, all at once.
func (o Options) connectionsOf(t Target, host string, count uint64, watch *event.PoolMonitor) (*mongo.Client, error) {
	settings, err := t.settings()
	if err != nil {
		return nil, err
	}
	settings.ReplicaSet = nil
	settings.SetHosts([]string{host}).SetDirect(true).SetServerSelectionTimeout(o.Timeout).
		SetConnectTimeout(o.Timeout).SetMaxPoolSize(count).SetMaxConnecting(count).SetPoolMonitor(watch).SetRetryReads(false)
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %s", host, withoutPassword(err.Error(), t))
	}
	return client, nil
}

// disconnectTimeout is how long the end of connections may take.
const disconnectTimeout = 5 * time.Second
