// SPDX-License-Identifier: Apache-2.0

package desired_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/test/builders"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sets are the one shard and the config servers of a cluster.
func sets(cluster desired.Cluster) (shard, config desired.ReplicaSet) {
	all := desired.ReplicaSets(cluster.Tuning)
	return all[0], all[len(all)-1]
}

// tuned is the cluster of the golden files: settings of every kind, and placement with everything in it.
func tuned() desired.Cluster {
	return builders.ShardedCluster().DirtyTrigger(30).Executor(v1alpha1.ServiceExecutorAdaptive).
		Change(func(tuning *v1alpha1.MongoTuning) {
			spec := &tuning.Spec
			spec.MongoDB.ImagePullSecrets = []v1alpha1.SecretReference{{Name: "registry"}}
			spec.Shards.Storage.ClassName = new("fast")
			spec.Shards.Placement = v1alpha1.Placement{
				NodeSpread: v1alpha1.SpreadRequired, ZoneSpread: v1alpha1.SpreadPreferred,
				NodeSelector:      map[string]string{"disk": "nvme"},
				Tolerations:       []v1alpha1.Toleration{{Key: "database", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(60))}},
				PriorityClassName: "database",
			}
			spec.ConfigServers.Placement = v1alpha1.Placement{NodeSpread: v1alpha1.SpreadNone, ZoneSpread: v1alpha1.SpreadNone}
			spec.Mongos.Placement = v1alpha1.Placement{NodeSpread: v1alpha1.SpreadPreferred, ZoneSpread: v1alpha1.SpreadPreferred}
			spec.Mongos.Tuning = &v1alpha1.MongosTuning{ServiceExecutor: new(v1alpha1.ServiceExecutorAdaptive)}
		}).Desired()
}

// TestObjects holds every object to its golden file, which is reviewed as a manifest. Run with -update
// after a change that is meant.
func TestObjects(t *testing.T) {
	cluster := tuned()
	shard, config := sets(cluster)
	trial := desired.TrialConfig(shard, cluster.Resolved.Settings[shard.Component])
	for file, object := range map[string]any{
		"statefulset-shard.yaml":            cluster.StatefulSet(shard),
		"statefulset-config-servers.yaml":   cluster.StatefulSet(config),
		"deployment-mongos.yaml":            cluster.MongosDeployment(),
		"service-shard.yaml":                cluster.MemberService(shard),
		"service-mongos.yaml":               cluster.MongosService(),
		"budget-shard.yaml":                 cluster.DisruptionBudget(shard),
		"serviceaccount.yaml":               cluster.ServiceAccount(),
		"networkpolicy-shards.yaml":         cluster.MemberNetworkPolicy(v1alpha1.ComponentShardMember),
		"networkpolicy-config-servers.yaml": cluster.MemberNetworkPolicy(v1alpha1.ComponentConfigServer),
		"networkpolicy-mongos.yaml":         cluster.MongosNetworkPolicy(),
		"configmap-mongos.yaml":             cluster.MongosFiles(),
		"job-trial.yaml":                    cluster.TrialJob(shard, trial),
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

// TestFiles holds the configuration files of every component and supported line to their golden files.
func TestFiles(t *testing.T) {
	for _, version := range []string{"4.2.6", "4.4.2", "5.0.4", "6.0.27", "7.0.2", "8.0.1"} {
		builder := builders.ShardedCluster().Version(version).DirtyTrigger(30)
		if version < "5" {
			builder.Executor(v1alpha1.ServiceExecutorAdaptive)
		}
		cluster := builder.Desired()
		shard, config := sets(cluster)
		line := cluster.Resolved.Version.Line().String()
		compare(t, "shard-"+line+".conf", desired.MemberConfig(shard, cluster.Resolved.Settings[shard.Component]))
		compare(t, "config-server-"+line+".conf", desired.MemberConfig(config, cluster.Resolved.Settings[config.Component]))
		compare(t, "trial-"+line+".conf", desired.TrialConfig(shard, cluster.Resolved.Settings[shard.Component]))
		compare(t, "mongos-"+line+".conf", cluster.MongosConfig())
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is another than wanted; run go test ./internal/desired -update when that is meant (-want +got):\n%s", path, diff)
	}
}
