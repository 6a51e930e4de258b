// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// DriverDatabases talks to real servers. It keeps one client for each pod, made anew when the pod or the
// operator's password is another one.
type DriverDatabases struct {
	// Answered is told of every command that a server answered or failed to answer; nil tells nobody.
	Answered func(command, result string)

	mu      sync.Mutex
	members map[string]*cached[*mongodb.Member]
	routers map[string]*cached[*mongodb.Mongos]
}

// cached is a client with what it was made for.
type cached[T closer] struct {
	client   T
	cluster  string
	password string
	// rightsProved tells that the operator's role was found to have every right of this release.
	rightsProved bool
}

type closer interface {
	Close(ctx context.Context) error
}

const (
	// stepDownStayAway is how long a former primary stays out of elections: long enough to be
	// restarted, short enough to be of use again soon.
	stepDownStayAway = 60 * time.Second
	// stepDownCatchUp is how long a primary waits for a secondary to catch up before it refuses.
	stepDownCatchUp = 10 * time.Second
	// actDeadline bounds one act on one server; it is longer than what a write waits for a majority.
	actDeadline = 20 * time.Second
	// closeDeadline bounds the end of a connection to a server that is gone.
	closeDeadline = time.Second
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
		}
	}
	return look
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
	look.Oplog = &observed.Oplog{First: window.First.Time(), Last: window.Last.Time()}
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

// KnowsApp tells whether the config servers let the application's user in with its password.
func (d *DriverDatabases) KnowsApp(ctx context.Context, server Server, as secrets) (bool, error) {
	return mongodb.CanAuthenticate(ctx, server.Address, credentialsOf(as.app))
}

// Initiate gives a new replica set its configuration.
func (d *DriverDatabases) Initiate(ctx context.Context, server Server, as secrets, set InitiateRequest) error {
	config := mongodb.InitialConfig{Name: set.Name, IsConfigServer: set.ConfigServer}
	for id, host := range set.Hosts {
		config.Members = append(config.Members, mongodb.InitialMember{ID: int32(id), Address: host, Priority: 1})
	}
	err := withMember(ctx, server, mongodb.MemberIdentity(as.keyFile), func(member *mongodb.Member) error {
		return member.Initiate(ctx, config)
	})
	if errors.Is(err, mongodb.ErrAlreadyInitialized) {
		return nil
	}
	return err
}

// CreateOperator makes the operator's role and user, or resets its password.
func (d *DriverDatabases) CreateOperator(ctx context.Context, server Server, as secrets) error {
	return withMember(ctx, server, mongodb.MemberIdentity(as.keyFile), func(member *mongodb.Member) error {
		return createUser(ctx, member, mongodb.OperatorRole(), as.operator)
	})
}

// CreateApp makes the application's user, or sets its password and leaves its roles alone. It does so with
// the members' own identity: MongoDB cannot grant the right to change one user's password, only that
// of every user of a database, which would make the operator's own user as good as any of them.
func (d *DriverDatabases) CreateApp(ctx context.Context, server Server, as secrets) error {
	return withMember(ctx, server, mongodb.MemberIdentity(as.keyFile), func(member *mongodb.Member) error {
		exists, err := member.HasUser(ctx, as.app.username)
		if err != nil {
			return err
		}
		if exists {
			return member.SetPassword(ctx, as.app.username, as.app.password)
		}
		return createUser(ctx, member, mongodb.AppRole(), as.app)
	})
}

func createUser(ctx context.Context, member *mongodb.Member, role mongodb.Role, user login) error {
	if err := member.CreateOrUpdateRole(ctx, role); err != nil {
		return err
	}
	return member.CreateOrUpdateUser(ctx, mongodb.User{Name: user.username, Password: user.password, Roles: []string{role.Name}})
}

// AddShard makes a replica set a shard.
func (d *DriverDatabases) AddShard(ctx context.Context, server Server, as secrets, replicaSet string, hosts []string) error {
	mongos, err := d.mongos(ctx, server, as)
	if err != nil {
		return err
	}
	return mongos.AddShard(ctx, replicaSet+"/"+strings.Join(hosts, ","))
}

// StepDown asks a primary to hand over.
func (d *DriverDatabases) StepDown(ctx context.Context, server Server, as secrets) error {
	member, err := d.member(ctx, server, as)
	if err != nil {
		return err
	}
	err = member.StepDown(ctx, stepDownStayAway, stepDownCatchUp)
	if errors.Is(err, mongodb.ErrMaybeDone) || errors.Is(err, mongodb.ErrNotPrimary) {
		return nil // the next look tells who leads
	}
	return err
}

// Forget closes the connections of a cluster to every server whose pod is not among those that live.
func (d *DriverDatabases) Forget(ctx context.Context, cluster string, livePodUIDs map[string]bool) {
	d.mu.Lock()
	gone := append(takeGone(d.members, cluster, livePodUIDs), takeGone(d.routers, cluster, livePodUIDs)...)
	d.mu.Unlock()
	for _, client := range gone {
		closeQuietly(ctx, client)
	}
}

func takeGone[T closer](clients map[string]*cached[T], cluster string, live map[string]bool) []closer {
	var gone []closer
	for uid, entry := range clients {
		if entry.cluster == cluster && !live[uid] {
			delete(clients, uid)
			gone = append(gone, entry.client)
		}
	}
	return gone
}

// closeQuietly ends connections; a server that does not say goodbye is nobody's trouble.
func closeQuietly(ctx context.Context, client closer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeDeadline)
	defer cancel()
	_ = client.Close(ctx)
}

func (d *DriverDatabases) member(ctx context.Context, server Server, as secrets) (*mongodb.Member, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.members == nil {
		d.members = map[string]*cached[*mongodb.Member]{}
	}
	return clientFor(ctx, d.members, server, as, func(options mongodb.Options) (*mongodb.Member, error) {
		options.Answered = d.Answered
		return mongodb.Dial(server.Address, options)
	})
}

func (d *DriverDatabases) mongos(ctx context.Context, server Server, as secrets) (*mongodb.Mongos, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.routers == nil {
		d.routers = map[string]*cached[*mongodb.Mongos]{}
	}
	return clientFor(ctx, d.routers, server, as, func(options mongodb.Options) (*mongodb.Mongos, error) {
		options.Answered = d.Answered
		return mongodb.DialMongos(options, server.Address)
	})
}

func clientFor[T closer](ctx context.Context, clients map[string]*cached[T], server Server, as secrets, dial func(mongodb.Options) (T, error)) (T, error) {
	entry, known := clients[server.PodUID]
	if known && entry.password == as.operator.password {
		return entry.client, nil
	}
	if known {
		go closeQuietly(ctx, entry.client)
	}
	client, err := dial(mongodb.Options{Credentials: credentialsOf(as.operator)})
	if err != nil {
		return client, err
	}
	clients[server.PodUID] = &cached[T]{client: client, cluster: as.cluster, password: as.operator.password}
	return client, nil
}

func credentialsOf(user login) mongodb.Credentials {
	return mongodb.Credentials{Username: user.username, Password: user.password, Source: "admin"}
}

// withMember does something over a connection of its own, which is closed afterwards: the identities of
// the bootstrap are not kept open.
func withMember(ctx context.Context, server Server, as mongodb.Credentials, do func(*mongodb.Member) error) error {
	member, err := mongodb.Dial(server.Address, mongodb.Options{Credentials: as})
	if err != nil {
		return err
	}
	defer closeQuietly(ctx, member)
	if err := do(member); err != nil {
		return fmt.Errorf("as %s: %w", as, err)
	}
	return nil
}
