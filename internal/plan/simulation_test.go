// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/test/builders"
	"github.com/mongotuning/mongotuning/test/scripted"
)

// manySteps are more than any change of the clusters below takes.
const manySteps = 400

// run lets actions take effect until there is nothing to do, and fails as soon as a file would ask more
// cache of a pod than its limit holds.
func run(t fatal, cluster *scripted.Cluster, disturb func(step int)) (last plan.Action, counts map[plan.Kind]int) {
	counts = map[plan.Kind]int{}
	for step := range manySteps {
		disturb(step)
		cluster.Tick()
		if members := cluster.Overcommitted(); len(members) > 0 {
			t.Fatalf("step %d, after %s: these would not fit into their pods: %v", step, last.Message, members)
		}
		last = cluster.Next()
		if !last.IsAct() && last.Kind != plan.Wait {
			return last, counts
		}
		counts[last.Kind]++
		if err := cluster.Perform(last); err != nil && last.Kind != plan.StepDown && last.Kind != plan.Initiate {
			t.Fatalf("step %d, %s: %v", step, last.Message, err)
		}
	}
	t.Fatalf("no end after %d steps; the last was %s: %s", manySteps, last.Kind, last.Message)
	return last, counts
}

// thorough asks for every variant of the long stories; make thorough does.
var thorough = flag.Bool("thorough", false, "run every variant of the long stories")

type fatal interface {
	Fatalf(format string, args ...any)
}

func undisturbed(int) {}

func TestMemoryAndCacheTravelTogether(t *testing.T) {
	// No multiple of three, so that each member dies at early and at late steps.
	stride := 13
	if *thorough {
		stride = 1
	}
	cluster := func() *builders.Cluster { return builders.ShardedCluster().ConfigServers(1).Soak(0) }
	for _, change := range []struct {
		name     string
		from, to *builders.Cluster
		restarts int
	}{
		{"both shrink: the cache goes first, online", cluster().Memory("4Gi").CacheGB(3), cluster().Memory("1Gi").CacheGB(0.5), 3},
		{"both grow: the limit goes first, by restarts", cluster().Memory("1Gi").CacheGB(0.5), cluster().Memory("4Gi").CacheGB(3), 3},
		{"only the cache shrinks: nobody restarts", cluster().Memory("4Gi").CacheGB(3), cluster().Memory("4Gi").CacheGB(1), 0},
		{"only the cache grows: nobody restarts", cluster().Memory("4Gi").CacheGB(1), cluster().Memory("4Gi").CacheGB(3), 0},
		{"only the limit shrinks, and the share of it with it", cluster().Memory("4Gi").CachePercent(50), cluster().Memory("1Gi").CachePercent(50), 3},
		{"only the limit grows, and the share of it with it", cluster().Memory("1Gi").CachePercent(50), cluster().Memory("4Gi").CachePercent(50), 3},
		{"the limit grows from none", cluster().Memory("").CacheGB(2), cluster().Memory("4Gi").CacheGB(3), 3},
		{"the limit goes away", cluster().Memory("2Gi").CacheGB(1), cluster().Memory("").CacheGB(8), 3},
		{"the cache is exactly the share of a limit that is no whole number of MiB", cluster().Memory("2Gi").CacheGB(0.6), cluster().Memory("768Mi").CacheGB(0.6), 3},
		{"the cache grows to exactly such a share", cluster().Memory("512Mi").CacheGB(0.25), cluster().Memory("768Mi").CacheGB(0.6), 3},
	} {
		t.Run(change.name, func(t *testing.T) {
			running := change.from.Running()
			running.Desired = change.to.Desired()
			last, counts := run(t, running, undisturbed)
			if last.Kind != plan.Nothing {
				t.Errorf("ended in %s: %s", last.Kind, last.Message)
			}
			if counts[plan.Restart] != change.restarts {
				t.Errorf("%d restarts, wanted %d: %v", counts[plan.Restart], change.restarts, counts)
			}
			wanted, _ := running.Desired.Resolved.Settings[v1alpha1.ComponentShardMember]["cacheSizeGB"].AsFloat()
			if got := running.Servers.CacheOf(second); got != int64(wanted*1024)<<20 {
				t.Errorf("%d bytes of cache run, wanted is %g GB", got, wanted)
			}
		})
		t.Run(change.name+", a pod dying at any step", func(t *testing.T) {
			for at, happened := 0, true; happened; at += stride {
				happened = false
				running := change.from.Running()
				running.Desired = change.to.Desired()
				last, _ := run(t, running, func(step int) {
					if step == at {
						happened = true
						running.Kill([]string{first, second, third}[at%3])
					}
				})
				if last.Kind != plan.Nothing {
					t.Fatalf("killed at step %d: ended in %s: %s", at, last.Kind, last.Message)
				}
			}
		})
	}
}

func TestCountsOfDisturbances(t *testing.T) {
	patch := func(c *builders.Cluster) *builders.Cluster { return c.Version("4.4.3") }
	for _, change := range []struct {
		name                string
		members             int32
		change              func(*builders.Cluster) *builders.Cluster
		restarts, stepDowns int
	}{
		{"what can be set online restarts nobody", 3, func(c *builders.Cluster) *builders.Cluster { return c.DirtyTrigger(30) }, 0, 0},
		{"what takes a restart restarts each member of the shards once", 3, func(c *builders.Cluster) *builders.Cluster { return c.Executor(v1alpha1.ServiceExecutorAdaptive) }, 6, 2},
		{"both together restart each member once", 3, func(c *builders.Cluster) *builders.Cluster {
			return c.DirtyTrigger(30).Executor(v1alpha1.ServiceExecutorAdaptive)
		}, 6, 2},
		{"another patch version restarts every mongod once", 3, patch, 9, 3},
		{"a set of one member is restarted without handing over", 1, patch, 3, 0},
		{"a set of five is restarted one by one", 5, patch, 15, 3},
	} {
		t.Run(change.name, func(t *testing.T) {
			running := cluster().Shards(2).Members(change.members).Running()
			running.Desired = change.change(cluster().Shards(2).Members(change.members)).Desired()
			last, counts := run(t, running, undisturbed)
			if last.Kind != plan.Nothing {
				t.Errorf("ended in %s: %s", last.Kind, last.Message)
			}
			if counts[plan.Restart] != change.restarts || counts[plan.StepDown] != change.stepDowns {
				t.Errorf("%d restarts and %d step downs, wanted %d and %d", counts[plan.Restart], counts[plan.StepDown], change.restarts, change.stepDowns)
			}
		})
	}
}

func TestLostKeyFileIsReplacedEverywhere(t *testing.T) {
	running := cluster().Shards(2).Running()
	running.Desired.KeyFileID = "key-2"
	last, counts := run(t, running, undisturbed)
	if last.Kind != plan.Nothing || counts[plan.ReplaceKeyFile] != 3 || counts[plan.Restart] != 0 {
		t.Errorf("ended in %s (%s) after %v", last.Kind, last.Message, counts)
	}
}

// runs sets the number of runs of a property, and another one for thorough tests, unless the caller asks
// for a number.
func runs(t *testing.T, checks, whenThorough int) {
	t.Helper()
	asked := flag.Lookup("rapid.checks")
	if asked.Value.String() != asked.DefValue {
		return
	}
	if *thorough {
		checks = whenThorough
	}
	if err := asked.Value.Set(strconv.Itoa(checks)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = asked.Value.Set(asked.DefValue) })
}

// faultsUntil is the step at which faults end.
const faultsUntil = 60

// TestEveryStartEnds lets random faults happen to random changes. When the faults end, the plan has to
// come to an end too, with everything in force.
func TestEveryStartEnds(t *testing.T) {
	runs(t, 12, 100)
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Int32Range(1, 2).Draw(t, "shards")
		members := rapid.SampledFrom([]int32{1, 3}).Draw(t, "members")
		draw := func(label string) desired.Cluster { return drawWanted(t, label, shards, members) }
		running := scripted.NewCluster(draw("first"))
		second, third := draw("second"), draw("third")
		secondAt, thirdAt := rapid.IntRange(0, 50).Draw(t, "second at"), rapid.IntRange(0, 50).Draw(t, "third at")
		faults := &faults{running: running}
		last, _ := run(t, running, func(step int) {
			if step == secondAt {
				running.Desired = second
			}
			if step == thirdAt {
				running.Desired = third
			}
			if step == faultsUntil {
				faults.end()
			}
			if step < faultsUntil {
				faults.draw(t)
			}
		})
		checkEnd(t, running, last)
	})
}

// drawWanted is what somebody declares.
func drawWanted(t *rapid.T, label string, shards, members int32) desired.Cluster {
	wanted := cluster().Shards(shards).Members(members)
	atOnce := rapid.Int32Range(1, 2).Draw(t, label+" shards at once")
	wanted.Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Rollout.MaxShardsInParallel = &atOnce })
	memory := rapid.SampledFrom([]int{512, 600, 768, 1024, 2000, 4096}).Draw(t, label+" memory in MiB")
	share := rapid.SampledFrom([]float64{0.5, 0.7, 0.8}).Draw(t, label+" share of the cache")
	wanted.Memory(fmt.Sprintf("%dMi", memory)).CacheGB(max(0.25, float64(memory)*share/1024))
	if rapid.Bool().Draw(t, label+" dirty trigger") {
		wanted.DirtyTrigger(rapid.Int32Range(6, 40).Draw(t, label+" percent"))
	}
	if rapid.Bool().Draw(t, label+" adaptive") {
		wanted.Executor(v1alpha1.ServiceExecutorAdaptive)
	}
	return wanted.Version(rapid.SampledFrom([]string{"4.4.2", "4.4.3"}).Draw(t, label+" version")).Desired()
}

// faults happen to a cluster; at most one member is silent at a time.
type faults struct {
	running *scripted.Cluster
	silent  string
}

func (f *faults) draw(t *rapid.T) {
	pods := f.running.PodNames()
	if len(pods) == 0 {
		return
	}
	pod := rapid.SampledFrom(pods).Draw(t, "pod")
	switch rapid.IntRange(0, 19).Draw(t, "fault") {
	case 0:
		f.running.Kill(pod)
	case 1:
		f.running.Lose(pod)
	case 2:
		f.running.Servers.Unsilence(f.silent)
		f.silent = pod
		f.running.Servers.Silence(pod)
	case 3:
		f.running.Servers.LagBehind(pod, 30*time.Second)
	case 4:
		f.running.Servers.LagBehind(pod, 0)
	case 5:
		f.running.Servers.Migrate(rapid.Bool().Draw(t, "moving"))
	case 6:
		f.running.Servers.RefuseStepDowns(rapid.Bool().Draw(t, "refusing"))
	case 7:
		f.running.Oplog = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "oplog")
	}
}

func (f *faults) end() {
	f.running.Servers.Unsilence(f.silent)
	f.running.Servers.Migrate(false)
	f.running.Servers.RefuseStepDowns(false)
	f.running.Oplog = time.Hour
	for _, set := range desired.ReplicaSets(f.running.Desired.Tuning) {
		for _, member := range set.Pods() {
			f.running.Servers.LagBehind(member, 0)
		}
	}
}

// checkEnd holds the end of a story to what may be one: all is in force. A fault that hit a changed member
// takes the change back, and then all of it.
func checkEnd(t *rapid.T, running *scripted.Cluster, last plan.Action) {
	if last.Kind != plan.Nothing && last.Reason != v1alpha1.ReasonRolledBack {
		t.Fatalf("ended in %s although everything that is declared can be done: %s: %s", last.Kind, last.Reason, last.Message)
	}
	for _, set := range running.Judged().ReplicaSets {
		for _, member := range set.Pods() {
			if !set.Verdicts[member].InForce() {
				t.Fatalf("ended in %s (%s) while %s is not where it belongs", last.Kind, last.Message, member)
			}
		}
	}
}
