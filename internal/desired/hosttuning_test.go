// SPDX-License-Identifier: Apache-2.0

package desired_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/test/builders"
)

// everyHostSetting declares a value for each field of hostTuning.
func everyHostSetting(tuning *v1alpha1.MongoTuning) {
	tuning.Spec.HostTuning = &v1alpha1.HostTuningSpec{
		Mode: v1alpha1.HostTuningInitContainer,
		Sysctls: []v1alpha1.Sysctl{
			{Name: "vm.swappiness", Value: "1"},
			{Name: "net.core.somaxconn", Value: "4096", Operator: v1alpha1.SysctlOnlyRaise},
			{Name: "vm.laptop_mode", Value: "0", Unlisted: v1alpha1.UnlistedAccept},
		},
		ReceivePacketSteering: &v1alpha1.ReceivePacketSteering{
			NodeInterfaces: []string{"eth0", "ens*"}, FlowEntries: new(int32(32768)),
			CPUs: v1alpha1.CPUSelection{Mode: v1alpha1.CPUsMask, Mask: "fe", BeyondNode: v1alpha1.BeyondNodeRefuse},
		},
		TransparentHugePages: v1alpha1.TransparentHugePagesAuto, TransparentHugePagesDefrag: v1alpha1.DefragDeferMadvise,
		Scheduler:    &v1alpha1.SchedulerTuning{MinGranularityNanoseconds: new(int32(10000000)), WakeupGranularityNanoseconds: new(int32(15000000))},
		BlockDevices: &v1alpha1.BlockDeviceTuning{Devices: []string{"sd?"}, ReadAheadKiB: new(int32(8)), Schedulers: []v1alpha1.IOScheduler{v1alpha1.IOSchedulerNone}},
		Checks: &v1alpha1.HostChecks{
			Kinds: []v1alpha1.HostCheck{v1alpha1.HostCheckDataVolume, v1alpha1.HostCheckLimits, v1alpha1.HostCheckKernel}, MinFreePercent: new(int32(10)),
			WriteProbe: &v1alpha1.WriteProbe{SizeMiB: 64, Seconds: 5},
		},
		Homogeneity: &v1alpha1.HomogeneitySpec{MemoryPercent: new(int32(5))},
		OnFailure:   v1alpha1.HostFailureBlock, RestoreDeadlineSeconds: new(int32(30)),
	}
}

func hostTuned() desired.Cluster {
	return builders.ShardedCluster().Change(everyHostSetting).Desired()
}

func TestObjectsOfHostTuning(t *testing.T) {
	cluster := hostTuned()
	shard, config := sets(cluster)
	since := v1alpha1.HostNodeStatus{Name: "node-1.example.org"}
	for file, object := range map[string]any{
		"host-statefulset-shard.yaml":          cluster.StatefulSet(shard),
		"host-statefulset-config-servers.yaml": cluster.StatefulSet(config),
		"host-networkpolicy-shards.yaml":       cluster.MemberNetworkPolicy(v1alpha1.ComponentShardMember),
		"host-configmap.yaml":                  cluster.HostSettingsFiles(map[string]string{"node-1.example.org": desired.HostSettingsFile(cluster.HostSettings())}),
		"host-job-apply.yaml":                  cluster.ApplyHost(since, cluster.HostSettings(), map[string]string{"demo-shard-0-1": "uid-1", "demo-shard-0-0": "uid-0"}),
		"host-job-restore.yaml":                cluster.RestoreHost(since),
	} {
		t.Run(file, func(t *testing.T) {
			encoded, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.JSONToYAML(encoded)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file, string(text))
		})
	}
}

// TestOnlyHostTuneIsPrivileged looks at every container of the pods that tune hosts: what goes beyond the
// restricted profile is one container that ends before mongod starts, and paths of the node.
func TestOnlyHostTuneIsPrivileged(t *testing.T) {
	cluster := hostTuned()
	shard, _ := sets(cluster)
	member := read[appsv1.StatefulSet](t, cluster.StatefulSet(shard)).Spec.Template
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range member.Spec.InitContainers {
		container := &member.Spec.InitContainers[i]
		if container.Name != naming.HostTuneContainer {
			continue
		}
		if !*container.SecurityContext.Privileged || *container.SecurityContext.RunAsUser != 0 {
			t.Errorf("%s cannot write on a node: %+v", container.Name, container.SecurityContext)
		}
		container.SecurityContext = member.Spec.Containers[0].SecurityContext
	}
	var volumes []corev1.Volume
	for _, volume := range member.Spec.Volumes {
		if volume.HostPath == nil {
			volumes = append(volumes, volume)
		}
	}
	member.Spec.Volumes = volumes
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &member.ObjectMeta, &member.Spec) {
		if !result.Allowed {
			t.Errorf("something besides it is not restricted: %s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	if reader := member.Spec.Containers[1]; reader.Name != naming.HostReaderContainer || reader.ReadinessProbe != nil {
		t.Errorf("the second container is %s, with readiness %v", reader.Name, reader.ReadinessProbe)
	} else {
		for _, mount := range reader.VolumeMounts {
			if !mount.ReadOnly {
				t.Errorf("the reader may write below %s", mount.MountPath)
			}
		}
	}
}

// TestHostSettingsAreNoMatterOfTheTemplate proves that a change of settings restarts nobody, and that
// turning host tuning on or off does.
func TestHostSettingsAreNoMatterOfTheTemplate(t *testing.T) {
	hash := func(change func(*v1alpha1.MongoTuning)) (template, revision string) {
		cluster := builders.ShardedCluster().Change(change).Desired()
		shard, _ := sets(cluster)
		return cluster.TemplateHash(shard), cluster.HostSettings().Revision
	}
	off, _ := hash(func(*v1alpha1.MongoTuning) {})
	disabled, _ := hash(func(tuning *v1alpha1.MongoTuning) {
		everyHostSetting(tuning)
		tuning.Spec.HostTuning.Mode = v1alpha1.HostTuningDisabled
	})
	on, first := hash(everyHostSetting)
	changed, second := hash(func(tuning *v1alpha1.MongoTuning) {
		everyHostSetting(tuning)
		tuning.Spec.HostTuning.Sysctls[0].Value = "10"
	})
	compared, third := hash(func(tuning *v1alpha1.MongoTuning) {
		everyHostSetting(tuning)
		tuning.Spec.HostTuning.Homogeneity, tuning.Spec.HostTuning.RestoreDeadlineSeconds = nil, nil
	})
	if off != disabled {
		t.Error("declaring settings with mode Disabled restarts members")
	}
	if off == on {
		t.Error("turning host tuning on does not change the template")
	}
	if on != changed || first == second {
		t.Errorf("another value: template %s -> %s, settings %s -> %s", on, changed, first, second)
	}
	if on != compared || first != third {
		t.Error("how nodes are compared or how long a deletion waits is brought to the nodes")
	}
}

func TestHostSettings(t *testing.T) {
	settings := hostTuned().HostSettings()
	want := hosttune.Settings{
		Owner:         hosttune.Owner{Namespace: "test", Name: "demo", UID: "00000000-0000-0000-0000-000000000001", Created: "0001-01-01T00:00:00Z"},
		ServerVersion: "4.4", OnFailure: hosttune.OnFailureBlock,
		Sysctls: []hosttune.Sysctl{
			{Name: "vm.swappiness", Value: "1"},
			{Name: "net.core.somaxconn", Value: "4096", Operator: hosttune.OperatorOnlyRaise},
			{Name: "vm.laptop_mode", Value: "0", Unlisted: true},
		},
		ReceivePacketSteering: &hosttune.ReceivePacketSteering{
			Interfaces: []hosttune.Interface{{Name: "eth0"}, {Pattern: "ens*"}}, FlowEntries: 32768,
			CPUs: hosttune.CPUs{Mode: hosttune.CPUsMask, Mask: "fe"}, WhenMaskTooWide: hosttune.MaskRefuse,
		},
		TransparentHugePages: &hosttune.TransparentHugePages{Mode: hosttune.HugePagesAuto, Defrag: "defer+madvise"},
		Scheduler:            &hosttune.Scheduler{MinGranularityNanoseconds: 10000000, WakeupGranularityNanoseconds: new(int64(15000000))},
		BlockDevices:         &hosttune.BlockDevices{Names: []string{"sd?"}, ReadAheadKiB: new(int32(8)), Schedulers: []string{"none"}},
		Checks:               &hosttune.Checks{Data: true, MinFreePercent: 10, Limits: true, Kernel: true, WriteProbe: &hosttune.WriteProbe{MiB: 64, Seconds: 5}},
	}
	got := settings
	got.Revision = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// TestDefaultsOfHostSettings covers what an absent field means to a node.
func TestDefaultsOfHostSettings(t *testing.T) {
	settings := builders.ShardedCluster().Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.HostTuning = &v1alpha1.HostTuningSpec{
			Mode:                  v1alpha1.HostTuningInitContainer,
			TransparentHugePages:  v1alpha1.TransparentHugePagesUnmanaged,
			ReceivePacketSteering: &v1alpha1.ReceivePacketSteering{CPUs: v1alpha1.CPUSelection{Mode: v1alpha1.CPUsAllButFirst}},
		}
	}).Desired().HostSettings()
	if settings.TransparentHugePages != nil {
		t.Errorf("Unmanaged huge pages are managed: %+v", settings.TransparentHugePages)
	}
	if got := settings.ReceivePacketSteering.Interfaces; len(got) != 1 || !got[0].DefaultRoute {
		t.Errorf("without names the interfaces are %+v, not those of the default route", got)
	}
	if checks := settings.Checks; checks == nil || !checks.Data || !checks.Limits || !checks.Kernel || checks.WriteProbe != nil {
		t.Errorf("the checks are %+v", checks)
	}
	if settings.OnFailure != hosttune.OnFailureReport {
		t.Errorf("on failure %s", settings.OnFailure)
	}
}

// TestNamesOfHostJobs proves that a Job that is remembered is not taken for the next one.
func TestNamesOfHostJobs(t *testing.T) {
	cluster := hostTuned()
	name := func(node string, reported bool, settings hosttune.Settings) string {
		since := v1alpha1.HostNodeStatus{Name: node}
		if reported {
			since.ReportTime = &cluster.Tuning.CreationTimestamp
		}
		return read[batchv1.Job](t, cluster.ApplyHost(since, settings, nil)).Name
	}
	settings := cluster.HostSettings()
	other := settings
	other.Revision = "other"
	names := map[string]string{
		name("a", false, settings): "first", name("b", false, settings): "another node",
		name("a", true, settings): "after a report", name("a", false, other): "other settings",
	}
	if len(names) != 4 {
		t.Errorf("two Jobs have one name: %v", names)
	}
	if again := name("a", false, settings); names[again] != "first" {
		t.Errorf("the same Job has two names, the second is %s", again)
	}
}
