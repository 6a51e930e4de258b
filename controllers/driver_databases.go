// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mongotuning/mongotuning/internal/mongodb"
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
	// stepDownCatchUp is how long a primary waits for a secondary to catch up before it refuses.
	stepDownCatchUp = 10 * time.Second
	// actDeadline bounds one act on one server; it is longer than what a write waits for a majority.
	actDeadline = 20 * time.Second
	// closeDeadline bounds the end of a connection to a server that is gone.
	closeDeadline = time.Second
)

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
func (d *DriverDatabases) StepDown(ctx context.Context, server Server, as secrets, stayAway time.Duration) error {
	member, err := d.member(ctx, server, as)
	if err != nil {
		return err
	}
	err = member.StepDown(ctx, stayAway, stepDownCatchUp)
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
