// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Mongos is a connection to the routers of one sharded cluster, or to a single one of them. Only documented commands
// are sent. It is safe for concurrent use and meant to be kept.
type Mongos struct{ process }

// DialMongos prepares a connection to routers at host:port. It sends nothing. One address is that router (or the
// service before several) and no other; several are equals of which any may answer.
func DialMongos(opts Options, addresses ...string) (*Mongos, error) {
	c, err := dial(opts, len(addresses) == 1, addresses...)
	if err != nil {
		return nil, err
	}
	return &Mongos{process{c}}, nil
}

// MongosAnswers are one look at a mongos.
type MongosAnswers struct {
	ProcessAnswers
	Shards   Answer[[]Shard]
	Balancer Answer[Balancer]
}

// Shard is a shard as mongos lists it.
type Shard struct {
	// ID is the shard's name, by default that of its replica set.
	ID string
	// Host is the replica set's name, a slash and its members' addresses, separated by commas.
	Host string
	// IsDraining tells that the shard is being removed.
	IsDraining bool
}

// Balancer is what the balancer does.
type Balancer struct {
	// Mode is full, or off.
	Mode string
	// IsInRound tells that chunks are being moved.
	IsInRound bool
}

// Migration is a chunk on its way.
type Migration struct {
	// Namespace is the database and the collection, with a dot between them.
	Namespace string
	// From and To are the ids of shards.
	From, To string
}

// Look asks a mongos everything at once, within the context's deadline, as Member.Look does.
func (m *Mongos) Look(ctx context.Context, parameters ...string) MongosAnswers {
	answers := MongosAnswers{ProcessAnswers: ProcessAnswers{Hello: answerOf(m.Hello(ctx))}}
	if err := answers.Hello.Err; isFinal(err) {
		answers.refuse(err)
		answers.Shards.Err, answers.Balancer.Err = err, err
		return answers
	}
	var asked sync.WaitGroup
	m.lookAtProcess(ctx, &asked, &answers.ProcessAnswers, parameters)
	asked.Go(func() { answers.Shards = answerOf(m.ListShards(ctx)) })
	asked.Go(func() { answers.Balancer = answerOf(m.BalancerStatus(ctx)) })
	asked.Wait()
	return answers
}

// IsMongos tells whether the server says that it is a mongos.
func (m *Mongos) IsMongos(ctx context.Context) (bool, error) {
	hello, err := m.Hello(ctx)
	return hello.IsMongos, err
}

// ListShards asks which shards the cluster has.
func (m *Mongos) ListShards(ctx context.Context) ([]Shard, error) {
	answer, err := m.ask(ctx, admin, bson.D{{Key: "listShards", Value: 1}})
	if err != nil {
		return nil, err
	}
	shards := []Shard{}
	for _, shard := range answer.list("shards") {
		shards = append(shards, Shard{ID: shard.word("_id"), Host: shard.word("host"), IsDraining: shard.is("draining")})
	}
	return shards, nil
}

// AddShard adds a replica set to the cluster, under the set's own name. The host is the set's name, a slash and
// addresses of its members. Adding a shard that is there already succeeds.
func (m *Mongos) AddShard(ctx context.Context, host string) error {
	return m.act(ctx, bson.D{{Key: "addShard", Value: host}, majority()})
}

// BalancerStatus asks what the balancer does.
func (m *Mongos) BalancerStatus(ctx context.Context) (Balancer, error) {
	answer, err := m.ask(ctx, admin, bson.D{{Key: "balancerStatus", Value: 1}})
	return Balancer{Mode: answer.word("mode"), IsInRound: answer.is("inBalancerRound")}, err
}

// Migrations reads which chunks are on their way, at most a hundred. Members of the config servers answer it too.
func (p process) Migrations(ctx context.Context) ([]Migration, error) {
	rows, err := p.find(ctx, "config", bson.D{
		{Key: "find", Value: "migrations"},
		{Key: "limit", Value: maxMigrations},
		{Key: "singleBatch", Value: true},
	})
	migrations := make([]Migration, 0, len(rows))
	for _, row := range rows {
		migrations = append(migrations, Migration{Namespace: row.word("ns"), From: row.word("fromShard"), To: row.word("toShard")})
	}
	return migrations, err
}

// maxMigrations is more than a cluster can have at once: a shard takes part in one at a time.
const maxMigrations = 100
