// SPDX-License-Identifier: Apache-2.0

package naming_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// longest is a name of the greatest length that the API takes.
var longest = "a" + strings.Repeat("-b", 19) + "c"

const (
	lastShard   = 63
	lastOrdinal = 6
	// revisionHash is what a StatefulSet adds to its name for the label of a revision.
	revisionHash = "-6b9f7c5d84"
)

func components() []v1alpha1.Component {
	return []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer, v1alpha1.ComponentMongos}
}

func TestLongestNamesAreLabelsOfDNS(t *testing.T) {
	if len(longest) != 40 {
		t.Fatalf("the longest name has %d characters", len(longest))
	}
	shard := naming.Shard(longest, lastShard)
	for what, name := range map[string]string{
		"shard": shard, "config servers": naming.ConfigServers(longest), "mongos": naming.Mongos(longest),
		"member":        naming.Member(shard, lastOrdinal),
		"config member": naming.Member(naming.ConfigServers(longest), lastOrdinal),
		"revision of a StatefulSet, which is a label": shard + revisionHash,
		"trial": naming.Trial(longest, "0123456789"),
	} {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			t.Errorf("%s: %q: %v", what, name, problems)
		}
	}
	for what, name := range map[string]string{
		"service of a shard": shard, "service of mongos": naming.Mongos(longest),
	} {
		if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
			t.Errorf("%s: %q: %v", what, name, problems)
		}
	}
	for what, name := range map[string]string{
		"files": naming.ConfigFiles(shard), "key file": naming.KeyFileSecret(longest), "operator": naming.OperatorSecret(longest),
		"app": naming.AppSecret(longest), "account": naming.ServiceAccount(longest), "policy": naming.NetworkPolicy(longest, v1alpha1.ComponentConfigServer),
	} {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Errorf("%s: %q: %v", what, name, problems)
		}
	}
	for _, key := range []string{naming.ConfigFile(naming.Member(shard, lastOrdinal)), naming.MongosConfigFile, naming.KeyFileKey, naming.UsernameKey, naming.PasswordKey, naming.URIKey} {
		if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
			t.Errorf("key %q: %v", key, problems)
		}
	}
}

func TestLabelsAndAnnotationsAreValid(t *testing.T) {
	sets := []map[string]string{naming.Labels(longest), naming.TrialLabels(longest, "0123456789")}
	for _, component := range components() {
		sets = append(sets, naming.ComponentLabels(longest, component), naming.ReplicaSetLabels(longest, naming.Shard(longest, lastShard), component))
	}
	for _, labels := range sets {
		for key, value := range labels {
			if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
				t.Errorf("label %s=%s: %v", key, value, problems)
			}
		}
	}
	for _, key := range []string{naming.AnnotationTemplateHash, naming.AnnotationKeyFile, naming.AnnotationConfigFile, naming.AnnotationTrialFile} {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			t.Errorf("annotation %s: %v", key, problems)
		}
	}
}

func TestNamesOfOneClusterAreAllDifferent(t *testing.T) {
	seen := map[string]string{}
	add := func(kind, name string) {
		t.Helper()
		key := kind + " " + name
		if before, taken := seen[key]; taken {
			t.Errorf("%s is the name of two things: %s", key, before)
		}
		seen[key] = name
	}
	sets := []string{naming.ConfigServers("demo")}
	for index := range int32(lastShard + 1) {
		sets = append(sets, naming.Shard("demo", index))
	}
	add("Service", naming.Mongos("demo"))
	add("ConfigMap", naming.ConfigFiles(naming.Mongos("demo")))
	for _, set := range sets {
		add("Service", set)
		add("ConfigMap", naming.ConfigFiles(set))
		for ordinal := range int32(lastOrdinal + 1) {
			add("Pod", naming.Member(set, ordinal))
		}
	}
	for _, component := range components() {
		add("NetworkPolicy", naming.NetworkPolicy("demo", component))
	}
	for _, secret := range []string{naming.KeyFileSecret("demo"), naming.OperatorSecret("demo"), naming.AppSecret("demo")} {
		add("Secret", secret)
	}
}

func TestHosts(t *testing.T) {
	for got, want := range map[string]string{
		naming.MemberHost("demo-shard-0", "db", "cluster.local", 2): "demo-shard-0-2.demo-shard-0.db.svc.cluster.local",
		naming.MongosHost("demo", "db", "example.org"):              "demo-mongos.db.svc.example.org",
	} {
		if got != want {
			t.Errorf("%s, wanted %s", got, want)
		}
	}
	const longestNamespace = 63
	host := naming.MemberHost(naming.Shard(longest, lastShard), strings.Repeat("n", longestNamespace), "cluster.local", lastOrdinal)
	if problems := validation.IsDNS1123Subdomain(host); len(problems) > 0 {
		t.Errorf("the longest host %s: %v", host, problems)
	}
}

func TestComponentsWithoutANameAreNotTakenForOthers(t *testing.T) {
	if got := naming.ComponentLabel("Arbiter"); got != "unknown" {
		t.Error(fmt.Sprint("a component that does not exist is called ", got))
	}
}
