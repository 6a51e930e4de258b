// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// StatefulSet runs the members of a replica set. It restarts nobody by itself (OnDelete) and starts all
// members at once (Parallel): a replica set needs a majority to have a primary at all.
func (c Cluster) StatefulSet(set ReplicaSet) *appsv1ac.StatefulSetApplyConfiguration {
	labels := naming.ReplicaSetLabels(c.Tuning.Name, set.Name, set.Component)
	hash := c.TemplateHash(set)
	return appsv1ac.StatefulSet(set.Name, c.Tuning.Namespace).
		WithLabels(labels).
		WithAnnotations(map[string]string{naming.AnnotationTemplateHash: hash}).
		WithOwnerReferences(c.owner()).
		WithSpec(appsv1ac.StatefulSetSpec().
			WithReplicas(set.Members).
			WithServiceName(set.Name).
			WithPodManagementPolicy(appsv1.ParallelPodManagement).
			WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
			WithPersistentVolumeClaimRetentionPolicy(c.claimRetention()).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithAnnotations(map[string]string{
					naming.AnnotationTemplateHash: hash,
					naming.AnnotationKeyFile:      c.KeyFileID,
				}).
				WithSpec(c.memberPod(set))).
			WithVolumeClaimTemplates(dataClaim(set.Storage)))
}

// TemplateHash names the pod template of a replica set. The operator's image, pull secrets and the key
// file are left out of it: the first two must not restart a database, the third has a path of its own.
func (c Cluster) TemplateHash(set ReplicaSet) string {
	c.OperatorImage = ""
	pod := c.memberPod(set)
	pod.ImagePullSecrets = nil
	return hashOf(pod)
}

// MongosTemplateHash names the pod template of the routers, the operator's image left out.
func (c Cluster) MongosTemplateHash() string {
	c.OperatorImage = ""
	return hashOf(c.mongosTemplate())
}

func hashOf(template any) string {
	encoded, err := json.Marshal(template)
	if err != nil {
		panic(fmt.Sprintf("encode pod template: %v", err)) // plain structs always encode
	}
	return FileID(string(encoded))
}

func (c Cluster) memberPod(set ReplicaSet) *corev1ac.PodSpecApplyConfiguration {
	spec := c.podSpec(set.Placement, naming.ReplicaSetLabels(c.Tuning.Name, set.Name, set.Component))
	container := c.databaseContainer("mongod", "$(POD_NAME).conf", set.Resources).
		WithEnv(corev1ac.EnvVar().WithName("POD_NAME").WithValueFrom(corev1ac.EnvVarSource().
			WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.name")))).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(volumeData).WithMountPath(dataPath))
	spec.WithContainers(container).WithVolumes(filesVolume(naming.ConfigFiles(set.Name)))
	if c.TunesHosts() {
		c.addHostTuning(spec)
	}
	return spec
}

func filesVolume(configMap string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(volumeFiles).WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(configMap))
}

func (c Cluster) claimRetention() *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().
		WithWhenDeleted(VolumeRetention(c.Tuning)).
		WithWhenScaled(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
}

// VolumeRetention is what becomes of the volumes when the StatefulSets are deleted.
func VolumeRetention(tuning *v1alpha1.MongoTuning) appsv1.PersistentVolumeClaimRetentionPolicyType {
	if tuning.Spec.DataRetention == v1alpha1.DataRetentionDelete {
		return appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return appsv1.RetainPersistentVolumeClaimRetentionPolicyType
}

func dataClaim(storage v1alpha1.StorageSpec) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	spec := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1ac.VolumeResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceStorage: storage.Size}))
	if storage.ClassName != nil {
		spec.WithStorageClassName(*storage.ClassName)
	}
	claim := corev1ac.PersistentVolumeClaim(volumeData, "").WithSpec(spec)
	claim.Namespace = nil
	return claim
}

// MongosDeployment runs the routers. They hold no data and roll by themselves, one at a time, whenever
// their file or their key changes.
func (c Cluster) MongosDeployment() *appsv1ac.DeploymentApplyConfiguration {
	labels := naming.ComponentLabels(c.Tuning.Name, v1alpha1.ComponentMongos)
	return appsv1ac.Deployment(naming.Mongos(c.Tuning.Name), c.Tuning.Namespace).
		WithLabels(labels).
		WithAnnotations(map[string]string{naming.AnnotationTemplateHash: c.MongosTemplateHash()}).
		WithOwnerReferences(c.owner()).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(c.Tuning.Spec.Mongos.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).WithMaxSurge(intstr.FromInt32(1)))).
			WithTemplate(c.mongosTemplate()))
}

func (c Cluster) mongosTemplate() *corev1ac.PodTemplateSpecApplyConfiguration {
	labels := naming.ComponentLabels(c.Tuning.Name, v1alpha1.ComponentMongos)
	mongos := c.Tuning.Spec.Mongos
	return corev1ac.PodTemplateSpec().
		WithLabels(labels).
		WithAnnotations(map[string]string{
			naming.AnnotationConfigFile: FileID(c.MongosConfig()),
			naming.AnnotationKeyFile:    c.KeyFileID,
		}).
		WithSpec(c.podSpec(mongos.Placement, labels).
			WithContainers(c.databaseContainer("mongos", naming.MongosConfigFile, mongos.Resources)).
			WithVolumes(filesVolume(naming.ConfigFiles(naming.Mongos(c.Tuning.Name)))))
}

// MongosFiles is the ConfigMap with the routers' file. The pods carry the file's name in an annotation,
// so a change rolls them.
func (c Cluster) MongosFiles() *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(naming.ConfigFiles(naming.Mongos(c.Tuning.Name)), c.Tuning.Namespace).
		WithLabels(naming.ComponentLabels(c.Tuning.Name, v1alpha1.ComponentMongos)).
		WithOwnerReferences(c.owner()).
		WithData(map[string]string{naming.MongosConfigFile: c.MongosConfig()})
}

// FileID names the content of a configuration file.
func FileID(content string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(content))
	return fmt.Sprintf("%016x", sum.Sum64())[:10]
}
