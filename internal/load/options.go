// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Options say what is loaded and with what.
type Options struct {
	// Targets are asked together: one that names the mongos of a cluster, or several replica sets, among which
	// documents are spread by a hash of their _id, so that a cluster's shards can be loaded without a mongos.
	Targets []Target
	// Database to work in, DefaultDatabase when empty. One that this tool did not make is refused.
	Database string
	// Existing lets the tool work in a database that it did not make. It touches its own collections only.
	Existing bool
	// Sharded has the collections sharded by a hash of _id, through mongos and by a user who may.
	Sharded bool
	// Documents to prepare and to choose from, DefaultDocuments when 0.
	Documents int64
	// DocumentBytes is the size of each, SmallDocument when 0.
	DocumentBytes int
	// Mix of operations.
	Mix Mix
	// Keys is how documents are chosen, Uniform when empty.
	Keys Keys
	// Bulk is how many updates one bulk_update sends, DefaultBulk when 0.
	Bulk int
	// WriteConcern of every write: a number of members, or majority, which it is when empty.
	WriteConcern string
	// Journal has each write wait for the journal too.
	Journal bool
	// Timeout of one operation with all that the driver tries, DefaultTimeout when 0.
	Timeout time.Duration
	// Seed makes choices repeatable.
	Seed uint64
	// Now is the clock.
	Now func() time.Time
	// Progress is told how far it is, about every ProgressEvery. Nil tells nobody.
	Progress      func(Progress)
	ProgressEvery time.Duration
}

// Target is a cluster or a replica set.
type Target struct {
	// URI is its connection string.
	URI string
	// Username is the user when the connection string names none, and Password the password when it has none.
	Username, Password string
	// Dialer connects, nil for the driver's own.
	Dialer options.ContextDialer
}

// Stage is one run: it ends with its time or its count, whichever is first.
type Stage struct {
	// Threads that ask, each one thing after the other.
	Threads int
	// Rate of operations per second over all threads; 0 lets each thread go as fast as it can.
	Rate float64
	// Duration after which nothing new is begun.
	Duration time.Duration
	// Operations after which nothing new is begun.
	Operations int64
}

// What holds unless options say otherwise.
const (
	DefaultDatabase  = "mongotuning_load"
	DefaultDocuments = 10_000
	DefaultBulk      = 100
	DefaultTimeout   = 10 * time.Second
)

// The limits of options. Every run has to end, and has to fit into memory.
const (
	// MaxThreads is as many as mongod takes connections by default.
	MaxThreads = 65_536
	// MaxDuration of one run.
	MaxDuration = 24 * time.Hour
	// MaxOperations of one run.
	MaxOperations = 10_000_000_000
	// MaxDocuments needs half a gigabyte for the ledger.
	MaxDocuments = 50_000_000
	// MaxBulk is how many writes a server takes in one command.
	MaxBulk = 100_000
)

func (o Options) withDefaults() Options {
	if o.Database == "" {
		o.Database = DefaultDatabase
	}
	if o.Documents == 0 {
		o.Documents = DefaultDocuments
	}
	if o.DocumentBytes == 0 {
		o.DocumentBytes = SmallDocument
	}
	if o.Keys == "" {
		o.Keys = Uniform
	}
	if o.Bulk == 0 {
		o.Bulk = DefaultBulk
	}
	if o.WriteConcern == "" {
		o.WriteConcern = "majority"
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	return o
}

// systemDatabases hold what a cluster cannot live without.
var systemDatabases = []string{"admin", "config", "local"}

func (o Options) check() error {
	if len(o.Targets) == 0 {
		return errors.New("no target: give a connection string")
	}
	if o.Now == nil {
		return errors.New("no clock")
	}
	if o.Mix.sum == 0 {
		return errors.New("no mix of operations")
	}
	if slices.Contains(systemDatabases, o.Database) || strings.ContainsAny(o.Database, `/\. "$*<>:|?`) {
		return fmt.Errorf("database %q: choose a name of your own for the load, without any of /\\. \"$*<>:|?", o.Database)
	}
	if o.Sharded && len(o.Targets) > 1 {
		return fmt.Errorf("%d targets cannot be sharded: collections are sharded through mongos, which is one target", len(o.Targets))
	}
	for _, limit := range []struct {
		what           string
		value, low, up int64
	}{
		{"documents", o.Documents, 1, MaxDocuments},
		{"bytes of a document", int64(o.DocumentBytes), MinDocument, MaxDocument},
		{"updates in a bulk", int64(o.Bulk), 1, MaxBulk},
		{"milliseconds of timeout", o.Timeout.Milliseconds(), 1, time.Hour.Milliseconds()},
	} {
		if err := within(limit.what, limit.value, limit.low, limit.up); err != nil {
			return err
		}
	}
	_, err := o.writeConcern()
	return err
}

func (s Stage) check() error {
	if s.Rate < 0 {
		return fmt.Errorf("a rate of %g operations per second: it has to be 0, for as fast as threads can, or more", s.Rate)
	}
	for _, limit := range []struct {
		what           string
		value, low, up int64
	}{
		{"threads", int64(s.Threads), 1, MaxThreads},
		{"milliseconds of a run", s.Duration.Milliseconds(), 1, MaxDuration.Milliseconds()},
		{"operations of a run", s.Operations, 1, MaxOperations},
	} {
		if err := within(limit.what, limit.value, limit.low, limit.up); err != nil {
			return err
		}
	}
	return nil
}

func within(what string, value, low, up int64) error {
	if value < low || value > up {
		return fmt.Errorf("%d %s: it has to be from %d to %d", value, what, low, up)
	}
	return nil
}

// Progress is how far a run is.
type Progress struct {
	// Doing is what is under way.
	Doing string
	// Elapsed of the run.
	Elapsed time.Duration
	// PerSecond are operations per second since the last progress.
	PerSecond float64
	// P99 of their latencies.
	P99 time.Duration
	// Failed operations since the start.
	Failed int64
}
