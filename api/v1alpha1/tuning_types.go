// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Gigabytes is a size in the unit of mongod's cacheSizeGB, which is GiB (2^30 bytes), as a decimal number.
//
// +kubebuilder:validation:Type=number
type Gigabytes float64

// MongodTuning is the tuning of shard members. Every field may be left out: the profile's value holds
// then, or else the server's own default. The tuning reference lists versions, hazards and sources.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cacheSizeGB) && has(self.cacheSizePercent))",fieldPath=".cacheSizePercent",message="must not be set together with cacheSizeGB: declare the cache size once"
type MongodTuning struct {
	// cacheSizeGB is the size of the WiredTiger cache. Set online. Unit GB as mongod counts them
	// (2^30 bytes), 0.25 to 10000, and at most 80 % of the container's memory limit. Replaces
	// cacheSizePercent of the profile. When neither is set, mongod's own formula is applied to the
	// memory limit: half of what is left after 1 GB, at least 0.25. It is always written into the
	// configuration, because servers before 6.0 do not see cgroup v2 limits.
	// +optional
	// +kubebuilder:validation:Minimum=0.25
	// +kubebuilder:validation:Maximum=10000
	CacheSizeGB *Gigabytes `json:"cacheSizeGB,omitempty"`

	// cacheSizePercent is the size of the WiredTiger cache as a share of the container's memory limit,
	// which must be set. Set online. Percent, 5 to 80. Replaces cacheSizeGB of the profile.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=80
	CacheSizePercent *int32 `json:"cacheSizePercent,omitempty"`

	// eviction is when and with how many threads pages leave the cache.
	// +optional
	Eviction *EvictionTuning `json:"eviction,omitempty"`

	// enableMajorityReadConcern set to false stops primaries from keeping history for lagging
	// secondaries. Restarts members. MongoDB 4.2 and 4.4 only: later servers refuse to start with
	// false. It takes away read concern majority, and flow control with it. Default true.
	// +optional
	EnableMajorityReadConcern *bool `json:"enableMajorityReadConcern,omitempty"`

	// serviceExecutor says how connections get threads: synchronous is one thread per connection,
	// adaptive a pool that grows and shrinks. Restarts members. MongoDB 4.2 and 4.4 only: later
	// servers do not know the option. Default synchronous.
	// +optional
	ServiceExecutor *ServiceExecutor `json:"serviceExecutor,omitempty"`
}

// EvictionTuning is WiredTiger's eviction: background threads start at a target, the threads of clients
// are drafted at a trigger. All of it is set online. Percentages are of the cache size.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targetPercent) || !has(self.triggerPercent) || self.targetPercent < self.triggerPercent",fieldPath=".targetPercent",message="must be less than triggerPercent: mongod does not start otherwise"
// +kubebuilder:validation:XValidation:rule="!has(self.dirtyTargetPercent) || !has(self.dirtyTriggerPercent) || self.dirtyTargetPercent < self.dirtyTriggerPercent",fieldPath=".dirtyTargetPercent",message="must be less than dirtyTriggerPercent: background eviction would start after the clients were drafted"
// +kubebuilder:validation:XValidation:rule="!has(self.dirtyTriggerPercent) || !has(self.triggerPercent) || self.dirtyTriggerPercent <= self.triggerPercent",fieldPath=".dirtyTriggerPercent",message="must be at most triggerPercent: WiredTiger cuts it to that without saying so"
// +kubebuilder:validation:XValidation:rule="!has(self.dirtyTargetPercent) || !has(self.targetPercent) || self.dirtyTargetPercent <= self.targetPercent",fieldPath=".dirtyTargetPercent",message="must be at most targetPercent: WiredTiger cuts it to that without saying so"
// +kubebuilder:validation:XValidation:rule="has(self.threadsMin) == has(self.threadsMax)",fieldPath=".threadsMin",message="must be set together with threadsMax: one alone stops mongod from starting"
// +kubebuilder:validation:XValidation:rule="!has(self.threadsMin) || !has(self.threadsMax) || self.threadsMin <= self.threadsMax",fieldPath=".threadsMin",message="must be at most threadsMax"
type EvictionTuning struct {
	// targetPercent is the cache fill at which background eviction starts (eviction_target). Set
	// online. Percent, 10 to 99, below triggerPercent. Default 80.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=99
	TargetPercent *int32 `json:"targetPercent,omitempty"`

	// triggerPercent is the cache fill at which client threads have to evict (eviction_trigger). Set
	// online. Percent, 11 to 100. Default 95.
	// +optional
	// +kubebuilder:validation:Minimum=11
	// +kubebuilder:validation:Maximum=100
	TriggerPercent *int32 `json:"triggerPercent,omitempty"`

	// dirtyTargetPercent is the dirty share of the cache at which background eviction of modified
	// pages starts (eviction_dirty_target). Set online. Percent, 1 to 99, below dirtyTriggerPercent.
	// Default 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	DirtyTargetPercent *int32 `json:"dirtyTargetPercent,omitempty"`

	// dirtyTriggerPercent is the dirty share of the cache at which client threads have to evict
	// (eviction_dirty_trigger). Set online. Percent, 2 to 100, at most triggerPercent. Default 20.
	// Lowering it lowers the trigger for updates too, which is half of it from 4.4 on.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=100
	DirtyTriggerPercent *int32 `json:"dirtyTriggerPercent,omitempty"`

	// threadsMin is the least number of background eviction threads. Set online. 1 to 20, at most
	// threadsMax, and only together with it. Default 4.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	ThreadsMin *int32 `json:"threadsMin,omitempty"`

	// threadsMax is the greatest number of background eviction threads. Set online. 1 to 20. Default 4.
	// More than the container has CPUs rarely helps.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	ThreadsMax *int32 `json:"threadsMax,omitempty"`
}

// ConfigServerTuning is the tuning of config servers: small on purpose, since they hold little data and
// the server overrides some settings on them.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cacheSizeGB) && has(self.cacheSizePercent))",fieldPath=".cacheSizePercent",message="must not be set together with cacheSizeGB: declare the cache size once"
type ConfigServerTuning struct {
	// cacheSizeGB is the size of the WiredTiger cache; see tuning.cacheSizeGB. Set online. 0.25 to 10000.
	// +optional
	// +kubebuilder:validation:Minimum=0.25
	// +kubebuilder:validation:Maximum=10000
	CacheSizeGB *Gigabytes `json:"cacheSizeGB,omitempty"`

	// cacheSizePercent is the cache as a share of the container's memory limit; see
	// tuning.cacheSizePercent. Set online. Percent, 5 to 80.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=80
	CacheSizePercent *int32 `json:"cacheSizePercent,omitempty"`

	// serviceExecutor says how connections get threads; see tuning.serviceExecutor. Restarts members.
	// MongoDB 4.2 and 4.4 only. Default synchronous.
	// +optional
	ServiceExecutor *ServiceExecutor `json:"serviceExecutor,omitempty"`
}

// MongosTuning is the tuning of mongos processes.
type MongosTuning struct {
	// serviceExecutor says how connections get threads; see tuning.serviceExecutor. Rolls the mongos
	// Deployment. MongoDB 4.2 and 4.4 only. Default synchronous.
	// +optional
	ServiceExecutor *ServiceExecutor `json:"serviceExecutor,omitempty"`
}

// ServiceExecutor says how connections get threads.
//
// +kubebuilder:validation:Enum=synchronous;adaptive
type ServiceExecutor string

// Values of serviceExecutor, spelled as mongod spells them.
const (
	ServiceExecutorSynchronous ServiceExecutor = "synchronous"
	ServiceExecutorAdaptive    ServiceExecutor = "adaptive"
)
