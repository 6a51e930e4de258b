// SPDX-License-Identifier: Apache-2.0

// Package builders makes test objects that read as sentences: a MongoTuning, what is desired of it, and
// a snapshot of a cluster on which everything is in force, from which a test takes one thing away.
package builders

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/profile"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Cluster builds a MongoTuning. Its methods change it and return it.
type Cluster struct {
	object v1alpha1.MongoTuning
}

// ShardedCluster is a MongoTuning demo in the namespace test: MongoDB 4.4.2, one shard and config
// servers of three members each, one mongos, 1 GB of cache in 2 Gi of memory.
func ShardedCluster() *Cluster {
	cluster := &Cluster{object: v1alpha1.MongoTuning{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MongoTuning"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "test", UID: "00000000-0000-0000-0000-000000000001"},
		Spec: v1alpha1.MongoTuningSpec{
			MongoDB:        v1alpha1.MongoDBSpec{Version: "4.4.2"},
			Shards:         v1alpha1.ShardsSpec{Count: 1, Members: 3, Storage: v1alpha1.StorageSpec{Size: resource.MustParse("10Gi")}},
			ConfigServers:  v1alpha1.ConfigServersSpec{Members: 3, Storage: v1alpha1.StorageSpec{Size: resource.MustParse("5Gi")}},
			Mongos:         v1alpha1.MongosSpec{Replicas: 1},
			DeletionPolicy: v1alpha1.DeletionPolicyDelete,
			DataRetention:  v1alpha1.DataRetentionRetain,
			Tuning:         &v1alpha1.MongodTuning{},
		},
	}}
	return cluster.Soak(20).Memory("2Gi").CacheGB(1).ConfigServerMemory("1Gi").ConfigServerCacheGB(0.25)
}

// Change changes the object in a way that has no method of its own.
func (c *Cluster) Change(change func(*v1alpha1.MongoTuning)) *Cluster {
	change(&c.object)
	return c
}

// Named gives another name.
func (c *Cluster) Named(name string) *Cluster {
	c.object.Name = name
	return c
}

// In puts the object into a namespace.
func (c *Cluster) In(namespace string) *Cluster {
	c.object.Namespace = namespace
	return c
}

// Version declares another server version.
func (c *Cluster) Version(version string) *Cluster {
	c.object.Spec.MongoDB.Version = version
	return c
}

// Shards sets their number.
func (c *Cluster) Shards(count int32) *Cluster {
	c.object.Spec.Shards.Count = count
	return c
}

// Members sets the number of members of each shard and of the config servers.
func (c *Cluster) Members(count int32) *Cluster {
	c.object.Spec.Shards.Members = count
	c.object.Spec.ConfigServers.Members = count
	return c
}

// ConfigServers sets their number.
func (c *Cluster) ConfigServers(count int32) *Cluster {
	c.object.Spec.ConfigServers.Members = count
	return c
}

// Soak sets how long a canary is watched, as a secondary and as the primary.
func (c *Cluster) Soak(seconds int32) *Cluster {
	c.object.Spec.Rollout = &v1alpha1.RolloutSpec{Canary: &v1alpha1.CanarySpec{SoakSeconds: &seconds}, LeadSoakSeconds: &seconds}
	return c
}

// Memory limits the memory of the shards' members; an empty text takes the limit away.
func (c *Cluster) Memory(limit string) *Cluster {
	c.object.Spec.Shards.Resources = memory(limit)
	return c
}

// ConfigServerMemory limits the memory of the config servers.
func (c *Cluster) ConfigServerMemory(limit string) *Cluster {
	c.object.Spec.ConfigServers.Resources = memory(limit)
	return c
}

func memory(limit string) v1alpha1.Resources {
	if limit == "" {
		return v1alpha1.Resources{}
	}
	return v1alpha1.Resources{Limits: v1alpha1.ComputeQuantities{Memory: new(resource.MustParse(limit))}}
}

// CacheGB declares the cache of the shards' members.
func (c *Cluster) CacheGB(size float64) *Cluster {
	c.object.Spec.Tuning.CacheSizeGB = new(v1alpha1.Gigabytes(size))
	return c
}

// CachePercent declares the cache of the shards' members as a share of their memory.
func (c *Cluster) CachePercent(share int32) *Cluster {
	c.object.Spec.Tuning.CacheSizeGB, c.object.Spec.Tuning.CacheSizePercent = nil, &share
	return c
}

// ConfigServerCacheGB declares the cache of the config servers.
func (c *Cluster) ConfigServerCacheGB(size float64) *Cluster {
	c.object.Spec.ConfigServers.Tuning = &v1alpha1.ConfigServerTuning{CacheSizeGB: new(v1alpha1.Gigabytes(size))}
	return c
}

// DirtyTrigger declares eviction.dirtyTriggerPercent of the shards' members, which is set online.
func (c *Cluster) DirtyTrigger(percent int32) *Cluster {
	c.object.Spec.Tuning.Eviction = &v1alpha1.EvictionTuning{DirtyTriggerPercent: &percent}
	return c
}

// Executor declares serviceExecutor of the shards' members, which takes a restart.
func (c *Cluster) Executor(executor v1alpha1.ServiceExecutor) *Cluster {
	c.object.Spec.Tuning.ServiceExecutor = &executor
	return c
}

// Object is the MongoTuning.
func (c *Cluster) Object() *v1alpha1.MongoTuning { return c.object.DeepCopy() }

// Desired is what the MongoTuning asks for. A tuning that cannot be resolved is a mistake of the test.
func (c *Cluster) Desired() desired.Cluster {
	resolved, err := profile.Resolve(c.object.Spec, nil)
	if err != nil {
		panic("the test declares what cannot be declared: " + err.Error())
	}
	return desired.Cluster{
		Tuning: c.Object(), Resolved: resolved, OperatorImage: "example.org/mongotuning:test",
		OperatorNamespace: "mongotuning-system", ClusterDomain: "cluster.local", KeyFileID: "key-1",
	}
}

// WithoutLimits turns every built-in limit off: servers that only play have no gauges.
func (c *Cluster) WithoutLimits() *Cluster {
	verification := &v1alpha1.VerificationSpec{}
	for name, gauge := range map[string]v1alpha1.Gauge{
		verify.LimitDirtyCache: v1alpha1.GaugeDirtyCache, verify.LimitCacheFill: v1alpha1.GaugeCacheFill,
		verify.LimitThreadEvictions: v1alpha1.GaugeApplicationThreadEvictions, verify.LimitReplicationLag: v1alpha1.GaugeReplicationLag,
		verify.LimitMajorityLag: v1alpha1.GaugeMajorityLag, verify.LimitOplogWindow: v1alpha1.GaugeOplogWindow,
		verify.LimitTickets: v1alpha1.GaugeTicketsAvailable, verify.LimitConnections: v1alpha1.GaugeConnectionsUsed,
		verify.LimitMemoryBudget:  v1alpha1.GaugeMemoryBudget,
		verify.LimitPinnedHistory: v1alpha1.GaugePinnedHistory, verify.LimitCheckpointDuration: v1alpha1.GaugeCheckpointDuration,
	} {
		verification.Limits = append(verification.Limits, v1alpha1.Limit{
			Name: name, Gauge: gauge, Max: new(int64(100)), Enforcement: v1alpha1.EnforcementOff,
		})
	}
	slices.SortFunc(verification.Limits, func(a, b v1alpha1.Limit) int { return cmp.Compare(a.Name, b.Name) })
	c.object.Spec.Verification = verification
	return c
}
