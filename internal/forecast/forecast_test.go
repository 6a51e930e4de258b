// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/forecast"
	"github.com/mongotuning/mongotuning/internal/profile"
	"github.com/mongotuning/mongotuning/test/builders"
)

func side(t *testing.T, cluster *builders.Cluster) forecast.Side {
	t.Helper()
	object := cluster.Object()
	resolved, err := profile.Resolve(object.Spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return forecast.Side{Tuning: object, Resolved: resolved}
}

// led makes the named member of a set of three its primary.
func led(primaries ...string) func(*v1alpha1.MongoTuning) {
	return func(tuning *v1alpha1.MongoTuning) {
		for _, set := range []string{"demo-shard-0", "demo-shard-1", "demo-config"} {
			for _, ordinal := range []string{"-0", "-1", "-2"} {
				role := v1alpha1.MemberSecondary
				if slices.Contains(primaries, set+ordinal) {
					role = v1alpha1.MemberPrimary
				}
				tuning.Status.Members = append(tuning.Status.Members, v1alpha1.MemberStatus{Name: set + ordinal, ReplicaSet: set, Role: role})
			}
		}
	}
}

func two() *builders.Cluster { return builders.ShardedCluster().Shards(2) }

func summary(f forecast.Forecast) []string {
	var all []string
	for _, c := range f.Changes {
		all = append(all, strings.Join([]string{string(c.Component), c.Knob, c.From, c.To, string(c.Effect)}, " "))
	}
	return all
}

func steps(f forecast.Forecast) []string {
	var all []string
	for _, step := range f.Steps {
		text := string(step.Step)
		if len(step.Members) > 0 {
			text += " " + strings.Join(step.Members, " ")
		}
		if step.Restarts {
			text += " restart"
		}
		all = append(all, text)
	}
	return all
}

func TestAnOnlineChange(t *testing.T) {
	before := side(t, two().DirtyTrigger(20).Change(led("demo-shard-0-0", "demo-shard-1-2", "demo-config-0")))
	got := forecast.Between(before, side(t, two().DirtyTrigger(30)))
	if diff := cmp.Diff([]string{"ShardMember eviction.dirtyTriggerPercent 20 30 Online"}, summary(got)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	want := []string{
		"Canary demo-shard-0-1", "CanarySoak", "RestOfShard demo-shard-0-2 demo-shard-0-0",
		"OtherShards demo-shard-1-0 demo-shard-1-1 demo-shard-1-2", "Verifying",
	}
	if diff := cmp.Diff(want, steps(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(got.Restarted) > 0 || got.Revision == got.From || got.IsEmpty() {
		t.Errorf("restarted %v, revision %s from %s", got.Restarted, got.Revision, got.From)
	}
}

func TestARestartingChange(t *testing.T) {
	before := side(t, two().Change(led("demo-shard-0-0", "demo-shard-1-1", "demo-config-0")))
	got := forecast.Between(before, side(t, two().Executor(v1alpha1.ServiceExecutorAdaptive)))
	if diff := cmp.Diff([]string{"ShardMember serviceExecutor synchronous adaptive Restart"}, summary(got)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	want := []string{
		"Canary demo-shard-0-1 restart", "CanarySoak", "CanaryLeads demo-shard-0-1", "LeadSoak",
		"RestOfShard demo-shard-0-0 demo-shard-0-2 restart", "OtherShards demo-shard-1-0 demo-shard-1-2 demo-shard-1-1 restart", "Verifying",
	}
	if diff := cmp.Diff(want, steps(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	wantRestarted := []string{"demo-shard-0-1", "demo-shard-0-0", "demo-shard-0-2", "demo-shard-1-0", "demo-shard-1-2", "demo-shard-1-1"}
	if diff := cmp.Diff(wantRestarted, got.Restarted); diff != "" {
		t.Errorf("restarted (-want +got):\n%s", diff)
	}
	if text := got.Steps[2].Text; !strings.Contains(text, "demo-shard-0-0 steps down") {
		t.Errorf("the hand-over is told as %q", text)
	}
}

func TestWhereAChangeBegins(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*v1alpha1.MongoTuning)
		want   []string
	}{
		{"nothing", func(*v1alpha1.MongoTuning) {}, nil},
		{"another canary shard", func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Rollout.Canary.ShardIndex = new(int32(1))
			tuning.Spec.Tuning.CacheSizeGB = new(v1alpha1.Gigabytes(0.5))
		}, []string{"Canary demo-shard-1-0", "CanarySoak", "RestOfShard demo-shard-1-1 demo-shard-1-2", "OtherShards demo-shard-0-1 demo-shard-0-2 demo-shard-0-0", "Verifying"}},
		{"the canary leads although nothing restarts", func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Rollout.CanaryLeads = v1alpha1.CanaryLeadsAlways
			tuning.Spec.Tuning.CacheSizeGB = new(v1alpha1.Gigabytes(0.5))
		}, []string{"Canary demo-shard-0-1", "CanarySoak", "CanaryLeads demo-shard-0-1", "LeadSoak", "RestOfShard demo-shard-0-0 demo-shard-0-2", "OtherShards demo-shard-1-0 demo-shard-1-1 demo-shard-1-2", "Verifying"}},
		{"only config servers", func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.ConfigServers.Tuning.CacheSizeGB = new(v1alpha1.Gigabytes(0.3))
		}, []string{"ConfigServers demo-config-1 demo-config-2 demo-config-0", "Verifying"}},
		{"only mongos", func(tuning *v1alpha1.MongoTuning) {
			tuning.Spec.Mongos.Tuning = &v1alpha1.MongosTuning{TaskExecutorPoolSize: new(int32(4))}
		}, []string{"Mongos", "Verifying"}},
		{"only how changes travel", func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Rollout.LeadSoakSeconds = new(int32(9)) }, nil},
		{"a new shard", func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Shards.Count = 3 }, nil},
		{"another image", func(tuning *v1alpha1.MongoTuning) { tuning.Spec.MongoDB.Image = "example.org/mongo:4.4.2" }, []string{
			"Canary demo-shard-0-1 restart", "CanarySoak", "CanaryLeads demo-shard-0-1", "LeadSoak", "RestOfShard demo-shard-0-0 demo-shard-0-2 restart",
			"OtherShards demo-shard-1-0 demo-shard-1-1 demo-shard-1-2 restart", "ConfigServers demo-config-1 demo-config-2 demo-config-0 restart", "Mongos", "Verifying",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := side(t, two().Change(led("demo-shard-0-0", "demo-shard-1-2", "demo-config-0")))
			got := forecast.Between(before, side(t, two().Change(row.change)))
			if diff := cmp.Diff(row.want, steps(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsThatAreNoKnobs(t *testing.T) {
	got := forecast.Between(side(t, two()), side(t, two().Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Shards.Count = 3
		tuning.Spec.Mongos.Replicas = 4
		tuning.Spec.Verification = &v1alpha1.VerificationSpec{Limits: []v1alpha1.Limit{{Name: "lag", Gauge: v1alpha1.GaugeReplicationLag, Max: new(int64(5))}}}
	})))
	want := map[string]string{
		"shards.count": "new shards are built", "mongos.replicas": "mongos pods are added",
		"verification.limits[lag].max": "no member is changed", "verification.limits[lag].gauge": "no member is changed", "verification.limits[lag].name": "no member is changed",
	}
	if len(got.Fields) != len(want) {
		t.Errorf("%d fields: %+v", len(got.Fields), got.Fields)
	}
	for _, field := range got.Fields {
		if words, known := want[field.Field]; !known || !strings.Contains(field.Effect, words) {
			t.Errorf("%+v", field)
		}
	}
}

func TestAValueThatIsNoLongerDeclared(t *testing.T) {
	before := two().DirtyTrigger(30).Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.Tuning.MaxIncomingConnections = new(int32(1000))
		tuning.Spec.Tuning.Tickets = &v1alpha1.TicketsTuning{Read: new(int32(64))}
	}).Version("4.4.2")
	got := forecast.Between(side(t, before), side(t, two()))
	for _, change := range got.Changes {
		if !change.ToDefault || change.To == "" && change.Effect == forecast.Online {
			t.Errorf("%+v", change)
		}
	}
	if len(got.Changes) != 3 {
		t.Errorf("changes: %v", summary(got))
	}
}

func TestANewCluster(t *testing.T) {
	got := forecast.Between(forecast.Side{}, side(t, two().DirtyTrigger(30)))
	if !got.IsNew || got.From != "" || len(got.Steps) > 0 || got.IsEmpty() {
		t.Errorf("%+v", got)
	}
	want := []string{"ShardMember cacheSizeGB  1 Online", "ShardMember eviction.dirtyTriggerPercent 20 30 Online", "ConfigServer cacheSizeGB  0.25 Online"}
	if diff := cmp.Diff(want, summary(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheOrderOfMemory has a row for each direction of cache and limit.
func TestTheOrderOfMemory(t *testing.T) {
	for _, row := range []struct {
		limit string
		cache float64
		want  string
	}{
		{"2Gi", 1.5, "the cache grows online, within the same limit"},
		{"2Gi", 0.5, "the cache shrinks online, within the same limit"},
		{"4Gi", 2, "the limit is raised first"},
		{"4Gi", 1, "the limit is raised by the restart, the cache stays"},
		{"4Gi", 0.5, "the cache shrinks online, the limit is raised"},
		{"1536Mi", 1, "the limit is lowered by the restart, the cache stays"},
		{"1Gi", 0.5, "the cache shrinks first, online, then the limit is lowered"},
		{"1792Mi", 1.2, "the limit is lowered by the restart, then the cache grows"},
	} {
		got := forecast.Between(side(t, two()), side(t, two().Memory(row.limit).CacheGB(row.cache)))
		if len(got.Memory) != 1 || !strings.HasPrefix(got.Memory[0].Order, row.want) {
			t.Errorf("1 GB in 2Gi to %v GB in %s: %+v", row.cache, row.limit, got.Memory)
		}
	}
	if same := forecast.Between(side(t, two()), side(t, two())); len(same.Memory) > 0 {
		t.Errorf("nothing changes: %+v", same.Memory)
	}
}

// TestAnyForecast holds what must hold of every change: no change is empty exactly when revision and spec
// are the same, nobody restarts twice, and a change comes back the way it went.
func TestAnyForecast(t *testing.T) {
	draw := func(r *rapid.T, label string) *builders.Cluster {
		cluster := two().Memory("4Gi").CacheGB(float64(rapid.IntRange(1, 3).Draw(r, label+" cache")))
		if rapid.Bool().Draw(r, label+" trigger?") {
			cluster = cluster.DirtyTrigger(rapid.Int32Range(20, 40).Draw(r, label+" trigger"))
		}
		if rapid.Bool().Draw(r, label+" executor?") {
			cluster = cluster.Executor(v1alpha1.ServiceExecutorAdaptive)
		}
		if rapid.Bool().Draw(r, label+" cpu?") {
			cluster = cluster.Change(func(tuning *v1alpha1.MongoTuning) {
				tuning.Spec.Shards.Resources.Requests.CPU = new(resource.MustParse("1"))
			})
		}
		return cluster
	}
	rapid.Check(t, func(r *rapid.T) {
		a, b := side(t, draw(r, "before").Change(led("demo-shard-0-1", "demo-shard-1-0", "demo-config-2"))), side(t, draw(r, "after"))
		there, back := forecast.Between(a, b), forecast.Between(b, a)
		if isSame := cmp.Equal(a.Tuning.Spec, b.Tuning.Spec); there.IsEmpty() != isSame {
			r.Fatalf("the same: %v, empty: %v", isSame, there.IsEmpty())
		}
		if (there.Revision == there.From) != (len(there.Steps) == 0) {
			r.Fatalf("revision %s from %s in %d steps", there.Revision, there.From, len(there.Steps))
		}
		if there.Revision != back.From || there.From != back.Revision || len(there.Changes) != len(back.Changes) {
			r.Fatalf("there %+v, back %+v", there, back)
		}
		sorted := slices.Sorted(slices.Values(there.Restarted))
		if len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
			r.Fatalf("somebody restarts twice: %v", there.Restarted)
		}
	})
}
