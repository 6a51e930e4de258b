// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// admin is the database that administrative commands are sent to, and that users and roles are stored in.
const admin = "admin"

// Member is a direct connection to one mongod, whatever its role in a replica set. It is safe for concurrent use
// and meant to be kept.
type Member struct{ process }

// Dial prepares a direct connection to the mongod at host:port. It sends nothing, so a member that is away shows at
// the first command; the error is one of the arguments.
func Dial(address string, opts Options) (*Member, error) {
	c, err := dial(opts, true, address)
	if err != nil {
		return nil, err
	}
	return &Member{process{c}}, nil
}

// process is what a mongod and a mongos answer alike.
type process struct{ *connection }

// Hello asks the server who it is in its cluster. Servers before 4.4.2 know the question as isMaster.
func (p process) Hello(ctx context.Context) (Hello, error) {
	answer, err := p.askHello(ctx)
	return helloOf(answer), err
}

// BuildInfo asks for the server's version.
func (p process) BuildInfo(ctx context.Context) (BuildInfo, error) {
	answer, err := p.ask(ctx, admin, bson.D{{Key: "buildInfo", Value: 1}})
	return BuildInfo{Version: answer.word("version")}, err
}

// CommandLine asks what the process was started with. Settings that were changed online do not show in it.
func (p process) CommandLine(ctx context.Context) (CommandLine, error) {
	answer, err := p.ask(ctx, admin, bson.D{{Key: "getCmdLineOpts", Value: 1}})
	return CommandLine{Parsed: answer.section("parsed"), Arguments: answer.words("argv")}, err
}

// ServerStatus asks for the counters, including the latency histograms.
func (p process) ServerStatus(ctx context.Context) (serverstatus.Status, error) {
	answer, err := p.ask(ctx, admin, bson.D{
		{Key: "serverStatus", Value: 1},
		{Key: "opLatencies", Value: bson.D{{Key: "histograms", Value: true}}},
		// Nobody reads these, and they are long.
		{Key: "locks", Value: 0}, {Key: "tcmalloc", Value: 0},
	})
	return serverStatusOf(answer), err
}

// ReplicaSetStatus asks the member how it sees its replica set. A member without a configuration is an answer with
// the state NotYetInitialized, not an error.
func (m *Member) ReplicaSetStatus(ctx context.Context) (ReplicaSetStatus, error) {
	answer, err := m.ask(ctx, admin, bson.D{{Key: "replSetGetStatus", Value: 1}})
	if isUninitialized(err) {
		return ReplicaSetStatus{State: NotYetInitialized}, nil
	}
	return replicaSetStatusOf(answer), err
}

// ReplicaSetConfig asks for the configuration of the member's replica set. A member without one is an answer that
// is not Initialized, not an error.
func (m *Member) ReplicaSetConfig(ctx context.Context) (ReplicaSetConfig, error) {
	answer, err := m.ask(ctx, admin, bson.D{{Key: "replSetGetConfig", Value: 1}})
	if isUninitialized(err) {
		return ReplicaSetConfig{}, nil
	}
	return replicaSetConfigOf(answer), err
}

// askHello sends hello, and isMaster to a server that does not know it.
func (p process) askHello(ctx context.Context) (document, error) {
	answer, err := p.ask(ctx, admin, bson.D{{Key: "hello", Value: 1}})
	if isUnknownCommand(err) {
		return p.ask(ctx, admin, bson.D{{Key: "isMaster", Value: 1}})
	}
	return answer, err
}
