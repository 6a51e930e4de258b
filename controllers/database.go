// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// Server is one mongod or mongos pod to talk to.
type Server struct {
	// PodUID tells this server from another at the same address, before or after it.
	PodUID string
	// Address is the pod's IP and port.
	Address string
	// Line is the release line the server is declared to be of; it decides what can be asked.
	Line catalog.Line
	// WantsOplog asks a look to read what the oplog covers, which takes three commands of its own.
	WantsOplog bool
	// WantsMigrations asks a look to read which chunks move; config servers know.
	WantsMigrations bool
	// WantsOplogSize and WantsSlowOperations ask a look to read what these knobs are proved from, which
	// takes a command each; they are asked for only where the knobs are declared.
	WantsOplogSize, WantsSlowOperations bool
}

// Databases talks to the servers of all clusters. There is one implementation, DriverDatabases; it is an
// interface so that the reconciler can be tested against a scripted one in addition to real servers.
type Databases interface {
	// Look asks a mongod everything that decisions are made from. What was not answered is said in
	// the look, never returned as an error.
	Look(ctx context.Context, server Server, as Credentials) observed.Look
	// LookAtMongos asks a router which shards it lists, which takes the operator's rights.
	LookAtMongos(ctx context.Context, server Server, as Credentials) (shards []string, err error)
	// KnowsApp tells whether the config servers let the application's user in with its password.
	KnowsApp(ctx context.Context, server Server, as Credentials) (bool, error)

	// Initiate gives a new replica set its configuration, as the members' own identity.
	Initiate(ctx context.Context, server Server, as Credentials, set InitiateRequest) error
	// CreateOperator makes the operator's role and user, or resets its password, as the members' own
	// identity: nobody else can while the operator's user is unknown.
	CreateOperator(ctx context.Context, server Server, as Credentials) error
	// CreateApp makes the application's role and user, or sets its password.
	CreateApp(ctx context.Context, server Server, as Credentials) error
	// AddShard makes a replica set a shard, through mongos.
	AddShard(ctx context.Context, mongos Server, as Credentials, replicaSet string, hosts []string) error
	// Set brings changed values into force on a running mongod.
	Set(ctx context.Context, server Server, as Credentials, changes catalog.Changes) error
	// StepDown asks a primary to hand over and to stay out of elections for a while; it is never forced.
	StepDown(ctx context.Context, server Server, as Credentials, stayAway time.Duration) error

	// Forget closes the connections to every server whose pod is not among those that live.
	Forget(ctx context.Context, cluster string, livePodUIDs map[string]bool)
}

// InitiateRequest is the first configuration of a replica set.
type InitiateRequest struct {
	Name         string
	Hosts        []string
	ConfigServer bool
}
