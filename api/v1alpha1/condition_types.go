// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a MongoTuning. Conditions called abnormal-true are present only while True.
const (
	// ConditionAvailable is True while every shard and the config servers have a primary and a mongos
	// answers; Unknown when that could not be asked.
	ConditionAvailable = "Available"

	// ConditionReady speaks of the current generation: True while every declared value is in force and
	// proved on every member, Unknown while work towards that is under way or a member does not serve,
	// False when the way is barred (Stalled).
	ConditionReady = "Ready"

	// ConditionReconciling is abnormal-true: work towards the current generation is under way, and the
	// message says which step.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is abnormal-true: nothing more will happen until a person changes something, and
	// the message says what. Looking and judging go on.
	ConditionStalled = "Stalled"

	// ConditionApplied is True when every member runs on the newest file and pod template.
	ConditionApplied = "Applied"

	// ConditionVerified is True while every declared value is read back from every running process,
	// False when one differs, Unknown when a process could not be asked.
	ConditionVerified = "Verified"

	// ConditionRolledBack is abnormal-true: a change broke a limit, or a changed member did not come
	// back, and the members were returned to the last verified revision.
	ConditionRolledBack = "RolledBack"

	// ConditionHostTuned is True while every node of a mongod pod has the declared host settings, False
	// when one has not, Unknown while that is under way. It is present only while host tuning is on, or
	// nodes still have to be put back.
	ConditionHostTuned = "HostTuned"

	// ConditionSuspended is abnormal-true: a person asked for no changes. Ready keeps its last value.
	ConditionSuspended = "Suspended"
)

// Reasons of the conditions. They are part of the API: programs may compare them.
const (
	// ReasonVerified surfaces when every declared value is proved.
	ReasonVerified = "Verified"
	// ReasonBuilding surfaces while pods of a new cluster or a new shard are not all running.
	ReasonBuilding = "Building"
	// ReasonBootstrapping surfaces while replica sets are initiated, users created, shards added.
	ReasonBootstrapping = "Bootstrapping"
	// ReasonApplying surfaces while files or pod templates are written or values are set online.
	ReasonApplying = "Applying"
	// ReasonRestarting surfaces while members are restarted one by one.
	ReasonRestarting = "Restarting"
	// ReasonWaitingForMembers surfaces while a gate is closed because a member is down, behind or silent.
	ReasonWaitingForMembers = "WaitingForMembers"
	// ReasonVerifying surfaces while values are set and not yet read back.
	ReasonVerifying = "Verifying"

	// ReasonWaitingForWindow surfaces while a change waits for a window to open; the message says when.
	ReasonWaitingForWindow = "WaitingForWindow"
	// ReasonWaitingForSlot surfaces while as many other objects roll out as the operator lets roll out at
	// once; the message says which.
	ReasonWaitingForSlot = "WaitingForSlot"
	// ReasonWaitingForConsent surfaces while a restart needs the proceed annotation, because a limit was
	// broken before the change began.
	ReasonWaitingForConsent = "WaitingForConsent"
	// ReasonWaitingForMigration surfaces while chunks move from or to the shard whose member is next.
	ReasonWaitingForMigration = "WaitingForMigration"
	// ReasonWaitingForOplog surfaces while the oplog does not reach back far enough, or is not known to,
	// for a member to be away for a restart.
	ReasonWaitingForOplog = "WaitingForOplog"
	// ReasonWaitingForBudget surfaces while a disruption budget does not allow a restart: somebody else
	// disturbs the replica set.
	ReasonWaitingForBudget = "WaitingForBudget"
	// ReasonStepDownRefused surfaces while a primary refuses to step down because no electable secondary
	// is caught up.
	ReasonStepDownRefused = "StepDownRefused"

	// ReasonCanarySoaking surfaces while the canary is held under watch.
	ReasonCanarySoaking = "CanarySoaking"
	// ReasonReturning surfaces while changed members are brought back to the last verified revision.
	ReasonReturning = "Returning"
	// ReasonRolledBack surfaces when a change was taken back.
	ReasonRolledBack = "RolledBack"
	// ReasonPaused surfaces when a change broke a limit and rollout.onBreach is Pause.
	ReasonPaused = "Paused"
	// ReasonWorseThanTwins surfaces in rollout.breachReason when the canary was worse over its soak than
	// before the change and than its twins.
	ReasonWorseThanTwins = "WorseThanTwins"
	// ReasonMemberSilent surfaces in rollout.breachReason when a changed member stayed silent while the
	// others of its replica set answered.
	ReasonMemberSilent = "MemberSilent"
	// ReasonHeldBack surfaces when the profile to change to was taken back on another cluster.
	ReasonHeldBack = "HeldBack"

	// ReasonProfileNotFound surfaces when profileRef names no TuningProfile.
	ReasonProfileNotFound = "ProfileNotFound"
	// ReasonKnobUnsupported surfaces when this MongoDB version cannot do what a knob asks for.
	ReasonKnobUnsupported = "KnobUnsupported"
	// ReasonInvalidTuning surfaces when values that came together from profile and overrides contradict
	// each other or break a limit.
	ReasonInvalidTuning = "InvalidTuning"
	// ReasonInvalidSpec surfaces when a field cannot be read although its form is right: a window that
	// never opens, a time zone that does not exist. The message begins with the path of the field.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonVersionMismatch surfaces when servers answer with another version than the declared one.
	ReasonVersionMismatch = "VersionMismatch"
	// ReasonMemberRefusesConfiguration surfaces when mongod exits at start with the rendered file.
	ReasonMemberRefusesConfiguration = "MemberRefusesConfiguration"
	// ReasonImmutableFieldChanged surfaces when an object in the cluster would have to change a field
	// that Kubernetes does not let change.
	ReasonImmutableFieldChanged = "ImmutableFieldChanged"
	// ReasonForeignObject surfaces when an object of a name we need belongs to somebody else.
	ReasonForeignObject = "ForeignObject"
	// ReasonForbidden surfaces when Kubernetes refuses something to the operator; the message names it.
	ReasonForbidden = "Forbidden"
	// ReasonTrialStartFailed surfaces when a server does not start with a newly rendered file.
	ReasonTrialStartFailed = "TrialStartFailed"

	// ReasonKnobMismatch surfaces when a process reports another value than the declared one.
	ReasonKnobMismatch = "KnobMismatch"
	// ReasonRestartPending surfaces when members wait for the restart that brings values into force.
	ReasonRestartPending = "RestartPending"
	// ReasonMembersUnknown surfaces when members could not be asked.
	ReasonMembersUnknown = "MembersUnknown"
	// ReasonNoPrimary surfaces when a replica set has no primary.
	ReasonNoPrimary = "NoPrimary"
	// ReasonMongosUnavailable surfaces when no mongos answers.
	ReasonMongosUnavailable = "MongosUnavailable"
	// ReasonAllMembersServe surfaces when every replica set has a primary and mongos answers.
	ReasonAllMembersServe = "AllMembersServe"
	// ReasonApplied surfaces when every member runs on the newest file and template.
	ReasonApplied = "Applied"
	// ReasonCorrectingDrift surfaces while values that were changed by hand are set back.
	ReasonCorrectingDrift = "CorrectingDrift"
	// ReasonDriftReported surfaces when values were changed by hand and driftPolicy leaves them.
	ReasonDriftReported = "DriftReported"
	// ReasonHostsTuned surfaces when every node has the declared host settings.
	ReasonHostsTuned = "HostsTuned"
	// ReasonTuningHosts surfaces while host settings are brought to nodes, or nodes are put back.
	ReasonTuningHosts = "TuningHosts"
	// ReasonHostTuningFailed surfaces when a node did not take a host setting, or could not be reached.
	ReasonHostTuningFailed = "HostTuningFailed"
	// ReasonHostConflict surfaces when an older MongoTuning wants another value on the same node.
	ReasonHostConflict = "HostConflict"
	// ReasonHostDrift surfaces when somebody else has changed a host setting since.
	ReasonHostDrift = "HostDrift"
	// ReasonPodRefused surfaces when Kubernetes would not let a pod be made: Pod Security, a policy, a
	// quota. Nothing was changed; the message says who refused it and what to do.
	ReasonPodRefused = "PodRefused"
	// ReasonSuspendedByUser surfaces when spec.suspend or the suspend annotation is set.
	ReasonSuspendedByUser = "SuspendedByUser"
)

// Reasons of events that are no reasons of conditions.
const (
	// EventTuningWarning tells what to know about a tuning although it can be declared.
	EventTuningWarning = "TuningWarning"
	// EventDriftCorrected tells that a value changed by hand was set back.
	EventDriftCorrected = "DriftCorrected"
	// EventDriftHeld tells that a value changed by hand is left because changes are suspended or a limit is
	// breached.
	EventDriftHeld = "DriftHeld"
	// EventDriftReported tells that a value changed by hand is left because driftPolicy says so.
	EventDriftReported = "DriftReported"
	// EventHostRestored tells that nodes were put back.
	EventHostRestored = "HostRestored"
	// EventHostRestoreAbandoned tells that nodes keep settings, because they are gone, their namespace
	// goes, or the deadline of the deletion is over.
	EventHostRestoreAbandoned = "HostRestoreAbandoned"
	// EventHostsDiffer tells that the nodes of one shard differ from each other.
	EventHostsDiffer = "HostsDiffer"
)

// AnnotationSuspend set to "true" on a MongoTuning does what spec.suspend does, without a change of
// spec, so that on-call need not fight with Git.
const AnnotationSuspend = "mongotuning.io/suspend"

// AnnotationRetry set to the name of a revision that was taken back or held back lets it be tried again.
// To retry the same revision once more, append a slash and anything: "demo-1a2b3c4d5e/2".
const AnnotationRetry = "mongotuning.io/retry"

// AnnotationProceed set to the name of the wanted revision lets it restart members although a limit was
// broken before the change began, and lets it begin outside of the windows.
const AnnotationProceed = "mongotuning.io/proceed"

// Finalizer keeps a deleted MongoTuning until its deletionPolicy and dataRetention are carried out.
const Finalizer = "mongotuning.io/cluster"
