// SPDX-License-Identifier: Apache-2.0

// Package plan chooses exactly one next action from what is wanted, what was seen and how it was
// judged. It is a pure function: each action is safe to repeat, because the next one is chosen from a
// new look and never from a memory of what was done.
package plan

import (
	"time"

	"github.com/mongotuning/mongotuning/internal/catalog"
)

// Kind is what an action does.
type Kind int

// The actions.
const (
	// Nothing: all that is wanted is in force.
	Nothing Kind = iota + 1
	// Wait: something is under way, or a gate is closed.
	Wait
	// Stall: nothing will change until a person acts.
	Stall
	// Turn moves a change to its next step. It is recorded in status, under the condition that nobody
	// wrote since, before anything follows from it.
	Turn
	// Initiate gives a new replica set its configuration.
	Initiate
	// CreateUsers makes the operator's role and user known to a replica set, or resets its password.
	CreateUsers
	// CreateApp makes the application's user, or gives it the password of its Secret.
	CreateApp
	// AddShard makes a replica set a shard of the cluster.
	AddShard
	// StartTrial starts a server with a newly rendered file on an empty directory.
	StartTrial
	// WriteConfig writes one member's configuration file.
	WriteConfig
	// WriteTemplate writes the pod template of a replica set.
	WriteTemplate
	// SetParameters brings declared values into force on a running member.
	SetParameters
	// StepDown asks a primary to hand over, so that it can be restarted as a secondary.
	StepDown
	// Restart evicts one member's pod.
	Restart
	// Recreate deletes the pod of a member that serves nobody.
	Recreate
	// ReplaceKeyFile deletes every pod that still has a lost key file: members with different keys
	// cannot speak to each other, so going one by one would never end.
	ReplaceKeyFile
	// TuneHost writes the settings of one node and brings them to it by a Job. It restarts nobody.
	TuneHost
	// RestoreHost puts a node back that no member is on any more.
	RestoreHost
)

// String is the name of the action as it appears in logs and events.
func (k Kind) String() string {
	names := map[Kind]string{
		Nothing: "Nothing", Wait: "Wait", Stall: "Stall", Turn: "Turn", Initiate: "Initiate", CreateUsers: "CreateUsers", CreateApp: "CreateApp",
		AddShard: "AddShard", StartTrial: "StartTrial", WriteConfig: "WriteConfig", WriteTemplate: "WriteTemplate", SetParameters: "SetParameters",
		StepDown: "StepDown", Restart: "Restart", Recreate: "Recreate", ReplaceKeyFile: "ReplaceKeyFile",
		TuneHost: "TuneHost", RestoreHost: "RestoreHost",
	}
	return names[k]
}

// Action is the one thing to do next, and why.
type Action struct {
	Kind Kind
	// ReplicaSet the action concerns; empty when it concerns the whole cluster.
	ReplicaSet string
	// Member the action concerns; empty when it concerns the whole replica set.
	Member string
	// PodUID is the pod that was seen, so that an action can never hit its successor.
	PodUID string
	// Node the action concerns, for TuneHost and RestoreHost.
	Node string
	// File is the content to write, for WriteConfig and TuneHost, or to try, for StartTrial.
	File string
	// Changes are what to send to the running member, for SetParameters.
	Changes catalog.Changes
	// Progress is what is to be remembered, for Turn.
	Progress *Progress
	// Recreate tells that the pod is to be made anew once its file is written: its server ended, and
	// Kubernetes would wait longer and longer before it starts it again.
	Recreate bool
	// StayAway is how long a primary stays out of elections, for StepDown.
	StayAway time.Duration
	// Drift are the values that were changed by hand and that this action corrects or leaves.
	Drift []Drift
	// IsOverdue tells that a Stall is a wait that has lasted for too long; it ends by itself.
	IsOverdue bool
	// Reason is the condition reason while the action is under way.
	Reason string
	// Message says in one sentence what happens, or what is waited for.
	Message string
}

// Disturbs tells whether the action takes a serving member away from its clients.
func (a Action) Disturbs() bool {
	return a.Kind == StepDown || a.Kind == Restart || a.Kind == ReplaceKeyFile
}

// IsAct tells whether there is anything to perform.
func (a Action) IsAct() bool {
	return a.Kind != Nothing && a.Kind != Wait && a.Kind != Stall
}
