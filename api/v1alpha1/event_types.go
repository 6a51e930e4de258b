// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of the events that tell a change on its way: one for each step, and one for each act.
const (
	// EventRolloutStarted tells that a revision goes to its canary, or to whatever it changes first.
	EventRolloutStarted = "RolloutStarted"
	// EventCanarySoaking tells that the canary has the change and is watched as a secondary.
	EventCanarySoaking = "CanarySoaking"
	// EventCanaryTakesLead tells that the canary stayed in range and has to lead its shard next.
	EventCanaryTakesLead = "CanaryTakesLead"
	// EventCanaryLeading tells that the canary leads its shard and is watched as the primary.
	EventCanaryLeading = "CanaryLeading"
	// EventCanaryPassed tells that the canary stayed in range and the rest of its shard follows.
	EventCanaryPassed = "CanaryPassed"
	// EventShardFinished tells that the canary's shard is done and the other shards follow.
	EventShardFinished = "ShardFinished"
	// EventShardsFinished tells that all shards are done and the config servers follow.
	EventShardsFinished = "ShardsFinished"
	// EventMembersFinished tells that all members are done and mongos follows.
	EventMembersFinished = "MembersFinished"
	// EventRolloutVerifying tells that everything runs on the revision and is watched once more.
	EventRolloutVerifying = "RolloutVerifying"
	// EventRolloutCompleted tells that a revision is in force, proved and in range everywhere.
	EventRolloutCompleted = "RolloutCompleted"
	// EventRolloutPaused tells that a change broke something and stays where it is.
	EventRolloutPaused = "RolloutPaused"
	// EventRolloutAbandoned tells that the spec went back to the verified revision while a change was
	// on its way.
	EventRolloutAbandoned = "RolloutAbandoned"
	// EventRolloutRetried tells that a revision is tried again because the annotation asks for it.
	EventRolloutRetried = "RolloutRetried"
	// EventRollbackStarted tells that a change broke something and is taken back.
	EventRollbackStarted = "RollbackStarted"
	// EventRolledBack tells that every changed member is back on the verified revision.
	EventRolledBack = "RolledBack"

	// EventResumed tells that nobody asks for no changes any more.
	EventResumed = "Resumed"

	// EventReplicaSetInitiated tells that a new replica set got its configuration.
	EventReplicaSetInitiated = "ReplicaSetInitiated"
	// EventUsersCreated tells that a replica set knows the operator's user.
	EventUsersCreated = "UsersCreated"
	// EventApplicationUserCreated tells that the application's user exists with the password of its Secret.
	EventApplicationUserCreated = "ApplicationUserCreated"
	// EventShardAdded tells that a replica set became a shard.
	EventShardAdded = "ShardAdded"
	// EventTrialStarted tells that a server is started with a new file on an empty directory.
	EventTrialStarted = "TrialStarted"
	// EventFileWritten tells that a member's configuration file was written.
	EventFileWritten = "FileWritten"
	// EventTemplateWritten tells that the pod template of a replica set was written.
	EventTemplateWritten = "TemplateWritten"
	// EventValuesSet tells that values were brought into force on a running member.
	EventValuesSet = "ValuesSet"
	// EventStepDownAsked tells that a primary was asked to hand over.
	EventStepDownAsked = "StepDownAsked"
	// EventMemberRestarted tells that a member's pod was evicted, to start anew.
	EventMemberRestarted = "MemberRestarted"
	// EventPodRecreated tells that the pod of a member that serves nobody was deleted.
	EventPodRecreated = "PodRecreated"
	// EventKeyFileReplaced tells that the pods with a lost key file were deleted together.
	EventKeyFileReplaced = "KeyFileReplaced"
	// EventHostRestoring tells that a Job was started that puts a node back.
	EventHostRestoring = "HostRestoring"
	// EventHostTuned tells that settings were brought to a node.
	EventHostTuned = "HostTuned"
)
