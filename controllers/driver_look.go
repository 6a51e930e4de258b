// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// Look asks a mongod everything that decisions are made from. A member that does not know the operator
// is asked who it is without credentials: a set that is not initiated has no users.
func (d *DriverDatabases) Look(ctx context.Context, server Server, as secrets) observed.Look {
	member, err := d.member(ctx, server, as)
	if err != nil {
		return observed.Look{Error: err.Error()}
	}
	answers := member.Look(ctx, catalog.ParametersToRead(server.Line)...)
	if errors.Is(answers.Hello.Err, mongodb.ErrAuthenticationFailed) {
		return lookLockedOut(ctx, server)
	}
	look := lookOf(answers)
	if server.WantsOplog && (look.State == observed.StatePrimary || look.State == observed.StateSecondary) {
		lookAtOplog(ctx, member, &look)
	}
	if server.WantsMigrations && look.State == observed.StatePrimary {
		lookAtMigrations(ctx, member, &look)
	}
	lookAtKnobs(ctx, member, server, &look)
	look.MissingRights = d.missingRights(ctx, member, server)
	return look
}

// lookAtKnobs reads what some knobs are proved from and nothing else needs. A question that is not
// answered leaves its knobs unknown.
func lookAtKnobs(ctx context.Context, member *mongodb.Member, server Server, look *observed.Look) {
	if server.WantsSlowOperations {
		look.Process.SlowOperations, _ = member.SlowOperations(ctx)
	}
	if server.WantsOplogSize {
		look.Process.OplogStats, _ = member.OplogStats(ctx)
	}
}

// missingRights are the rights that the operator's role lacks on a member: it was made by an older
// release. Once nothing is missing a client is not asked again.
func (d *DriverDatabases) missingRights(ctx context.Context, member *mongodb.Member, server Server) []string {
	d.mu.Lock()
	entry := d.members[server.PodUID]
	settled := entry == nil || entry.rightsProved
	d.mu.Unlock()
	if settled {
		return nil
	}
	missing, err := member.MissingRights(ctx, mongodb.OperatorRole())
	if err == nil && len(missing) == 0 {
		d.mu.Lock()
		entry.rightsProved = true
		d.mu.Unlock()
	}
	return missing
}

func lookLockedOut(ctx context.Context, server Server) observed.Look {
	look := observed.Look{LockedOut: true}
	err := withMember(ctx, server, mongodb.Credentials{}, func(member *mongodb.Member) error {
		hello, err := member.Hello(ctx)
		if err != nil {
			return err
		}
		look.State = stateOfHello(hello)
		return nil
	})
	look.Error = inShort(err)
	return look
}

// inShort is an error as people read it in a status. That a server does not answer is all there is to
// say of one that is not reached; the driver's account of its attempts only changes with every look.
func inShort(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, mongodb.ErrUnreachable):
		return "it does not answer"
	default:
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
}

func stateOfHello(hello mongodb.Hello) observed.State {
	switch {
	case hello.IsUninitialized:
		return observed.StateUninitiated
	case hello.IsPrimary:
		return observed.StatePrimary
	case hello.IsSecondary:
		return observed.StateSecondary
	default:
		return observed.StateOther
	}
}

// lookOf turns answers into what is judged. An error of one question leaves its part unknown.
func lookOf(answers mongodb.Answers) observed.Look {
	look := observed.Look{State: stateOf(answers.State()), InInitialSync: answers.State() == mongodb.InitialSync}
	look.Error = inShort(answers.Err())
	if build := answers.BuildInfo.Value; build != nil {
		look.Process.Version, _ = catalog.ParseVersion(build.Version)
	}
	if line := answers.CommandLine.Value; line != nil {
		look.Process.CommandLine = line.Parsed
	}
	if parameters := answers.Parameters.Value; parameters != nil {
		look.Process.Parameters = *parameters
	}
	if serverStatus := answers.ServerStatus.Value; serverStatus != nil {
		look.Process.ServerStatus = serverStatus.Document
		look.Status = serverStatus
	}
	if set := answers.ReplicaSetStatus.Value; set != nil {
		look.Optimes = observed.Optimes{LastApplied: timeOf(set.LastAppliedWallTime), LastCommitted: timeOf(set.LastCommittedWallTime)}
		look.Peers = map[string]observed.Peer{}
		for _, peer := range set.Members {
			look.Peers[peer.Address] = observed.Peer{
				Healthy: peer.IsHealthy || peer.IsSelf, State: stateOf(peer.State),
				OptimeDate: timeOf(peer.OptimeDate), LastApplied: timeOf(peer.LastAppliedWallTime),
			}
			if peer.IsSelf {
				look.LeadsFor = leadsFor(peer, timeOf(set.Date))
			}
		}
	}
	return look
}

// leadsFor is how long a member has led, 0 when it does not. Elections are dated by the cluster's time, which
// never goes back and may be ahead of every clock; so is the newest operation, which a primary writes at
// least every ten seconds. Whichever is later is taken for now.
func leadsFor(self mongodb.MemberStatus, now time.Time) time.Duration {
	elected := timeOf(self.ElectionDate)
	if elected.IsZero() || now.IsZero() {
		return 0
	}
	if newest := timeOf(self.OptimeDate); newest.After(now) {
		now = newest
	}
	// Elections are told in whole seconds.
	return max(time.Second, now.Sub(elected))
}

// timeOf is a point in time, zero when the server did not tell.
func timeOf(moment *time.Time) time.Time {
	if moment == nil {
		return time.Time{}
	}
	return *moment
}

// lookAtOplog reads what the oplog of a member covers.
func lookAtOplog(ctx context.Context, member *mongodb.Member, look *observed.Look) {
	window, err := member.OplogWindow(ctx)
	if err != nil {
		look.OplogError = err.Error()
		return
	}
	look.Oplog = &observed.Oplog{First: window.First.Time(), Last: window.Last.Time(), IsFull: window.IsFull()}
}

// lookAtMigrations reads which chunks move between shards.
func lookAtMigrations(ctx context.Context, member *mongodb.Member, look *observed.Look) {
	migrations, err := member.Migrations(ctx)
	if err != nil {
		look.MigrationsError = inShort(err)
		return
	}
	for _, migration := range migrations {
		look.Migrations = append(look.Migrations, observed.Migration{Namespace: migration.Namespace, From: migration.From, To: migration.To})
	}
}

func stateOf(state mongodb.MemberState) observed.State {
	switch state {
	case "":
		return observed.StateUnknown
	case mongodb.NotYetInitialized:
		return observed.StateUninitiated
	case mongodb.Primary:
		return observed.StatePrimary
	case mongodb.Secondary:
		return observed.StateSecondary
	case mongodb.Startup, mongodb.Recovering, mongodb.InitialSync, mongodb.UnknownState,
		mongodb.Arbiter, mongodb.Down, mongodb.Rollback, mongodb.Removed:
		return observed.StateOther
	default:
		return observed.StateOther
	}
}

var errSilent = errors.New("it does not answer")

// LookAtMongos asks a router which shards it lists.
func (d *DriverDatabases) LookAtMongos(ctx context.Context, server Server, as secrets) ([]string, error) {
	mongos, err := d.mongos(ctx, server, as)
	if err != nil {
		return nil, err
	}
	listed, err := mongos.ListShards(ctx)
	if errors.Is(err, mongodb.ErrUnreachable) {
		return nil, errSilent
	}
	if err != nil {
		return nil, err
	}
	shards := make([]string, 0, len(listed))
	for _, shard := range listed {
		shards = append(shards, shard.ID)
	}
	return shards, nil
}
