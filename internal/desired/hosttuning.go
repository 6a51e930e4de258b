// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// Volumes of host tuning.
const (
	volumeHostSettings = "host-settings"
	volumeHostProc     = "host-proc"
	volumeHostSys      = "host-sys"
	volumeHostState    = "host-state"
)

// readerPortName is the name of the port of the reader.
const readerPortName = "host-reader"

// TunesHosts tells that the mongod pods tune their nodes.
func (c Cluster) TunesHosts() bool {
	return c.Resolved.Host != nil && c.Resolved.Host.Mode == v1alpha1.HostTuningInitContainer
}

// HostOwner is who the settings of a MongoTuning belong to on a node.
func HostOwner(tuning *v1alpha1.MongoTuning) hosttune.Owner {
	return hosttune.Owner{
		Namespace: tuning.Namespace, Name: tuning.Name, UID: string(tuning.UID),
		Created: tuning.CreationTimestamp.UTC().Format(time.RFC3339),
	}
}

// HostSettings are what the nodes of the mongod pods are set to. They are the same for all nodes; when a
// change is on its way some nodes have those of the revision before.
func (c Cluster) HostSettings() hosttune.Settings {
	settings := hosttune.Settings{Owner: HostOwner(c.Tuning), ServerVersion: c.Resolved.Version.Line().String()}
	if c.TunesHosts() {
		hostSettings(&settings, c.Resolved.Host)
	}
	settings.Revision = FileID(HostSettingsFile(settings))
	return settings
}

// HostSettingsFile is the file with settings.
func HostSettingsFile(settings hosttune.Settings) string {
	encoded, err := json.Marshal(settings)
	if err != nil {
		panic(fmt.Sprintf("encode host settings: %v", err)) // plain structs always encode
	}
	return string(encoded)
}

func hostSettings(settings *hosttune.Settings, spec *v1alpha1.HostTuningSpec) {
	settings.OnFailure = hosttune.OnFailure(spec.OnFailure)
	for _, sysctl := range spec.Sysctls {
		settings.Sysctls = append(settings.Sysctls, hosttune.Sysctl{
			Name: sysctl.Name, Value: sysctl.Value, Operator: hosttune.Operator(sysctl.Operator),
			Unlisted: sysctl.Unlisted == v1alpha1.UnlistedAccept,
		})
	}
	if steering := spec.ReceivePacketSteering; steering != nil {
		settings.ReceivePacketSteering = hostSteering(steering)
	}
	if mode := spec.TransparentHugePages; mode != "" && mode != v1alpha1.TransparentHugePagesUnmanaged {
		settings.TransparentHugePages = &hosttune.TransparentHugePages{
			Mode: hosttune.HugePagesMode(mode), Defrag: defragWord[spec.TransparentHugePagesDefrag],
		}
	}
	if scheduler := spec.Scheduler; scheduler != nil {
		settings.Scheduler = &hosttune.Scheduler{}
		if least := scheduler.MinGranularityNanoseconds; least != nil {
			settings.Scheduler.MinGranularityNanoseconds = int64(*least)
		}
		if wakeup := scheduler.WakeupGranularityNanoseconds; wakeup != nil {
			settings.Scheduler.WakeupGranularityNanoseconds = new(int64(*wakeup))
		}
	}
	if devices := spec.BlockDevices; devices != nil {
		settings.BlockDevices = &hosttune.BlockDevices{Names: devices.Devices, ReadAheadKiB: devices.ReadAheadKiB}
		for _, scheduler := range devices.Schedulers {
			settings.BlockDevices.Schedulers = append(settings.BlockDevices.Schedulers, string(scheduler))
		}
	}
	settings.Checks = hostChecks(spec.Checks)
}

// defragWord is the kernel's word for how hard it looks for huge pages.
var defragWord = map[v1alpha1.TransparentHugePagesDefrag]string{
	v1alpha1.DefragAlways: "always", v1alpha1.DefragDefer: "defer", v1alpha1.DefragDeferMadvise: "defer+madvise",
	v1alpha1.DefragMadvise: "madvise", v1alpha1.DefragNever: "never",
}

func hostSteering(spec *v1alpha1.ReceivePacketSteering) *hosttune.ReceivePacketSteering {
	steering := &hosttune.ReceivePacketSteering{
		CPUs:            hosttune.CPUs{Mode: hosttune.CPUMode(spec.CPUs.Mode), List: spec.CPUs.List, Mask: spec.CPUs.Mask},
		WhenMaskTooWide: hosttune.WhenMaskTooWide(spec.CPUs.BeyondNode),
	}
	for _, name := range spec.NodeInterfaces {
		if strings.ContainsAny(name, "*?") {
			steering.Interfaces = append(steering.Interfaces, hosttune.Interface{Pattern: name})
		} else {
			steering.Interfaces = append(steering.Interfaces, hosttune.Interface{Name: name})
		}
	}
	if len(steering.Interfaces) == 0 {
		steering.Interfaces = []hosttune.Interface{{DefaultRoute: true}}
	}
	if spec.FlowEntries != nil {
		steering.FlowEntries = *spec.FlowEntries
	}
	return steering
}

func hostChecks(spec *v1alpha1.HostChecks) *hosttune.Checks {
	if spec == nil {
		return &hosttune.Checks{Data: true, Limits: true, Kernel: true}
	}
	checks := &hosttune.Checks{Data: spec.Kinds == nil, Limits: spec.Kinds == nil, Kernel: spec.Kinds == nil}
	for _, kind := range spec.Kinds {
		switch kind {
		case v1alpha1.HostCheckDataVolume:
			checks.Data = true
		case v1alpha1.HostCheckLimits:
			checks.Limits = true
		case v1alpha1.HostCheckKernel:
			checks.Kernel = true
		}
	}
	if spec.MinFreePercent != nil {
		checks.MinFreePercent = *spec.MinFreePercent
	}
	if probe := spec.WriteProbe; probe != nil {
		checks.WriteProbe = &hosttune.WriteProbe{MiB: probe.SizeMiB, Seconds: probe.Seconds}
	}
	return checks
}

// HostSettingsFiles is the ConfigMap with the file of each node. A node has one only after it was
// recorded in status as touched: until then the init containers on it wait.
func (c Cluster) HostSettingsFiles(files map[string]string) *corev1ac.ConfigMapApplyConfiguration {
	data := make(map[string]string, len(files))
	for node, file := range files {
		data[hosttune.SettingsKey(node)] = file
	}
	return corev1ac.ConfigMap(naming.HostSettings(c.Tuning.Name), c.Tuning.Namespace).
		WithLabels(naming.Labels(c.Tuning.Name)).
		WithOwnerReferences(c.owner()).
		WithData(data)
}

// HostSettingsReleased is the same ConfigMap when nobody tunes nodes any more: members that start from
// then on, those of an orphaned cluster, write nothing.
func (c Cluster) HostSettingsReleased() *corev1ac.ConfigMapApplyConfiguration {
	return c.HostSettingsFiles(nil).WithData(map[string]string{hosttune.ReleasedKey: "The MongoTuning was deleted; its members leave the nodes alone.\n"})
}

// addHostTuning gives the pod of a member what tunes its node and what reads it.
func (c Cluster) addHostTuning(spec *corev1ac.PodSpecApplyConfiguration) {
	spec.WithInitContainers(c.hostTuneContainer("apply", settingsArgument, dataArgument, ownPodArgument, "--on-failure="+string(c.Resolved.Host.OnFailure)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(volumeData).WithMountPath(dataPath))).
		WithContainers(c.hostReaderContainer()).
		WithVolumes(hostVolumes()...).
		WithVolumes(corev1ac.Volume().WithName(volumeHostSettings).WithConfigMap(corev1ac.ConfigMapVolumeSource().
			WithName(naming.HostSettings(c.Tuning.Name)).
			// A member may start without it, so that nothing here can keep a database down.
			WithOptional(true)))
}

// hostVolumes are the paths of the node that host tuning needs.
func hostVolumes() []*corev1ac.VolumeApplyConfiguration {
	path := func(name, path string, kind corev1.HostPathType) *corev1ac.VolumeApplyConfiguration {
		return corev1ac.Volume().WithName(name).WithHostPath(corev1ac.HostPathVolumeSource().WithPath(path).WithType(kind))
	}
	return []*corev1ac.VolumeApplyConfiguration{
		path(volumeHostProc, "/proc", corev1.HostPathDirectory),
		path(volumeHostSys, "/sys", corev1.HostPathDirectory),
		path(volumeHostState, hosttune.StateDirectory, corev1.HostPathDirectoryOrCreate),
	}
}

// hostTuneContainer is the one that may write on the node: privileged, as root.
func (c Cluster) hostTuneContainer(command string, args ...string) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(naming.HostTuneContainer).
		WithImage(c.OperatorImage).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs("host-tune", command).WithArgs(args...).
		WithEnv(hostVariables()...).
		WithResources(hostResources()).
		WithSecurityContext(corev1ac.SecurityContext().
			WithPrivileged(true).WithRunAsUser(0).WithRunAsGroup(0).WithRunAsNonRoot(false).
			WithReadOnlyRootFilesystem(true)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeHostSettings).WithMountPath(hosttune.SettingsDirectory).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeHostProc).WithMountPath(hosttune.HostRoot+"/proc"),
			corev1ac.VolumeMount().WithName(volumeHostSys).WithMountPath(hosttune.HostRoot+"/sys"),
			corev1ac.VolumeMount().WithName(volumeHostState).WithMountPath(hosttune.StateMount))
}

// hostReaderContainer reads what is in force, without any privilege. It is not probed: whether it answers
// must not decide whether a member is ready.
func (c Cluster) hostReaderContainer() *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(naming.HostReaderContainer).
		WithImage(c.OperatorImage).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs("host-tune", "serve", settingsArgument, dataArgument, ownPodArgument).
		WithEnv(hostVariables()...).
		WithPorts(corev1ac.ContainerPort().WithName(readerPortName).WithContainerPort(hosttune.ReaderPort).WithProtocol(corev1.ProtocolTCP)).
		WithResources(hostResources()).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeHostSettings).WithMountPath(hosttune.SettingsDirectory).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeHostProc).WithMountPath(hosttune.HostRoot+"/proc").WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeHostSys).WithMountPath(hosttune.HostRoot+"/sys").WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeData).WithMountPath(dataPath).WithReadOnly(true))
}

// Arguments of host-tune; Kubernetes puts the variables in.
var (
	settingsArgument = "--settings=" + hosttune.SettingsDirectory + "/" + hosttune.SettingsKey("$("+hosttune.NodeVariable+")")
	dataArgument     = "--data=" + dataPath
	ownPodArgument   = "--own-pod=$(" + podNameVariable + ")=$(" + podUIDVariable + ")"
)

const (
	podNameVariable = "POD_NAME"
	podUIDVariable  = "POD_UID"
)

func hostVariables() []*corev1ac.EnvVarApplyConfiguration {
	from := func(name, path string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().
			WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath(path)))
	}
	return []*corev1ac.EnvVarApplyConfiguration{
		from(hosttune.NodeVariable, "spec.nodeName"), from(podNameVariable, "metadata.name"), from(podUIDVariable, "metadata.uid"),
	}
}

func hostResources() *corev1ac.ResourceRequirementsApplyConfiguration {
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("24Mi")}).
		WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")})
}

// readerIngress lets the operator, and nobody else, ask the readers.
func (c Cluster) readerIngress() *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	return networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(c.operatorPeer()).
		WithPorts(networkingv1ac.NetworkPolicyPort().
			WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(hosttune.ReaderPort)))
}
