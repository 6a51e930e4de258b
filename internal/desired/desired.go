// SPDX-License-Identifier: Apache-2.0

// Package desired builds every object of a MongoTuning from its spec and the resolved tuning. Each
// builder is a function of its arguments; nothing here talks to Kubernetes or to a server.
package desired

import (
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/profile"
)

// Cluster is all that the objects of one MongoTuning are made of.
type Cluster struct {
	// Tuning is the object itself; its spec, name, namespace and UID are read, and which nodes were touched.
	Tuning *v1alpha1.MongoTuning
	// Resolved is the tuning to render.
	Resolved profile.Resolved
	// OperatorImage holds the static binary that prepares and probes the database pods.
	OperatorImage string
	// OperatorNamespace is where the operator runs, which is let through to the members.
	OperatorNamespace string
	// ClusterDomain is the DNS suffix of the Kubernetes cluster, usually cluster.local.
	ClusterDomain string
	// KeyFileID names the key file, so that pods with another one are known. It is not the key.
	KeyFileID string
}

// ReplicaSet is one replica set of the cluster: a shard or the config servers.
type ReplicaSet struct {
	// Name of the replica set, its StatefulSet and its headless Service.
	Name string
	// Component is ShardMember or ConfigServer.
	Component v1alpha1.Component
	// Line is the release line of the servers, which decides under which names the file sets values.
	Line catalog.Line
	// Members is their number.
	Members int32
	// Storage, Resources and Placement of each member.
	Storage   v1alpha1.StorageSpec
	Resources v1alpha1.Resources
	Placement v1alpha1.Placement
}

// Pods are the names of the members, in the order of their ordinals.
func (r ReplicaSet) Pods() []string {
	pods := make([]string, 0, r.Members)
	for ordinal := range r.Members {
		pods = append(pods, naming.Member(r.Name, ordinal))
	}
	return pods
}

// ReplicaSets are the replica sets that a spec asks for: the shards first, the config servers last,
// which is also the order in which a change travels.
func ReplicaSets(tuning *v1alpha1.MongoTuning) []ReplicaSet {
	shards, config := tuning.Spec.Shards, tuning.Spec.ConfigServers
	version, _ := catalog.ParseVersion(tuning.Spec.MongoDB.Version) // a version that cannot be read is refused when the tuning is resolved
	sets := make([]ReplicaSet, 0, shards.Count+1)
	for index := range shards.Count {
		sets = append(sets, ReplicaSet{
			Name: naming.Shard(tuning.Name, index), Component: v1alpha1.ComponentShardMember, Line: version.Line(),
			Members: shards.Members, Storage: shards.Storage, Resources: shards.Resources, Placement: shards.Placement,
		})
	}
	return append(sets, ReplicaSet{
		Name: naming.ConfigServers(tuning.Name), Component: v1alpha1.ComponentConfigServer, Line: version.Line(),
		Members: config.Members, Storage: config.Storage, Resources: config.Resources, Placement: config.Placement,
	})
}

// Hosts are the addresses, host and port, under which the members of a replica set know each other.
func (c Cluster) Hosts(set ReplicaSet) []string {
	hosts := make([]string, 0, set.Members)
	for ordinal := range set.Members {
		hosts = append(hosts, address(naming.MemberHost(set.Name, c.Tuning.Namespace, c.ClusterDomain, ordinal)))
	}
	return hosts
}

// image of the servers.
func (c Cluster) image() string {
	if c.Tuning.Spec.MongoDB.Image != "" {
		return c.Tuning.Spec.MongoDB.Image
	}
	return "docker.io/library/mongo:" + c.Tuning.Spec.MongoDB.Version
}

// owner makes the MongoTuning the owner of an object, so that deleting it deletes the object.
func (c Cluster) owner() *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("MongoTuning").
		WithName(c.Tuning.Name).WithUID(c.Tuning.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}
