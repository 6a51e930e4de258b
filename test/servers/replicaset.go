// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mongotuning/mongotuning/internal/mongodb"
)

// KeyFile is a key file's content for tests that need any.
const KeyFile = "Zm9yIHRlc3RzIG9ubHksIG5vYm9keSBpcyBrZXB0IG91dCBieSBpdA==\n"

// ReplicaSet is a replica set of one test.
type ReplicaSet struct {
	// Name of the set.
	Name string
	// Servers are its members in the order of the configuration.
	Servers []*Server

	t testing.TB
}

// StartMembers starts servers for a replica set that is not initiated.
func StartMembers(t testing.TB, options Options, count int) *ReplicaSet {
	t.Helper()
	if options.ReplicaSet == "" {
		options.ReplicaSet = "rs0"
	}
	set := &ReplicaSet{Name: options.ReplicaSet, t: t}
	for range count {
		set.Servers = append(set.Servers, Start(t, options))
	}
	return set
}

// StartReplicaSet starts and initiates a replica set, and waits until it has a primary and all others are secondaries.
func StartReplicaSet(t testing.TB, options Options, count int) *ReplicaSet {
	t.Helper()
	set := StartMembers(t, options, count)
	first := set.Servers[0].Member()
	Await(t, "the replica set", func(ctx context.Context) error {
		err := first.Initiate(ctx, set.InitialConfig())
		if errors.Is(err, mongodb.ErrAlreadyInitialized) {
			return nil
		}
		return err
	})
	set.AwaitWhole()
	return set
}

// InitialConfig is the configuration that StartReplicaSet initiates with: all members are alike.
func (r *ReplicaSet) InitialConfig() mongodb.InitialConfig {
	config := mongodb.InitialConfig{Name: r.Name, IsConfigServer: r.Servers[0].Options.Role == "configsvr"}
	for i, server := range r.Servers {
		config.Members = append(config.Members, mongodb.InitialMember{ID: int32(i), Address: server.Address, Priority: 1})
	}
	return config
}

// AwaitWhole waits until one member is the primary and all others are secondaries.
func (r *ReplicaSet) AwaitWhole() {
	r.t.Helper()
	members := make([]*mongodb.Member, len(r.Servers))
	for i, server := range r.Servers {
		members[i] = server.Member()
	}
	Await(r.t, "a primary and its secondaries", func(ctx context.Context) error {
		primaries := 0
		for _, member := range members {
			hello, err := hello(ctx, member)
			if err != nil {
				return err
			}
			if !hello.IsPrimary && !hello.IsSecondary {
				return fmt.Errorf("%s is neither primary nor secondary", member.Address())
			}
			if hello.IsPrimary {
				primaries++
			}
		}
		if primaries != 1 {
			return fmt.Errorf("%d primaries", primaries)
		}
		return nil
	})
}

// Primary waits for a primary and returns it.
func (r *ReplicaSet) Primary() *Server {
	r.t.Helper()
	var primary *Server
	members := make([]*mongodb.Member, len(r.Servers))
	for i, server := range r.Servers {
		members[i] = server.Member()
	}
	Await(r.t, "a primary", func(ctx context.Context) error {
		for i, member := range members {
			if hello, err := hello(ctx, member); err == nil && hello.IsPrimary {
				primary = r.Servers[i]
				return nil
			}
		}
		return errors.New("no member says that it is the primary")
	})
	return primary
}

// Secondaries waits for a primary and returns the others.
func (r *ReplicaSet) Secondaries() []*Server {
	r.t.Helper()
	primary := r.Primary()
	var secondaries []*Server
	for _, server := range r.Servers {
		if server != primary {
			secondaries = append(secondaries, server)
		}
	}
	return secondaries
}

// Credentials are the members' own identity, or none without a key file.
func (s *Server) Credentials() mongodb.Credentials {
	if s.Options.KeyFile == "" {
		return mongodb.Credentials{}
	}
	return mongodb.MemberIdentity([]byte(s.Options.KeyFile))
}

// Member is the test's connection with the members' own identity; it is closed with the test.
func (s *Server) Member() *mongodb.Member {
	s.t.Helper()
	if s.member == nil {
		s.member = s.MemberAs(s.Credentials())
	}
	return s.member
}

// MemberAs is a connection with the given credentials that is closed with the test.
func (s *Server) MemberAs(credentials mongodb.Credentials) *mongodb.Member {
	s.t.Helper()
	member, err := mongodb.Dial(s.Address, mongodb.Options{Credentials: credentials})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		// The server may be gone already.
		_ = member.Close(ctx)
	})
	return member
}

const (
	closeTimeout = time.Second
	helloTimeout = 3 * time.Second
)

func hello(ctx context.Context, member *mongodb.Member) (mongodb.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	return member.Hello(ctx)
}
