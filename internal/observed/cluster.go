// SPDX-License-Identifier: Apache-2.0

// Package observed holds what was seen of one cluster in one look: the objects in Kubernetes and the
// answers of every server, under one clock reading. It answers questions about the snapshot and never
// asks anybody anything, so that the gate and the reported status cannot disagree.
package observed

import (
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// Cluster is one snapshot.
type Cluster struct {
	// Now is the time of the look; every computation of an age uses it.
	Now time.Time
	// ReplicaSets in the order of desired.ReplicaSets: shards first, config servers last.
	ReplicaSets []ReplicaSet
	// Mongos is what the routers answered.
	Mongos Mongos
	// AppUnknown tells that the config servers refused the application's user or its password. Both
	// AppUnknown and AppKnown are false when they could not be asked; AppError says why.
	AppKnown, AppUnknown bool
	AppError             string
	// Hosts are the nodes of the members.
	Hosts Hosts
	// Trials are the trial starts that are remembered, by the name of the file that was tried.
	Trials map[string]Trial
}

// TrialState says how far a trial start is.
type TrialState int

// The states of a trial start.
const (
	TrialNone TrialState = iota
	TrialRunning
	TrialPassed
	TrialFailed
)

// Trial is a server that was started once with a file on an empty directory.
type Trial struct {
	State TrialState
	// Message says why it failed, in the server's words where it had any.
	Message string
}

// ReplicaSet is one shard, or the config servers.
type ReplicaSet struct {
	Name      string
	Component v1alpha1.Component
	Members   []Member
	// TemplateHash names the pod template of the live StatefulSet, empty when there is none.
	TemplateHash string
	// Files are the configuration files as they lie in the ConfigMap, by pod.
	Files map[string]string
	// Listed tells that mongos lists the shard; config servers are always listed.
	Listed bool
}

// Member is one pod with the mongod in it.
type Member struct {
	// Name of the pod.
	Name string
	Pod  Pod
	Look Look
	// Silent is for how long the member has not answered, as far as this operator has seen; 0 while it
	// answers.
	Silent time.Duration
}

// Pod is what Kubernetes says of a member.
type Pod struct {
	// Exists tells that there is a pod of that name.
	Exists bool
	// UID tells this pod from others of the same name, before and after it.
	UID string
	// Ready is the pod's Ready condition.
	Ready bool
	// Terminating tells that the pod is being deleted.
	Terminating bool
	// TemplateHash names the template the pod was made from, KeyFileID its key file, FileID the
	// configuration file that the pod was last told of.
	TemplateHash, KeyFileID, FileID string
	// MemoryLimit of the database container in bytes, 0 when there is none.
	MemoryLimit int64
	// Trouble is why the pod does not run, in the words of Kubernetes; empty while nothing is wrong.
	Trouble string
	// Exited tells that the server itself ended (and may have been started again since).
	Exited *Exit
}

// Exit is how a server process ended.
type Exit struct {
	Code int32
	// Restarts counts how often the container was started again.
	Restarts int32
	// Line of its log that says best why; empty when there is none, or it could not be read.
	Line string
}

// State is what a member says it is.
type State int

// The states of a member.
const (
	// StateUnknown is a member that did not answer.
	StateUnknown State = iota
	// StateUninitiated is a member that belongs to no replica set yet.
	StateUninitiated
	StatePrimary
	StateSecondary
	// StateOther is a member that answers and cannot serve: starting, recovering, rolling back.
	StateOther
)

// Look is what a member answered.
type Look struct {
	State State
	// Error says what was not answered and why; empty when everything was.
	Error string
	// LockedOut tells that the member does not know the operator's user, or not with this password.
	LockedOut bool
	// MissingRights are rights that the operator's role lacks on this member.
	MissingRights []string
	// Process is what the server reports about itself.
	Process catalog.Process
	// Status is the same answer of serverStatus as Process has it, typed; nil when there is none.
	Status *serverstatus.Status
	// LeadsFor is how long a primary has led, at least a second; 0 when the member does not lead or does not
	// tell.
	LeadsFor time.Duration
	// Optimes is how far this member sees itself and the majority.
	Optimes Optimes
	// Oplog is what its oplog covers; nil when that was not asked in this look, or not answered.
	// OplogError says why not.
	Oplog      *Oplog
	OplogError string
	// InInitialSync tells that the member copies all data from another.
	InInitialSync bool
	// Migrations are the chunks that move between shards, as a config server knows them. MigrationsError
	// says why that is not known; both are empty when it was not asked, which only config servers are.
	Migrations      []Migration
	MigrationsError string
	// Peers is how this member sees its replica set, by the address of each member.
	Peers map[string]Peer
}

// Migration is a chunk on its way from one shard to another.
type Migration struct {
	// Namespace is the collection, From and To are the ids of the shards.
	Namespace, From, To string
}

// Optimes are the clock times of operations, zero where the server does not tell.
type Optimes struct {
	// LastApplied is when the newest operation of the member was written, LastCommitted that of the
	// newest one that a majority has.
	LastApplied, LastCommitted time.Time
}

// Oplog is the span of time that a member's oplog covers.
type Oplog struct {
	// First and Last are the times of its oldest and newest entry.
	First, Last time.Time
	// IsFull tells that it has reached its greatest size. It then drops what is oldest, unless a time to
	// retain it for is in force.
	IsFull bool
	// ReadAt is the time of the look that read it.
	ReadAt time.Time
}

// Peer is one member in the eyes of another.
type Peer struct {
	// Healthy tells that heartbeats come through.
	Healthy bool
	// State of the peer.
	State State
	// OptimeDate is the time of the last operation it applied, with a resolution of one second.
	OptimeDate time.Time
	// LastApplied is the same to the millisecond; servers before 6.0 do not tell it.
	LastApplied time.Time
}

// Mongos is what the routers answered.
type Mongos struct {
	// Replicas that are ready, of those wanted.
	Ready, Wanted int32
	// Updated counts replicas on the newest template.
	Updated int32
	// Answered tells that a router answered a question that needs the operator's rights.
	Answered bool
	// Error says why not.
	Error string
	// Shards are the ids of the shards that mongos lists.
	Shards []string
}

// Primary is the member that leads, nil when there is none or two claim it.
func (r ReplicaSet) Primary() *Member {
	var primary *Member
	for i := range r.Members {
		if r.Members[i].Look.State != StatePrimary {
			continue
		}
		if primary != nil {
			return nil
		}
		primary = &r.Members[i]
	}
	return primary
}

// Initiated tells that at least one member belongs to a replica set. Unknown members count as nothing:
// whether to initiate is decided by UninitiatedWhole, which they keep false.
func (r ReplicaSet) Initiated() bool {
	for _, member := range r.Members {
		switch member.Look.State {
		case StatePrimary, StateSecondary, StateOther:
			return true
		case StateUnknown, StateUninitiated:
		}
	}
	return false
}

// UninitiatedWhole tells that every member answered that it belongs to no replica set. Only then may
// the set be initiated: one member with data among empty ones is a set to be joined, not made anew.
func (r ReplicaSet) UninitiatedWhole() bool {
	for _, member := range r.Members {
		if member.Look.State != StateUninitiated {
			return false
		}
	}
	return len(r.Members) > 0
}

// Lag is how far a member is behind the primary in the primary's own view; ok is false when the
// primary could not be asked or does not know.
func (r ReplicaSet) Lag(host string) (lag time.Duration, ok bool) {
	primary := r.Primary()
	if primary == nil {
		return 0, false
	}
	peer, known := primary.Look.Peers[host]
	if !known || !peer.Healthy || peer.OptimeDate.IsZero() {
		return 0, false
	}
	var leader Peer
	for _, other := range primary.Look.Peers {
		if other.State == StatePrimary {
			leader = other
		}
	}
	if leader.OptimeDate.IsZero() {
		return 0, false
	}
	// Heartbeats are up to two seconds old and may show a secondary ahead.
	if !leader.LastApplied.IsZero() && !peer.LastApplied.IsZero() {
		return max(0, leader.LastApplied.Sub(peer.LastApplied)), true
	}
	return max(0, leader.OptimeDate.Sub(peer.OptimeDate)), true
}

// Serves tells that the member answers as primary or secondary and its pod stays.
func (m Member) Serves() bool {
	serving := m.Look.State == StatePrimary || m.Look.State == StateSecondary
	return serving && m.Pod.Exists && !m.Pod.Terminating
}
