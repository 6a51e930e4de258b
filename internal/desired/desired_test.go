// SPDX-License-Identifier: Apache-2.0

package desired_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/test/builders"
)

// read turns an apply configuration into the object it describes.
func read[T any](t *testing.T, applied any) T {
	t.Helper()
	encoded, err := json.Marshal(applied)
	if err != nil {
		t.Fatal(err)
	}
	var object T
	if err := json.Unmarshal(encoded, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func templates(t *testing.T, cluster desired.Cluster) map[string]corev1.PodTemplateSpec {
	t.Helper()
	shard, config := sets(cluster)
	return map[string]corev1.PodTemplateSpec{
		"shard":          read[appsv1.StatefulSet](t, cluster.StatefulSet(shard)).Spec.Template,
		"config servers": read[appsv1.StatefulSet](t, cluster.StatefulSet(config)).Spec.Template,
		"mongos":         read[appsv1.Deployment](t, cluster.MongosDeployment()).Spec.Template,
		"trial":          read[batchv1.Job](t, cluster.TrialJob(shard, "{}")).Spec.Template,
	}
}

func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, template := range templates(t, tuned()) {
		for _, result := range evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec) {
			if !result.Allowed {
				t.Errorf("the pods of %s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
	}
}

func TestContractOfPods(t *testing.T) {
	for name, template := range templates(t, tuned()) {
		spec := template.Spec
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("the pods of %s get a token", name)
		}
		for _, container := range append(spec.InitContainers, spec.Containers...) {
			if !*container.SecurityContext.ReadOnlyRootFilesystem {
				t.Errorf("%s of %s may write into its image", container.Name, name)
			}
			if container.LivenessProbe != nil {
				t.Errorf("%s of %s is killed when it is slow", container.Name, name)
			}
			for _, mount := range container.VolumeMounts {
				if mount.SubPath != "" {
					t.Errorf("%s of %s mounts %s by subPath, which is never refreshed", container.Name, name, mount.Name)
				}
			}
		}
		if name == "trial" {
			continue
		}
		if *spec.TerminationGracePeriodSeconds <= 15 {
			t.Errorf("the pods of %s have %d s to stop; the server's own wait is 15 s", name, *spec.TerminationGracePeriodSeconds)
		}
		server := spec.Containers[0]
		if server.ReadinessProbe == nil || server.StartupProbe == nil {
			t.Errorf("the pods of %s are not probed", name)
		}
	}
}

func TestStatefulSetRestartsNobodyByItself(t *testing.T) {
	cluster := tuned()
	shard, _ := sets(cluster)
	set := read[appsv1.StatefulSet](t, cluster.StatefulSet(shard))
	if set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType || set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		t.Errorf("update strategy %s, pod management %s", set.Spec.UpdateStrategy.Type, set.Spec.PodManagementPolicy)
	}
	if got := set.Spec.PersistentVolumeClaimRetentionPolicy; got.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType || got.WhenDeleted != appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
		t.Errorf("volumes are not kept: %+v", got)
	}
	for _, template := range []metav1.ObjectMeta{set.Spec.Template.ObjectMeta, set.ObjectMeta} {
		if template.Annotations[naming.AnnotationTemplateHash] != cluster.TemplateHash(shard) {
			t.Error("set and pods do not carry the name of the template")
		}
	}
}

func TestTemplateHash(t *testing.T) {
	hash := func(cluster desired.Cluster) (member, mongos string) {
		shard, _ := sets(cluster)
		return cluster.TemplateHash(shard), cluster.MongosTemplateHash()
	}
	base := func() *builders.Cluster { return builders.ShardedCluster() }
	member, mongos := hash(base().Desired())
	for _, row := range []struct {
		name                           string
		cluster                        desired.Cluster
		memberRestarts, mongosRestarts bool
	}{
		{"an upgrade of the operator restarts nobody", func() desired.Cluster {
			cluster := base().Desired()
			cluster.OperatorImage = "example.org/mongotuning:next"
			return cluster
		}(), false, false},
		{"another key file is no matter of the members' template; mongos roll", func() desired.Cluster {
			cluster := base().Desired()
			cluster.KeyFileID = "key-2"
			return cluster
		}(), false, true},
		{"another setting of the members is no matter of any template", base().DirtyTrigger(30).Desired(), false, false},
		{"another memory limit restarts members", base().Memory("4Gi").Desired(), true, false},
		{"another CPU request restarts members", base().Change(func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Shards.Resources.Requests.CPU = new(resource.MustParse("2"))
		}).Desired(), true, false},
		{"another image restarts everybody", base().Change(func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.MongoDB.Image = "example.org/mongo:4.4.2"
		}).Desired(), true, true},
		{"another patch version restarts everybody", base().Version("4.4.3").Desired(), true, true},
		{"a tuning of mongos rolls mongos", base().Change(func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Mongos.Tuning = &v1alpha1.MongosTuning{ServiceExecutor: new(v1alpha1.ServiceExecutorAdaptive)}
		}).Desired(), false, true},
		{"more mongos restart nobody", base().Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Mongos.Replicas = 5 }).Desired(), false, false},
		{"more shards restart nobody", base().Shards(3).Desired(), false, false},
		{"another pull secret takes effect when a member is made anew; mongos roll by themselves", base().Change(func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.MongoDB.ImagePullSecrets = []v1alpha1.SecretReference{{Name: "registry"}}
		}).Desired(), false, true},
		{"the same memory in other words restarts nobody", base().Memory("2048Mi").Desired(), false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			gotMember, gotMongos := hash(row.cluster)
			if restarts := gotMember != member; restarts != row.memberRestarts {
				t.Errorf("members restart: %t", restarts)
			}
			if restarts := gotMongos != mongos; restarts != row.mongosRestarts {
				t.Errorf("mongos roll: %t", restarts)
			}
		})
	}
}

func TestCacheFits(t *testing.T) {
	const mebibyte = 1 << 20
	file := func(size string) string { return "storage: {wiredTiger: {engineConfig: {cacheSizeGB: " + size + "}}}" }
	for _, row := range []struct {
		name  string
		file  string
		limit int64
		want  bool
	}{
		{"anything fits where there is no limit", file("9999"), 0, true},
		{"a file that cannot be read fits nothing", "{", 1024 * mebibyte, false},
		{"exactly 80 % fits", file("0.8"), 1024 * mebibyte, true},
		{"a MiB more than 80 % does not", file("0.801"), 1024 * mebibyte, false},
		{"80 % that is no whole number of MiB fits", file("0.6"), 768 * mebibyte, true},
		{"a file without a cache fits", "storage: {}", 1024 * mebibyte, true},
	} {
		if got := desired.CacheFits(row.file, row.limit); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

func TestReplicaSetsAreInTheOrderOfAChange(t *testing.T) {
	all := desired.ReplicaSets(builders.ShardedCluster().Shards(2).Members(5).Object())
	names := []string{"demo-shard-0", "demo-shard-1", "demo-config"}
	for i, set := range all {
		if set.Name != names[i] || len(set.Pods()) != 5 || set.Line != (catalog.Line{Major: 4, Minor: 4}) {
			t.Errorf("set %d is %s with %d pods on %s", i, set.Name, len(set.Pods()), set.Line)
		}
	}
}
