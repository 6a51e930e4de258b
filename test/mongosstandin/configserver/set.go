// SPDX-License-Identifier: Apache-2.0

package configserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// lookInterval is how often the members are asked who is primary. mongos learns of a change from its streamed
	// greetings at once; half a second is well below the election timeout of 10 s.
	lookInterval = 500 * time.Millisecond
	lookTimeout  = 3 * time.Second
	// internalAttempts is how often mongos itself tries a command on the config servers (kOnErrorNumRetries and one).
	internalAttempts = 4
)

// errNoPrimary says that no reachable member is a primary of this config server replica set.
var errNoPrimary = errors.New("no config server primary")

// Primary is the member that takes writes, as it introduced itself.
type Primary struct {
	Address    string
	Version    []int32
	VersionTag string

	electionID [12]byte
	members    []string
}

// Set is a config server replica set. Watch keeps it up to date.
type Set struct {
	name  string
	seeds []string
	key   string

	mutex   sync.Mutex
	primary *Primary
	reason  error         // Why there is no primary, as of the last look.
	changed chan struct{} // Closed and replaced when primary changes.
	probes  map[string]*Conn
	known   []string
}

// New describes the replica set by its name and seeds. The key is the content of the key file; empty means that the
// cluster runs without authentication.
func New(name string, seeds []string, key string) *Set {
	return &Set{name: name, seeds: seeds, key: key, changed: make(chan struct{}), probes: map[string]*Conn{}}
}

// RequiresAuthentication reports whether the cluster has a key file and so checks what a client may do.
func (s *Set) RequiresAuthentication() bool { return s.key != "" }

// Current returns the primary, or nil when there is none, and a channel that is closed at the next change.
func (s *Set) Current() (*Primary, <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.primary, s.changed
}

// AwaitPrimary waits until there is a primary.
func (s *Set) AwaitPrimary(ctx context.Context) (*Primary, error) {
	for {
		primary, changed := s.Current()
		if primary != nil {
			return primary, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			s.mutex.Lock()
			defer s.mutex.Unlock()
			return nil, fmt.Errorf("%w: %w", ctx.Err(), errors.Join(errNoPrimary, s.reason))
		}
	}
}

// Watch looks for the primary until ctx ends.
func (s *Set) Watch(ctx context.Context) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		s.look(ctx)
		select {
		case <-ctx.Done():
			s.closeProbes()
			return
		case <-ticker.C:
		}
	}
}

// look asks every known member at once, so that one that does not answer delays nobody else's answer by more than the
// timeout, and takes the claim with the latest election: a primary cut off from the others may still hold itself for one.
func (s *Set) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	candidates := slices.Clone(s.seeds)
	for _, host := range s.known {
		if !slices.Contains(candidates, host) {
			candidates = append(candidates, host)
		}
	}
	type answer struct {
		claim *Primary
		err   error
	}
	answers := make(chan answer, len(candidates))
	for _, address := range candidates {
		go func() {
			claim, err := s.ask(ctx, address)
			answers <- answer{claim, err}
		}()
	}
	var latest *Primary
	var reasons []error
	for range candidates {
		a := <-answers
		switch {
		case a.err != nil:
			reasons = append(reasons, a.err)
		case latest == nil || bytes.Compare(a.claim.electionID[:], latest.electionID[:]) > 0:
			latest = a.claim
		}
	}
	s.record(latest, errors.Join(reasons...))
}

func (s *Set) record(latest *Primary, reason error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.reason = reason
	if latest != nil {
		s.known = latest.members
	}
	isSame := (latest == nil) == (s.primary == nil) && (latest == nil || latest.Address == s.primary.Address)
	s.primary = latest
	if !isSame {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// ask returns the member's claim to be primary. It keeps the connection for the next time.
func (s *Set) ask(ctx context.Context, address string) (*Primary, error) {
	s.mutex.Lock()
	conn := s.probes[address]
	s.mutex.Unlock()
	if conn == nil {
		var err error
		if conn, err = Dial(ctx, address); err != nil {
			return nil, err
		}
	}
	claim, err := s.introduce(ctx, conn)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err != nil && !errors.Is(err, errNoPrimary) {
		_ = conn.Close()
		delete(s.probes, address)
		return nil, err
	}
	s.probes[address] = conn
	return claim, err
}

func (s *Set) introduce(ctx context.Context, conn *Conn) (*Primary, error) {
	// isMaster, for 4.2 does not know hello.
	greeting, err := conn.Run(ctx, "admin", bson.D{{Key: "isMaster", Value: 1}})
	if err != nil {
		return nil, err
	}
	if isPrimary, _ := greeting.Lookup("ismaster").BooleanOK(); !isPrimary {
		return nil, fmt.Errorf("%s: %w", conn.Address(), errNoPrimary)
	}
	if name, _ := greeting.Lookup("setName").StringValueOK(); name != s.name {
		return nil, fmt.Errorf("%s is of replica set %q: %w", conn.Address(), name, errNoPrimary)
	}
	if _, err := greeting.LookupErr("configsvr"); err != nil {
		return nil, fmt.Errorf("%s is not started as a config server: %w", conn.Address(), errNoPrimary)
	}
	claim := &Primary{Address: conn.Address()}
	if me, ok := greeting.Lookup("me").StringValueOK(); ok {
		claim.Address = me
	}
	if id, ok := greeting.Lookup("electionId").ObjectIDOK(); ok {
		claim.electionID = id
	}
	if hosts, ok := greeting.Lookup("hosts").ArrayOK(); ok {
		values, _ := hosts.Values()
		for _, value := range values {
			claim.members = append(claim.members, value.StringValue())
		}
	}
	build, err := conn.Run(ctx, "admin", bson.D{{Key: "buildInfo", Value: 1}})
	if err != nil {
		return nil, err
	}
	if err := build.Lookup("versionArray").Unmarshal(&claim.Version); err != nil {
		return nil, fmt.Errorf("read version of %s: %w", conn.Address(), err)
	}
	claim.VersionTag, _ = build.Lookup("version").StringValueOK()
	return claim, nil
}

func (s *Set) closeProbes() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for address, conn := range s.probes {
		_ = conn.Close()
		delete(s.probes, address)
	}
}

// RunInternal runs a command on the primary as the cluster's internal user. It tries again after a change of primary
// or a broken connection, so the command has to be safe to repeat; those of mongos for the config servers are.
func (s *Set) RunInternal(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	var last error
	for range internalAttempts {
		primary, changed := s.Current()
		reply, err := s.runOnce(ctx, primary, database, command)
		if err == nil {
			return reply, nil
		}
		last = err
		var refusal *CommandError
		if errors.As(err, &refusal) && !notPrimaryCodes[refusal.Code] {
			return nil, err
		}
		retry := time.NewTimer(2 * lookInterval)
		select {
		case <-changed:
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, last
		}
		retry.Stop()
	}
	return nil, last
}

func (s *Set) runOnce(ctx context.Context, primary *Primary, database string, command bson.D) (bson.Raw, error) {
	if primary == nil {
		waiting, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		var err error
		if primary, err = s.AwaitPrimary(waiting); err != nil {
			return nil, err
		}
	}
	conn, err := Dial(ctx, primary.Address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if s.key != "" {
		if err := conn.Authenticate(ctx, s.key); err != nil {
			return nil, err
		}
	}
	return conn.Run(ctx, database, command)
}

// AwaitReady waits until there is a primary that accepts the key, however long that takes. It reports why it goes on
// waiting.
func (s *Set) AwaitReady(ctx context.Context, report func(error)) (*Primary, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, 2*lookTimeout)
		primary, err := s.AwaitPrimary(waiting)
		if err == nil {
			_, err = s.RunInternal(waiting, "admin", bson.D{{Key: "ping", Value: 1}})
		}
		if err == nil {
			cancel()
			return primary, nil
		}
		// A refusal comes at once; the next try waits as long as an unanswered one.
		if ctx.Err() == nil {
			report(err)
			<-waiting.Done()
		}
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}
