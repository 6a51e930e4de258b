// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// Process is a mongod as a pod starts it.
type Process struct {
	// UID and Pod say which pod it runs in, Set which replica set the pod belongs to.
	UID, Pod, Set string
	// File is the configuration file it is started with.
	File string
	// KeyFileID names its key file: members with different ones do not speak to each other.
	KeyFileID string
	// Version it answers with.
	Version catalog.Version
}

// Servers are the servers of one cluster.
type Servers struct {
	mu        sync.Mutex
	sets      map[string]*replicaSet
	processes map[string]*process
	routers   map[string]bool
	shards    []string
	acts      []string
	lags      map[string]time.Duration
	silent    map[string]bool
	migrates  bool
	stuck     bool
}

// replicaSet is what the volumes of a set keep, and who leads it.
type replicaSet struct {
	hosts   []string
	users   map[string]string
	primary string
}

// optimeOfPrimary is the time of the last operation everywhere; nothing ever writes.
var optimeOfPrimary = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// The users that the scripted servers know of.
const (
	operatorUser = "operator"
	appUser      = "app"
)

// NewServers is a cluster without any server.
func NewServers() *Servers {
	return &Servers{
		sets: map[string]*replicaSet{}, processes: map[string]*process{}, routers: map[string]bool{},
		lags: map[string]time.Duration{}, silent: map[string]bool{},
	}
}

// Start starts a mongod; on a volume that belongs to a replica set it joins that set.
func (s *Servers) Start(started Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes[started.UID] = newProcess(started)
	s.set(started.Set)
	s.elect(started.Set)
}

// Stop ends the mongod of a pod.
func (s *Servers) Stop(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended, known := s.processes[uid]
	if !known {
		return
	}
	delete(s.processes, uid)
	if set := s.set(ended.Set); set.primary == ended.Pod {
		set.primary = ""
	}
	s.elect(ended.Set)
}

// StartRouter and StopRouter start and end the mongos of a pod.
func (s *Servers) StartRouter(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routers[uid] = true
}

// StopRouter ends the mongos of a pod.
func (s *Servers) StopRouter(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.routers, uid)
}

// Serves tells that the mongod of a pod is primary or secondary.
func (s *Servers) Serves(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, known := s.processes[uid]
	if !known || s.silent[running.Pod] {
		return false
	}
	state := s.stateOf(running)
	return state == observed.StatePrimary || state == observed.StateSecondary
}

// LagBehind makes a member lag behind the primary; zero makes it catch up.
func (s *Servers) LagBehind(pod string, lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lags[pod] = lag
}

// Silence makes a member answer nobody, Unsilence ends that.
func (s *Servers) Silence(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent[pod] = true
}

// Unsilence makes a silent member answer again.
func (s *Servers) Unsilence(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.silent, pod)
}

// Migrate lets chunks move between the first and the last shard, or ends that.
func (s *Servers) Migrate(moving bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.migrates = moving
}

// RefuseStepDowns lets primaries refuse to step down although their secondaries look caught up, or ends that.
func (s *Servers) RefuseStepDowns(refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = refuse
}

// SetByHand brings a WiredTiger string into force on a member, as a person at a shell would.
func (s *Servers) SetByHand(pod, wiredTiger string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, running := range s.processes {
		if running.Pod == pod {
			running.runtime = wiredTiger
		}
	}
}

// ForgetUsers takes the users away from a replica set, as restoring an old volume would.
func (s *Servers) ForgetUsers(set string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(set).users = map[string]string{}
}

// Acts are the acts that were performed on servers, in their order: "Initiate demo-shard-0".
func (s *Servers) Acts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acts)
}

// Counted are the acts whose name begins so.
func (s *Servers) Counted(prefix string) int {
	count := 0
	for _, act := range s.Acts() {
		if strings.HasPrefix(act, prefix) {
			count++
		}
	}
	return count
}

// Primary is the pod that leads a replica set, empty when none does.
func (s *Servers) Primary(set string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(set).primary
}

// Shards are the shards of the cluster.
func (s *Servers) Shards() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shards)
}

func (s *Servers) set(name string) *replicaSet {
	if s.sets[name] == nil {
		s.sets[name] = &replicaSet{users: map[string]string{}}
	}
	return s.sets[name]
}

func (s *Servers) act(format string, args ...any) {
	s.acts = append(s.acts, fmt.Sprintf(format, args...))
}

// running are the processes of a set that hold the key file that most of them hold, by pod.
func (s *Servers) running(set string) []*process {
	byKey := map[string][]*process{}
	for _, one := range s.processes {
		if one.Set == set {
			byKey[one.KeyFileID] = append(byKey[one.KeyFileID], one)
		}
	}
	var most []*process
	for _, group := range byKey {
		if len(group) > len(most) {
			most = group
		}
	}
	slices.SortFunc(most, func(a, b *process) int { return strings.Compare(a.Pod, b.Pod) })
	return most
}

// elect gives a set a primary when it has none and a majority runs.
func (s *Servers) elect(name string) {
	set, running := s.set(name), s.running(name)
	if len(set.hosts) == 0 {
		return
	}
	if 2*len(running) <= len(set.hosts) {
		set.primary = ""
		return
	}
	if !slices.ContainsFunc(running, func(p *process) bool { return p.Pod == set.primary }) {
		set.primary = running[0].Pod
	}
}

func (s *Servers) stateOf(running *process) observed.State {
	set := s.set(running.Set)
	switch {
	case len(set.hosts) == 0:
		return observed.StateUninitiated
	case set.primary == running.Pod:
		return observed.StatePrimary
	case slices.Contains(s.running(running.Set), running):
		return observed.StateSecondary
	default:
		return observed.StateOther
	}
}
