// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
)

var (
	errRefused    = errors.New("connection refused")
	errNoPrimary  = errors.New("not primary")
	errNotAllowed = errors.New("authentication failed")
)

// Look is what the mongod of a pod answers to somebody who comes with the operator's password.
func (s *Servers) Look(uid, password string) observed.Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, known := s.processes[uid]
	if !known || s.silent[running.Pod] {
		return observed.Look{Error: errRefused.Error()}
	}
	look := observed.Look{State: s.stateOf(running)}
	known = s.set(running.Set).users[operatorUser] == password && password != ""
	if look.State == observed.StateUninitiated || !known {
		look.LockedOut = true
		return look
	}
	look.Process = running.answers()
	if look.State == observed.StatePrimary {
		look.LeadsFor = time.Hour
	}
	look.Peers = s.peers(running.Set)
	look.Oplog = &observed.Oplog{First: optimeOfPrimary.Add(-oplogWindow), Last: optimeOfPrimary}
	if s.migrates && look.State == observed.StatePrimary && len(s.shards) > 0 {
		look.Migrations = []observed.Migration{{Namespace: "shop.orders", From: s.shards[0], To: s.shards[len(s.shards)-1]}}
	}
	return look
}

// peers is how every member of a set sees the others.
func (s *Servers) peers(name string) map[string]observed.Peer {
	peers := map[string]observed.Peer{}
	for _, host := range s.set(name).hosts {
		pod, _, _ := strings.Cut(host, ".")
		peers[host] = observed.Peer{State: observed.StateOther}
		for _, other := range s.processes {
			if other.Pod == pod && !s.silent[pod] {
				peers[host] = observed.Peer{
					Healthy: true, State: s.stateOf(other), OptimeDate: optimeOfPrimary.Add(-s.lags[pod]),
				}
			}
		}
	}
	return peers
}

// LookAtMongos is the list of shards, for somebody who comes with the operator's password.
func (s *Servers) LookAtMongos(uid, config, password string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.routers[uid]:
		return nil, errRefused
	case s.set(config).primary == "":
		return nil, errNoPrimary
	case s.set(config).users[operatorUser] != password:
		return nil, errNotAllowed
	}
	return slices.Clone(s.shards), nil
}

// KnowsApp tells whether the config servers let the application's user in.
func (s *Servers) KnowsApp(config, password string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(config).users[appUser] == password && password != ""
}

// Initiate gives a set its configuration. It refuses when a member of it does not run, as the server
// does, and when another member has data already.
func (s *Servers) Initiate(uid string, hosts []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, known := s.processes[uid]
	if !known {
		return errRefused
	}
	set := s.set(running.Set)
	if len(set.hosts) > 0 {
		return nil
	}
	if len(s.running(running.Set)) < len(hosts) {
		return fmt.Errorf("initiate %s: not every member answers", running.Set)
	}
	set.hosts = slices.Clone(hosts)
	s.act("Initiate %s", running.Set)
	s.elect(running.Set)
	return nil
}

// CreateOperator makes the operator's user or resets its password, on the primary.
func (s *Servers) CreateOperator(uid, password string) error {
	return s.createUser(uid, "CreateOperator", operatorUser, password)
}

// CreateApp makes the application's user or sets its password, on the primary.
func (s *Servers) CreateApp(uid, password string) error {
	return s.createUser(uid, "CreateApp", appUser, password)
}

func (s *Servers) createUser(uid, act, user, password string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, known := s.processes[uid]
	if !known {
		return errRefused
	}
	if s.stateOf(running) != observed.StatePrimary {
		return errNoPrimary
	}
	s.set(running.Set).users[user] = password
	s.act("%s %s", act, running.Set)
	return nil
}

// AddShard makes a replica set a shard.
func (s *Servers) AddShard(uid, set string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.routers[uid]:
		return errRefused
	case s.set(set).primary == "":
		return errNoPrimary
	case slices.Contains(s.shards, set):
		return nil
	}
	s.shards = append(s.shards, set)
	s.act("AddShard %s", set)
	return nil
}

// Set brings values into force on a running mongod.
func (s *Servers) Set(uid string, changes catalog.Changes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, known := s.processes[uid]
	if !known || s.silent[running.Pod] {
		return errRefused
	}
	if changes.WiredTigerString != "" {
		running.runtime = changes.WiredTigerString
	}
	for _, parameter := range changes.Parameters {
		running.parameters[parameter.Name] = parameter.Value
	}
	s.act("Set %s", running.Pod)
	return nil
}

// StepDown makes a primary hand over to the first secondary that has caught up; it refuses when there is
// none.
func (s *Servers) StepDown(uid string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, known := s.processes[uid]
	if !known || s.silent[running.Pod] {
		return errRefused
	}
	if s.stateOf(running) != observed.StatePrimary {
		return nil
	}
	for _, other := range s.running(running.Set) {
		if !s.stuck && other != running && s.lags[other.Pod] == 0 && !s.silent[other.Pod] {
			s.set(running.Set).primary = other.Pod
			s.act("StepDown %s", running.Pod)
			return nil
		}
	}
	return ErrNotCaughtUp
}

// ErrNotCaughtUp is a step down that a primary refused.
var ErrNotCaughtUp = errors.New("no secondary has caught up")

// oplogWindow is how far the oplogs reach back.
const oplogWindow = 24 * time.Hour
