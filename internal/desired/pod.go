// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

const (
	// databaseUser is the user and group id of mongodb in the official images.
	databaseUser = int64(999)

	// gracePeriodSeconds is how long a member may take to stop: 5.0 and newer wait 15 s for clients
	// before they begin, then write a last checkpoint of whatever is dirty.
	gracePeriodSeconds = int64(120)

	// startupPeriodSeconds and startupFailures give a member an hour to come up, since recovery after
	// a crash reads the journal of a large cache.
	startupPeriodSeconds = int32(2)
	startupFailures      = int32(1800)

	// Readiness is looked at often enough for Services and budgets; the operator's own looks decide
	// everything else. One miss may be a busy moment.
	readinessPeriodSeconds = int32(10)
	readinessFailures      = int32(3)
	probeTimeoutSeconds    = int32(5)
)

// Volumes of the database pods.
const (
	volumeData      = "data"
	volumeFiles     = "files"
	volumeKey       = "key"
	volumeRuntime   = "runtime"
	volumeBinary    = "binary"
	volumeTemporary = "tmp"
)

// ContainerMember is the name of the container that mongod or mongos runs in.
const ContainerMember = "mongodb"

// podSpec is what mongod and mongos pods have in common. There is no liveness probe: a frozen member
// is judged by its peers and by the operator, and killing it would turn slowness into an outage.
func (c Cluster) podSpec(placement v1alpha1.Placement, selector map[string]string) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithServiceAccountName(naming.ServiceAccount(c.Tuning.Name)).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(gracePeriodSeconds).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).WithRunAsUser(databaseUser).WithRunAsGroup(databaseUser).WithFSGroup(databaseUser).
			WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithInitContainers(c.prepareContainer()).
		WithVolumes(
			corev1ac.Volume().WithName(volumeKey).WithSecret(corev1ac.SecretVolumeSource().
				WithSecretName(naming.KeyFileSecret(c.Tuning.Name))),
			corev1ac.Volume().WithName(volumeRuntime).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
				WithMedium(corev1.StorageMediumMemory).WithSizeLimit(resource.MustParse("1Mi"))),
			corev1ac.Volume().WithName(volumeBinary).WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
			corev1ac.Volume().WithName(volumeTemporary).WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
		)
	for _, secret := range c.Tuning.Spec.MongoDB.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	place(spec, placement, selector)
	return spec
}

// prepareContainer copies the key file with the mode mongod insists on (a Secret volume cannot give it
// when fsGroup is set) and the binary that raises limits and answers probes.
func (c Cluster) prepareContainer() *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName("prepare").
		WithImage(c.OperatorImage).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs("member", "prepare",
			"--key-file-from="+keyMountPath+"/"+naming.KeyFileKey,
			"--key-file-to="+keyFilePath,
			"--binary-to="+binaryPath).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")})).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeKey).WithMountPath(keyMountPath).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeRuntime).WithMountPath(runtimePath),
			corev1ac.VolumeMount().WithName(volumeBinary).WithMountPath(binaryDir),
		)
}

// databaseContainer runs one server through our binary, which raises the soft limits to the hard ones
// and then becomes the server.
func (c Cluster) databaseContainer(server, file string, resources v1alpha1.Resources) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(ContainerMember).
		WithImage(c.image()).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand(binaryPath, "member", "run", "--", server, "--config", filesPath+"/"+file).
		WithPorts(corev1ac.ContainerPort().WithName("mongodb").WithContainerPort(naming.Port).WithProtocol(corev1.ProtocolTCP)).
		WithResources(resourceRequirements(resources)).
		WithSecurityContext(restricted()).
		WithStartupProbe(probe("started").
			WithPeriodSeconds(startupPeriodSeconds).WithFailureThreshold(startupFailures)).
		WithReadinessProbe(probe("ready").
			WithPeriodSeconds(readinessPeriodSeconds).WithFailureThreshold(readinessFailures)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeFiles).WithMountPath(filesPath).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeRuntime).WithMountPath(runtimePath).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeBinary).WithMountPath(binaryDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeTemporary).WithMountPath(temporaryPath),
		)
}

func probe(question string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithExec(corev1ac.ExecAction().WithCommand(binaryPath, "member", "probe",
			"--question="+question, "--address=127.0.0.1:"+strconv.Itoa(naming.Port))).
		WithTimeoutSeconds(probeTimeoutSeconds)
}

// restricted is the container half of the restricted Pod Security profile.
func restricted() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

func resourceRequirements(resources v1alpha1.Resources) *corev1ac.ResourceRequirementsApplyConfiguration {
	requirements := corev1ac.ResourceRequirements()
	if list := resourceList(resources.Requests); len(list) > 0 {
		requirements.WithRequests(list)
	}
	if list := resourceList(resources.Limits); len(list) > 0 {
		requirements.WithLimits(list)
	}
	return requirements
}

func resourceList(quantities v1alpha1.ComputeQuantities) corev1.ResourceList {
	list := corev1.ResourceList{}
	if quantities.CPU != nil {
		list[corev1.ResourceCPU] = *quantities.CPU
	}
	if quantities.Memory != nil {
		list[corev1.ResourceMemory] = *quantities.Memory
	}
	return list
}

func place(spec *corev1ac.PodSpecApplyConfiguration, placement v1alpha1.Placement, selector map[string]string) {
	for _, spread := range []struct {
		key  string
		mode v1alpha1.Spread
	}{
		{corev1.LabelHostname, placement.NodeSpread},
		{corev1.LabelTopologyZone, placement.ZoneSpread},
	} {
		if spread.mode == v1alpha1.SpreadNone {
			continue
		}
		unsatisfiable := corev1.ScheduleAnyway
		if spread.mode == v1alpha1.SpreadRequired {
			unsatisfiable = corev1.DoNotSchedule
		}
		spec.WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).WithTopologyKey(spread.key).WithWhenUnsatisfiable(unsatisfiable).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(selector)))
	}
	if len(placement.NodeSelector) > 0 {
		spec.WithNodeSelector(placement.NodeSelector)
	}
	for _, toleration := range placement.Tolerations {
		spec.WithTolerations(tolerationOf(toleration))
	}
	if placement.PriorityClassName != "" {
		spec.WithPriorityClassName(placement.PriorityClassName)
	}
}

func tolerationOf(toleration v1alpha1.Toleration) *corev1ac.TolerationApplyConfiguration {
	applied := corev1ac.Toleration()
	if toleration.Key != "" {
		applied.WithKey(toleration.Key)
	}
	if toleration.Operator != "" {
		applied.WithOperator(corev1.TolerationOperator(toleration.Operator))
	}
	if toleration.Value != "" {
		applied.WithValue(toleration.Value)
	}
	if toleration.Effect != "" {
		applied.WithEffect(corev1.TaintEffect(toleration.Effect))
	}
	if toleration.TolerationSeconds != nil {
		applied.WithTolerationSeconds(*toleration.TolerationSeconds)
	}
	return applied
}
