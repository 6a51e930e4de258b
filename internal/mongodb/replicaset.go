// SPDX-License-Identifier: Apache-2.0

package mongodb

import "time"

// MemberState is the state of a member in the server's words; empty means that nobody said.
type MemberState string

// The states of a member.
const (
	// NotYetInitialized is a member that has no replica set configuration. It is our word: such a server answers
	// an error.
	NotYetInitialized MemberState = "NOT_YET_INITIALIZED"
	Startup           MemberState = "STARTUP"
	Primary           MemberState = "PRIMARY"
	Secondary         MemberState = "SECONDARY"
	Recovering        MemberState = "RECOVERING"
	// InitialSync is STARTUP2: the member copies the data.
	InitialSync MemberState = "STARTUP2"
	// UnknownState is the server's own UNKNOWN: it has not heard of the member yet.
	UnknownState MemberState = "UNKNOWN"
	Arbiter      MemberState = "ARBITER"
	// Down is a member that the answering one cannot reach.
	Down     MemberState = "DOWN"
	Rollback MemberState = "ROLLBACK"
	Removed  MemberState = "REMOVED"
)

// stateOfNumber are the numbers of the states in the replication protocol, the same on all versions.
var stateOfNumber = map[int64]MemberState{
	0: Startup, 1: Primary, 2: Secondary, 3: Recovering, 5: InitialSync, 6: UnknownState, 7: Arbiter, 8: Down, 9: Rollback, 10: Removed,
}

// ReplicaSetStatus is how one member sees its replica set.
type ReplicaSetStatus struct {
	// State of the member that answers.
	State MemberState
	// ReplicaSet is the name of the set.
	ReplicaSet string
	// Date is the clock of the member that answers.
	Date *time.Time
	// Term is the number of the election that is in force.
	Term *int64
	// SyncSource is the address of the member it copies from, empty on a primary.
	SyncSource string
	// LastCommittedWallTime is when the newest operation that a majority has was written.
	LastCommittedWallTime *time.Time
	// LastAppliedWallTime is when the newest operation of this member was written.
	LastAppliedWallTime *time.Time
	// Members of the set, this one included.
	Members []MemberStatus
}

// MemberStatus is one member in the eyes of another.
type MemberStatus struct {
	// ID of the member in the configuration.
	ID int64
	// Address in the configuration.
	Address string
	// State of the member.
	State MemberState
	// IsHealthy tells that heartbeats come through.
	IsHealthy bool
	// IsSelf marks the member that answers.
	IsSelf bool
	// UptimeSeconds is since when the answering member has seen it without a break, in seconds.
	UptimeSeconds *int64
	// OptimeDate is when its newest operation was written, to the second; nil before the first one.
	OptimeDate *time.Time
	// Optime is the time of its newest operation as replication counts it.
	Optime Timestamp
	// LastAppliedWallTime is OptimeDate to the millisecond; servers before 6.0 do not tell it.
	LastAppliedWallTime *time.Time
	// ElectionDate is when it was elected, to the second; nil when it does not lead.
	ElectionDate *time.Time
	// LastHeartbeat is when it last answered a heartbeat; nil for the member itself.
	LastHeartbeat *time.Time
	// LastHeartbeatReceived is when a heartbeat last came from it; nil for the member itself.
	LastHeartbeatReceived *time.Time
	// LastHeartbeatMessage says what was wrong with the last heartbeat, empty when nothing was.
	LastHeartbeatMessage string
	// PingMillis is the round trip of heartbeats in milliseconds.
	PingMillis *int64
	// SyncSource is the address of the member it copies from.
	SyncSource string
	// ConfigVersion and ConfigTerm tell which configuration it has; the term exists from 4.4 on.
	ConfigVersion, ConfigTerm *int64
}

// ReplicaSetConfig is the configuration of a replica set.
type ReplicaSetConfig struct {
	// Initialized tells that there is a configuration.
	Initialized bool
	// Name of the set.
	Name string
	// Version counts the changes; Term, from 4.4 on, is the election in which the last was made.
	Version, Term *int64
	// IsConfigServer marks the set of the config servers.
	IsConfigServer bool
	// Members in the order of the configuration.
	Members []MemberConfig
}

// MemberConfig is one member in the configuration.
type MemberConfig struct {
	// ID never changes as long as the member belongs to the set.
	ID int64
	// Address is how clients and the other members reach it.
	Address string
	// Priority in elections; 0 is never elected.
	Priority float64
	// Votes is 0 or 1.
	Votes int64
	// IsHidden tells that clients do not see it.
	IsHidden bool
	// IsArbiter tells that it votes and bears no data.
	IsArbiter bool
	// DelaySeconds is how far it stays behind on purpose.
	DelaySeconds int64
}

func replicaSetStatusOf(d document) ReplicaSetStatus {
	optimes := d.section("optimes")
	status := ReplicaSetStatus{
		State:                 stateOf(d.number("myState")),
		ReplicaSet:            d.word("set"),
		Date:                  d.moment("date"),
		Term:                  d.number("term"),
		SyncSource:            syncSourceOf(d),
		LastCommittedWallTime: optimes.moment("lastCommittedWallTime"),
		LastAppliedWallTime:   optimes.moment("lastAppliedWallTime"),
	}
	for _, member := range d.list("members") {
		status.Members = append(status.Members, memberStatusOf(member))
	}
	return status
}

func memberStatusOf(d document) MemberStatus {
	optime, _ := d.section("optime")["ts"].(Timestamp)
	return MemberStatus{
		ID:                    value(d.number("_id")),
		Address:               d.word("name"),
		State:                 stateOf(d.number("state")),
		IsHealthy:             d.is("health"),
		IsSelf:                d.is("self"),
		UptimeSeconds:         d.number("uptime"),
		OptimeDate:            d.moment("optimeDate"),
		Optime:                optime,
		LastAppliedWallTime:   d.moment("lastAppliedWallTime"),
		ElectionDate:          d.moment("electionDate"),
		LastHeartbeat:         d.moment("lastHeartbeat"),
		LastHeartbeatReceived: d.moment("lastHeartbeatRecv"),
		LastHeartbeatMessage:  d.word("lastHeartbeatMessage"),
		PingMillis:            d.number("pingMs"),
		SyncSource:            syncSourceOf(d),
		ConfigVersion:         d.number("configVersion"),
		ConfigTerm:            d.number("configTerm"),
	}
}

func replicaSetConfigOf(answer document) ReplicaSetConfig {
	d := answer.section("config")
	if d == nil {
		return ReplicaSetConfig{}
	}
	config := ReplicaSetConfig{
		Initialized:    true,
		Name:           d.word("_id"),
		Version:        d.number("version"),
		Term:           d.number("term"),
		IsConfigServer: d.is("configsvr"),
	}
	for _, member := range d.list("members") {
		config.Members = append(config.Members, MemberConfig{
			ID:           value(member.number("_id")),
			Address:      member.word("host"),
			Priority:     value(member.decimal("priority")),
			Votes:        value(member.number("votes")),
			IsHidden:     member.is("hidden"),
			IsArbiter:    member.is("arbiterOnly"),
			DelaySeconds: value(member.number("slaveDelay")) + value(member.number("secondaryDelaySecs")),
		})
	}
	return config
}

// stateOf names a state; a number that no known version sends is UNKNOWN, never a healthy one.
func stateOf(number *int64) MemberState {
	if number == nil {
		return ""
	}
	if state, ok := stateOfNumber[*number]; ok {
		return state
	}
	return UnknownState
}

// syncSourceOf reads the name of 4.2 and later; before, the field was called syncingTo.
func syncSourceOf(d document) string {
	if source := d.word("syncSourceHost"); source != "" {
		return source
	}
	return d.word("syncingTo")
}
