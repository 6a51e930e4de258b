// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
	"github.com/mongotuning/mongotuning/internal/status"
	"github.com/mongotuning/mongotuning/test/builders"
)

var reportedAt = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// tuning declares a swappiness for the nodes.
func tuning(swappiness string) *builders.Cluster {
	return cluster().ConfigServers(1).Change(func(tuning *v1alpha1.MongoTuning) {
		tuning.Spec.HostTuning = &v1alpha1.HostTuningSpec{
			Mode: v1alpha1.HostTuningInitContainer, OnFailure: v1alpha1.HostFailureReport,
			Sysctls: []v1alpha1.Sysctl{{Name: "vm.swappiness", Value: swappiness}},
		}
	})
}

// tunedHosts is a cluster in force whose members are on nodes of their own, node-0 for the first, and
// each node was tuned.
type tunedHosts struct {
	want plan.Wanted
	seen observed.Cluster
}

func newTunedHosts(builder *builders.Cluster) *tunedHosts {
	running := builder.Running()
	w := &tunedHosts{want: plan.Wanted{Cluster: running.Desired, Revision: "demo-1", Progress: plan.Progress{Verified: "demo-1"}}, seen: running.Snapshot()}
	settings := running.Desired.HostSettings()
	w.seen.Hosts.Files = map[string]string{}
	w.seen.Hosts.Gone = map[string]bool{}
	for _, set := range w.seen.ReplicaSets {
		for _, member := range set.Members {
			node := "node-" + string(rune('0'+len(w.seen.Hosts.Pods)))
			w.seen.Hosts.Pods = append(w.seen.Hosts.Pods, observed.HostPod{Name: member.Name, UID: member.Pod.UID, Node: node, Tunes: true, Revision: settings.Revision})
			w.seen.Hosts.Files[node] = desired.HostSettingsFile(settings)
			w.want.Hosts.NodesTouched = append(w.want.Hosts.NodesTouched, node)
			w.want.Hosts.Nodes = append(w.want.Hosts.Nodes, v1alpha1.HostNodeStatus{
				Name: node, Revision: settings.Revision, ReportTime: &metav1.Time{Time: reportedAt},
				Settings: []v1alpha1.HostSettingStatus{{Name: "vm.swappiness", Result: v1alpha1.HostApplied, Wanted: "1", Found: "60"}},
			})
		}
	}
	return w
}

// changes lets a change of the settings come to a step; the first member is its canary.
func (w *tunedHosts) changes(to *builders.Cluster, step v1alpha1.RolloutStep) {
	before := w.want.Cluster
	w.want.Verified, w.want.Cluster, w.want.Revision = &before, to.Desired(), "demo-2"
	w.want.Progress.Rollout = v1alpha1.RolloutStatus{Revision: "demo-2", Step: step, Canary: "demo-shard-0-1"}
}

func (w *tunedHosts) judged() plan.Cluster {
	judged := plan.Judge(w.want, w.seen)
	judged.Settled = w.want.Verified == nil
	judged.Policy = plan.PolicyOf(nil)
	return judged
}

// performs does what the operator and Kubernetes do about an action, and gives the report.
func (w *tunedHosts) performs(t *testing.T, action plan.Action) {
	t.Helper()
	switch action.Kind {
	case plan.TuneHost:
		w.seen.Hosts.Files[action.Node] = action.File
		revision := w.want.Cluster.HostSettings().Revision
		if !strings.Contains(action.File, revision) {
			revision = w.want.Verified.HostSettings().Revision
		}
		reportedAt = reportedAt.Add(time.Minute)
		w.seen.Hosts.Jobs = append(w.seen.Hosts.Jobs, observed.HostJob{
			Name: "job-" + action.Node + revision, Node: action.Node, Does: naming.HostJobApply, Revision: revision, State: observed.TrialPassed,
			Report: &observed.HostReport{At: reportedAt, Report: hosttune.Report{Revision: revision, Lines: []hosttune.Line{
				{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "1", Wanted: "10", Set: "10", ReadBack: "10", Result: hosttune.Applied},
			}}},
		})
	case plan.RestoreHost:
		w.seen.Hosts.Jobs = append(w.seen.Hosts.Jobs, observed.HostJob{
			Name: desired.HostJobName(w.want.Cluster.Tuning, w.want.Hosts.Of(action.Node), naming.HostJobRestore, ""),
			Node: action.Node, Does: naming.HostJobRestore, State: observed.TrialPassed,
		})
	default:
		t.Fatalf("nothing to perform: %s", action.Message)
	}
}

// records writes what status would remember.
func (w *tunedHosts) records() {
	facts := status.Facts{Now: reportedAt, Cluster: w.judged(), Action: plan.Action{Kind: plan.Nothing}}
	w.want.Hosts = status.Compute(v1alpha1.MongoTuningStatus{HostTuning: w.want.Hosts}, facts).HostTuning
}

func TestHostsInForceNeedNothing(t *testing.T) {
	if action := plan.Next(newTunedHosts(tuning("1")).judged()); action.Kind != plan.Nothing {
		t.Errorf("%s: %s", action.Kind, action.Message)
	}
}

// TestAChangeOfHostSettingsFollowsTheRollout shows that the canary's node is first, that the other nodes
// of its shard wait, and that nobody is restarted.
func TestAChangeOfHostSettingsFollowsTheRollout(t *testing.T) {
	w := newTunedHosts(tuning("1"))
	for _, row := range []struct {
		step  v1alpha1.RolloutStep
		nodes []string
	}{
		{v1alpha1.StepCanary, []string{"node-1"}},
		{v1alpha1.StepRestOfShard, []string{"node-0", "node-2"}},
		{v1alpha1.StepConfigServers, []string{"node-3"}},
	} {
		if w.want.Verified == nil {
			w.changes(tuning("10"), row.step)
		}
		w.want.Progress.Rollout.Step = row.step
		var nodes []string
		for range 10 {
			action := plan.Next(w.judged())
			if action.Kind == plan.Turn {
				break
			}
			if action.Kind != plan.TuneHost {
				t.Fatalf("in step %s: %s: %s", row.step, action.Kind, action.Message)
			}
			nodes = append(nodes, action.Node)
			w.performs(t, action)
			w.records()
		}
		if !slices.Equal(nodes, row.nodes) {
			t.Errorf("step %s tuned %v, wanted %v", row.step, nodes, row.nodes)
		}
	}
}

// TestAReturnTakesHostSettingsBack shows that a node that got the change is brought back, and no other.
func TestAReturnTakesHostSettingsBack(t *testing.T) {
	w := newTunedHosts(tuning("1"))
	w.changes(tuning("10"), v1alpha1.StepCanary)
	w.performs(t, plan.Next(w.judged()))
	w.records()
	w.want.Progress.Rollout.Step, w.want.Progress.Rollout.Breach = v1alpha1.StepReturning, "a limit broke"
	action := plan.Next(w.judged())
	if action.Kind != plan.TuneHost || action.Node != "node-1" || !strings.Contains(action.File, w.want.Verified.HostSettings().Revision) {
		t.Fatalf("%s on %q with %s", action.Kind, action.Node, action.File)
	}
	w.performs(t, action)
	w.records()
	if action := plan.Next(w.judged()); action.Kind != plan.Turn {
		t.Errorf("%s: %s", action.Kind, action.Message)
	}
}

func TestHostActions(t *testing.T) {
	leaves := func(w *tunedHosts) {
		pods := w.seen.Hosts.Pods
		pods[0].Node = "node-1"
	}
	differs := func(writers ...string) func(*tunedHosts) {
		return func(w *tunedHosts) {
			w.seen.Hosts.Pods[0].Reading = &hosttune.Reading{
				Revision: w.want.Cluster.HostSettings().Revision, Writers: writers,
				Lines: []hosttune.Line{{Setting: "vm.swappiness", Scope: hosttune.ScopeNode, Found: "30", Wanted: "1", Result: hosttune.Differs}},
			}
		}
	}
	for _, row := range []struct {
		name string
		is   func(*tunedHosts)
		kind plan.Kind
		says string
	}{
		{"a node that is not recorded is waited for", func(w *tunedHosts) {
			w.want.Hosts.NodesTouched = w.want.Hosts.NodesTouched[1:]
		}, plan.Wait, "node node-0 is recorded before"},
		{"a node whose file is lost waits for the members' file", func(w *tunedHosts) { delete(w.seen.Hosts.Files, "node-0") }, plan.Wait, "written for the members"},
		{"a node without a report is waited for while its member starts", func(w *tunedHosts) {
			w.want.Hosts.Nodes = w.want.Hosts.Nodes[1:]
			w.seen.Hosts.Pods[0].Waits = true
		}, plan.Wait, "waiting for demo-shard-0-0 to tune node node-0"},
		{"a node without a report on which members run gets a Job", func(w *tunedHosts) {
			w.want.Hosts.Nodes = w.want.Hosts.Nodes[1:]
		}, plan.TuneHost, "bringing host settings to node node-0"},
		{"a Job under way is waited for", func(w *tunedHosts) {
			w.seen.Hosts.Jobs = []observed.HostJob{{Name: "job", Node: "node-0", Does: naming.HostJobApply, State: observed.TrialRunning}}
		}, plan.Wait, "waiting for Job job"},
		{"a Job that failed without a word is made again once it is forgotten, and keeps nobody", func(w *tunedHosts) {
			w.want.Hosts.Nodes = w.want.Hosts.Nodes[1:]
			w.seen.Hosts.Jobs = []observed.HostJob{{Name: "job", Node: "node-0", Does: naming.HostJobApply, State: observed.TrialFailed, Revision: w.want.Cluster.HostSettings().Revision}}
		}, plan.Nothing, ""},
		{"a node that members left is put back once its settings are taken away", leaves, plan.Wait, "taken away before"},
		{"then a Job puts it back", func(w *tunedHosts) {
			leaves(w)
			delete(w.seen.Hosts.Files, "node-0")
		}, plan.RestoreHost, "putting node node-0 back"},
		{"a node that is gone is not put back", func(w *tunedHosts) {
			leaves(w)
			delete(w.seen.Hosts.Files, "node-0")
			w.seen.Hosts.Gone["node-0"] = true
		}, plan.Nothing, ""},
		{"a node is not left while a member is on no node yet", func(w *tunedHosts) { w.seen.Hosts.Pods[0].Node = "" }, plan.Nothing, ""},
		{"what somebody else has changed is set back", differs(), plan.TuneHost, `found "30", declared is "1"`},
		{"and tuned is named", differs("tuned"), plan.TuneHost, "tuned runs there"},
		{"but not twice while the Job is remembered", func(w *tunedHosts) {
			differs()(w)
			w.seen.Hosts.Jobs = []observed.HostJob{{
				Name: "job", Node: "node-0", Does: naming.HostJobApply, State: observed.TrialPassed, Revision: w.want.Cluster.HostSettings().Revision,
				Report: &observed.HostReport{At: reportedAt.Add(-time.Hour)},
			}}
		}, plan.Nothing, ""},
		{"a reader of older settings is not listened to", func(w *tunedHosts) {
			differs()(w)
			w.seen.Hosts.Pods[0].Reading.Revision = "older"
		}, plan.Nothing, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newTunedHosts(tuning("1"))
			row.is(w)
			action := plan.Next(w.judged())
			if action.Kind != row.kind || !strings.Contains(action.Message, row.says) {
				t.Errorf("%s: %s", action.Kind, action.Message)
			}
		})
	}
}

// TestDriftOfHostsIsHeld covers what forbids to set values back.
func TestDriftOfHostsIsHeld(t *testing.T) {
	w := newTunedHosts(tuning("1"))
	w.want.Hosts.Nodes[0].Settings[0].Result = v1alpha1.HostDiffers
	for name, hold := range map[string]func(*plan.Cluster){
		"driftPolicy Report":             func(c *plan.Cluster) { c.ReportDrift = true },
		"a change that is not in force":  func(c *plan.Cluster) { c.Settled = false },
		"nothing (the test must notice)": func(*plan.Cluster) {},
	} {
		judged := w.judged()
		hold(&judged)
		action := plan.Next(judged)
		if tunes := action.Kind == plan.TuneHost; tunes != strings.HasPrefix(name, "nothing") {
			t.Errorf("%s: %s: %s", name, action.Kind, action.Message)
		}
	}
}

// TestBlockStalls shows that onFailure Block keeps a change from spreading, and Report does not.
func TestBlockStalls(t *testing.T) {
	for _, policy := range []v1alpha1.HostFailurePolicy{v1alpha1.HostFailureBlock, v1alpha1.HostFailureReport} {
		w := newTunedHosts(tuning("1").Change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.HostTuning.OnFailure = policy }))
		w.want.Hosts.Nodes[0].Settings[0].Result = v1alpha1.HostRefused
		action := plan.Next(w.judged())
		stalls := action.Kind == plan.Stall && action.Reason == v1alpha1.ReasonHostTuningFailed && strings.Contains(action.Message, "vm.swappiness on node node-0")
		if stalls != (policy == v1alpha1.HostFailureBlock) {
			t.Errorf("%s: %s: %s", policy, action.Kind, action.Message)
		}
	}
}

// TestATouchedNodeIsRemembered walks a node from the first member on it to its restore.
func TestATouchedNodeIsRemembered(t *testing.T) {
	w := newTunedHosts(tuning("1"))
	w.want.Hosts = v1alpha1.HostTuningStatus{}
	w.records()
	if got := w.want.Hosts.NodesTouched; len(got) != 4 {
		t.Fatalf("nodes with members are not recorded: %v", got)
	}
	w.seen.Hosts.Pods[0].Node = "node-1"
	delete(w.seen.Hosts.Files, "node-0")
	w.records()
	if !slices.Contains(w.want.Hosts.NodesTouched, "node-0") {
		t.Error("a node that was left is forgotten before it was put back")
	}
	for range 10 {
		action := plan.Next(w.judged())
		if !action.IsAct() {
			break
		}
		w.performs(t, action)
		w.records()
	}
	if got := w.want.Hosts.NodesTouched; slices.Contains(got, "node-0") || len(got) != 3 {
		t.Errorf("after the restore these nodes are remembered: %v", got)
	}
}
