// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// InitialConfig is the first configuration of a replica set.
type InitialConfig struct {
	// Name of the set.
	Name string
	// IsConfigServer marks the set of the config servers.
	IsConfigServer bool
	// Members of the set; each votes.
	Members []InitialMember
}

// InitialMember is a member of a set that is made.
type InitialMember struct {
	// ID stays with the member.
	ID int32
	// Address is how clients and the other members reach it.
	Address string
	// Priority in elections; 0 is never elected.
	Priority float64
}

// Initiate makes a replica set of members that are reachable and empty. It returns ErrAlreadyInitialized when the
// set exists, which is harmless.
func (m *Member) Initiate(ctx context.Context, config InitialConfig) error {
	members := make(bson.A, 0, len(config.Members))
	for _, member := range config.Members {
		members = append(members, bson.D{
			{Key: "_id", Value: member.ID},
			{Key: "host", Value: member.Address},
			{Key: "priority", Value: member.Priority},
		})
	}
	set := bson.D{{Key: "_id", Value: config.Name}, {Key: "version", Value: 1}}
	if config.IsConfigServer {
		set = append(set, bson.E{Key: "configsvr", Value: true})
	}
	set = append(set, bson.E{Key: "members", Value: members})
	return m.act(ctx, bson.D{{Key: "replSetInitiate", Value: set}})
}

// StepDown asks a primary to let another lead and to stay out of elections for a while. It is never forced: without
// an electable secondary that is caught up in time it returns ErrExceededTimeLimit, and the primary stays. Both
// durations count in whole seconds, and the first must be the longer one. ErrMaybeDone means that the member has to
// be looked at; a secondary answers ErrNotPrimary.
func (m *Member) StepDown(ctx context.Context, stayAway, catchUp time.Duration) error {
	return m.act(ctx, bson.D{
		{Key: "replSetStepDown", Value: int64(stayAway / time.Second)},
		{Key: "secondaryCatchUpPeriodSecs", Value: int64(catchUp / time.Second)},
	})
}

// OplogSize is how much of the past a member's oplog keeps.
type OplogSize struct {
	// Megabytes it may take, at least 990; 0 leaves it alone.
	Megabytes float64
	// MinRetentionHours it must keep, even beyond its size; nil leaves it alone. 4.4+: 4.2 takes it without a
	// word and does nothing.
	MinRetentionHours *float64
}

// ResizeOplog changes the size of this member's oplog, which outlives the process.
func (m *Member) ResizeOplog(ctx context.Context, size OplogSize) error {
	// Both must be doubles: the server refuses whole numbers.
	command := bson.D{{Key: "replSetResizeOplog", Value: 1}}
	if size.Megabytes != 0 {
		command = append(command, bson.E{Key: "size", Value: size.Megabytes})
	}
	if size.MinRetentionHours != nil {
		command = append(command, bson.E{Key: "minRetentionHours", Value: *size.MinRetentionHours})
	}
	return m.act(ctx, command)
}

// OplogStats asks for the statistics of the member's oplog, its greatest size among them.
func (m *Member) OplogStats(ctx context.Context) (map[string]any, error) {
	return m.ask(ctx, "local", bson.D{{Key: "collStats", Value: "oplog.rs"}})
}

// OplogWindow is the span of time that a member's oplog covers: how long another may be away and still catch up.
type OplogWindow struct {
	// First and Last are the oldest and the newest operation in it.
	First, Last Timestamp
	// Bytes are in it, of at most MaxBytes; both 0 when the server does not tell.
	Bytes, MaxBytes int64
}

// Duration is the length of the window, to the second.
func (w OplogWindow) Duration() time.Duration { return w.Last.Time().Sub(w.First.Time()) }

// fullShare is how much of its greatest size an oplog has at least when it is full: servers drop it in stretches, of
// about a fiftieth from 990 MB on.
const fullShare = 0.95

// IsFull tells that the oplog has reached its greatest size. It then drops what is oldest, unless a time to retain
// it for is in force.
func (w OplogWindow) IsFull() bool {
	return w.MaxBytes > 0 && float64(w.Bytes) >= fullShare*float64(w.MaxBytes)
}

// OplogWindow reads the oldest and the newest entry of the member's oplog, and how full it is.
func (m *Member) OplogWindow(ctx context.Context) (OplogWindow, error) {
	first, err := m.oplogEnd(ctx, 1)
	if err != nil {
		return OplogWindow{}, err
	}
	last, err := m.oplogEnd(ctx, -1)
	if err != nil {
		return OplogWindow{}, err
	}
	window := OplogWindow{First: first, Last: last}
	// The ends are worth knowing without it.
	if stats, err := m.OplogStats(ctx); err == nil {
		window.Bytes, window.MaxBytes = value(document(stats).number("size")), value(document(stats).number("maxSize"))
	}
	return window, nil
}

func (m *Member) oplogEnd(ctx context.Context, direction int) (Timestamp, error) {
	rows, err := m.find(ctx, "local", bson.D{
		{Key: "find", Value: "oplog.rs"},
		{Key: "projection", Value: bson.D{{Key: "ts", Value: 1}}},
		{Key: "sort", Value: bson.D{{Key: "$natural", Value: direction}}},
		{Key: "limit", Value: 1},
		{Key: "singleBatch", Value: true},
	})
	if err != nil {
		return Timestamp{}, err
	}
	if len(rows) == 0 {
		return Timestamp{}, fmt.Errorf("find on %s: the oplog is empty", m.address)
	}
	at, _ := rows[0]["ts"].(Timestamp)
	return at, nil
}

// find runs a find command whose answer fits in its first batch.
func (c *connection) find(ctx context.Context, database string, command bson.D) ([]document, error) {
	answer, err := c.ask(ctx, database, command)
	if err != nil {
		return nil, err
	}
	return answer.section("cursor").list("firstBatch"), nil
}
