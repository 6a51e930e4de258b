// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// applicationName is what the server's log and currentOp show of our connections.
	applicationName = "mongotuning"
	// connectionsPerServer bounds what one look can cost a busy server: it opens a thread per connection.
	connectionsPerServer = 3
	// selectionTimeout is how long a command waits for a server that does not answer; a look has 3 s in all.
	selectionTimeout = 2 * time.Second
	// heartbeatInterval is how often the driver greets a server on its own. Looks notice failures by themselves.
	heartbeatInterval = 30 * time.Second
)

// connection is a client of one server, or of the equal routers of one cluster. It is safe for concurrent use.
type connection struct {
	client  *mongo.Client
	address string
	secrets []string
}

// Options say how to dial.
type Options struct {
	// Credentials to authenticate with; the zero value does not authenticate.
	Credentials Credentials
	// Answered is told of every command that a server answered or failed to answer; result is ok or error.
	// Nil tells nobody.
	Answered func(command, result string)
}

// monitor watches the commands of a client. The server's errors within an answer count as answered.
func (o Options) monitor() *event.CommandMonitor {
	monitor := &event.CommandMonitor{Started: noteSent}
	if o.Answered != nil {
		monitor.Succeeded = func(_ context.Context, e *event.CommandSucceededEvent) { o.Answered(e.CommandName, "ok") }
		monitor.Failed = func(_ context.Context, e *event.CommandFailedEvent) { o.Answered(e.CommandName, "error") }
	}
	return monitor
}

// dial prepares a client. It sends nothing: a server that is away shows at the first command.
func dial(opts Options, direct bool, addresses ...string) (*connection, error) {
	if len(addresses) == 0 || strings.TrimSpace(addresses[0]) == "" {
		return nil, errors.New("dial: no address")
	}
	settings := options.Client().
		SetHosts(addresses).
		SetDirect(direct).
		SetAppName(applicationName).
		SetMaxPoolSize(connectionsPerServer).
		SetServerSelectionTimeout(selectionTimeout).
		SetConnectTimeout(selectionTimeout).
		SetHeartbeatInterval(heartbeatInterval).
		SetServerMonitoringMode("poll").
		SetRetryWrites(false).
		SetRetryReads(false).
		SetMonitor(opts.monitor())
	if opts.Credentials != (Credentials{}) {
		settings.SetAuth(options.Credential{
			AuthMechanism: mechanism,
			AuthSource:    opts.Credentials.Source,
			Username:      opts.Credentials.Username,
			Password:      opts.Credentials.Password,
			PasswordSet:   true,
		})
	}
	address := strings.Join(addresses, ",")
	secrets := []string{opts.Credentials.Password}
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %s", address, withoutSecrets(err.Error(), secrets))
	}
	return &connection{client: client, address: address, secrets: secrets}, nil
}

// Close ends the connections. It waits for the server no longer than the context allows.
func (c *connection) Close(ctx context.Context) error {
	if err := c.client.Disconnect(ctx); err != nil && !errors.Is(err, mongo.ErrClientDisconnected) {
		return c.failed("close", err)
	}
	return nil
}

// Address is what was dialled: host:port, several of them separated by commas.
func (c *connection) Address() string { return c.address }

// sentMark is the context's key of an *atomic.Bool that becomes true when the command goes out.
type sentMark struct{}

func noteSent(ctx context.Context, _ *event.CommandStartedEvent) {
	if sent, ok := ctx.Value(sentMark{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// ask runs a command that changes nothing.
func (c *connection) ask(ctx context.Context, database string, command bson.D) (document, error) {
	raw, err := c.client.Database(database).RunCommand(ctx, command).Raw()
	if err != nil {
		return nil, c.failed(command[0].Key, err)
	}
	return documentOf(raw)
}

// act runs an administrative command that changes something. Its error tells whether the command may have been performed although
// no answer came. The secrets are those in the command.
func (c *connection) act(ctx context.Context, command bson.D, secrets ...string) error {
	var sent atomic.Bool
	ctx = context.WithValue(ctx, sentMark{}, &sent)
	if err := c.client.Database(admin).RunCommand(ctx, command).Err(); err != nil {
		failure := c.failed(command[0].Key, err, secrets...)
		if sent.Load() && failure.isUnanswered() {
			failure.kinds = append(failure.kinds, ErrMaybeDone)
		}
		return failure
	}
	return nil
}

func (c *connection) failed(command string, err error, secrets ...string) *commandError {
	return &commandError{
		command: command,
		address: c.address,
		text:    withoutSecrets(strings.TrimSpace(err.Error()), append(secrets, c.secrets...)),
		kinds:   kindsOf(err),
	}
}

// majority is the write concern of every write: servers differ in their default, and from 5.0 on a write without
// a time limit waits for ever when secondaries are frozen.
func majority() bson.E {
	return bson.E{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: writeTimeout.Milliseconds()}}}
}

// writeTimeout is how long a write may wait for a majority. It is below the 10 s after which a primary without a
// majority gives up its lead, so that the answer is about the write.
const writeTimeout = 5 * time.Second
