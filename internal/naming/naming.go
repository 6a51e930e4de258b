// SPDX-License-Identifier: Apache-2.0

// Package naming gives every object of a MongoTuning its name and labels. The names are built from
// metadata.name (at most 40 characters), so that even the longest, a pod of the 64th shard, stays a
// DNS label. It is pure.
package naming

import (
	"fmt"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// FieldOwner is the one field owner of everything the operator applies.
const FieldOwner = "mongotuning-operator"

// Labels of the objects.
const (
	LabelName       = "app.kubernetes.io/name"
	LabelInstance   = "app.kubernetes.io/instance"
	LabelManagedBy  = "app.kubernetes.io/managed-by"
	LabelComponent  = "app.kubernetes.io/component"
	LabelReplicaSet = "mongotuning.io/replica-set"
	// LabelTrial on a trial start names the file it tries.
	LabelTrial = "mongotuning.io/trial"

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "mongotuning-operator"

	appName = "mongodb"
)

// Annotations of the objects.
const (
	// AnnotationTemplateHash on a StatefulSet names the pod template it was given, on a pod the one it
	// was made from. Kubernetes' own revision hash does not serve: it also changes with the operator's
	// image, and an upgrade of the operator must not restart a database.
	AnnotationTemplateHash = "mongotuning.io/template-hash"
	// AnnotationKeyFile on a pod names the key file it was started with.
	AnnotationKeyFile = "mongotuning.io/key-file"
	// AnnotationConfigFile on a pod names the configuration file that was written for it last; touching
	// it makes the kubelet refresh the mounted ConfigMap at once.
	AnnotationConfigFile = "mongotuning.io/config-file"
	// AnnotationTrialFile on the pod of a trial start is the file it tries.
	AnnotationTrialFile = "mongotuning.io/trial-file"
)

// Port is the port of every mongod and mongos.
const Port = 27017

// Shard is the name of a shard: of its replica set, StatefulSet and headless Service.
func Shard(tuning string, index int32) string {
	return fmt.Sprintf("%s-shard-%d", tuning, index)
}

// ConfigServers is the name of the config servers' replica set, StatefulSet and headless Service.
func ConfigServers(tuning string) string { return tuning + "-config" }

// Mongos is the name of the mongos Deployment and Service.
func Mongos(tuning string) string { return tuning + "-mongos" }

// Member is the name of a pod of a replica set.
func Member(replicaSet string, ordinal int32) string {
	return fmt.Sprintf("%s-%d", replicaSet, ordinal)
}

// MemberHost is the DNS name under which members and routers know a member.
func MemberHost(replicaSet, namespace, clusterDomain string, ordinal int32) string {
	return fmt.Sprintf("%s.%s.%s.svc.%s", Member(replicaSet, ordinal), replicaSet, namespace, clusterDomain)
}

// MongosHost is the DNS name of the mongos Service.
func MongosHost(tuning, namespace, clusterDomain string) string {
	return fmt.Sprintf("%s.%s.svc.%s", Mongos(tuning), namespace, clusterDomain)
}

// ConfigFiles is the ConfigMap with one configuration file for each member of a replica set, or with
// the one file of mongos.
func ConfigFiles(owner string) string { return owner + "-files" }

// ConfigFile is the key of a member's file in that ConfigMap.
func ConfigFile(pod string) string { return pod + ".conf" }

// MongosConfigFile is the key of the routers' common file.
const MongosConfigFile = "mongos.conf"

// Recording is the ConfigMap with what was measured while the last change travelled, and the history of
// changes.
func Recording(tuning string) string { return tuning + "-recording" }

// Keys of that ConfigMap.
const (
	// RecordingHistory is the history of changes as JSON.
	RecordingHistory = "history"
	// RecordingGauges is the recording of the last change, compressed.
	RecordingGauges = "gauges"
)

// KeyFileSecret holds the key by which members know each other.
func KeyFileSecret(tuning string) string { return tuning + "-keyfile" }

// OperatorSecret holds the operator's own database user.
func OperatorSecret(tuning string) string { return tuning + "-operator" }

// AppSecret holds the database user for applications.
func AppSecret(tuning string) string { return tuning + "-app" }

// ServiceAccount is the identity of the database pods, which has no rights at all.
func ServiceAccount(tuning string) string { return tuning + "-mongodb" }

// NetworkPolicy admits traffic to the database pods of one component.
func NetworkPolicy(tuning string, component v1alpha1.Component) string {
	return tuning + "-" + ComponentLabel(component)
}

// Keys of the Secrets.
const (
	KeyFileKey  = "key"
	UsernameKey = "username"
	PasswordKey = "password"
	URIKey      = "uri"
)

// Trial is the name of the Job that tries a file.
func Trial(tuning, id string) string { return tuning + "-trial-" + id }

// TrialContainer is the name of the container in which a file is tried.
const TrialContainer = "trial"

// TrialLabels are on the Job of a trial start and its pod.
func TrialLabels(tuning, id string) map[string]string {
	labels := Labels(tuning)
	labels[LabelComponent] = "trial"
	labels[LabelTrial] = id
	return labels
}

// Labels are on every object of a MongoTuning.
func Labels(tuning string) map[string]string {
	return map[string]string{LabelName: appName, LabelInstance: tuning, LabelManagedBy: ManagedBy}
}

// ComponentLabels are on every object of one component.
func ComponentLabels(tuning string, component v1alpha1.Component) map[string]string {
	labels := Labels(tuning)
	labels[LabelComponent] = ComponentLabel(component)
	return labels
}

// ReplicaSetLabels are on every object of one replica set; they also select its pods.
func ReplicaSetLabels(tuning, replicaSet string, component v1alpha1.Component) map[string]string {
	labels := ComponentLabels(tuning, component)
	labels[LabelReplicaSet] = replicaSet
	return labels
}

// ComponentLabel is the value of LabelComponent.
func ComponentLabel(component v1alpha1.Component) string {
	switch component {
	case v1alpha1.ComponentShardMember:
		return "shard"
	case v1alpha1.ComponentConfigServer:
		return "config-server"
	case v1alpha1.ComponentMongos:
		return "mongos"
	default:
		return "unknown"
	}
}
