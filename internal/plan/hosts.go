// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/hosttune"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/verify"
)

// Host is one node: wanted, seen and judged.
type Host struct {
	// Name of the node.
	Name string
	// Target are the settings that the node is held to now.
	Target hosttune.Settings
	// Written is the file of the node as it lies in the ConfigMap, empty when there is none;
	// WrittenRevision names the settings in it.
	Written, WrittenRevision string
	// Pods are the members on the node that tune it.
	Pods []observed.HostPod
	// IsRecorded tells that status lists the node as touched. Nothing may be written on it before.
	IsRecorded bool
	// IsLeft tells that the node was touched and that no member which tunes it is there any more.
	IsLeft bool
	// IsGone tells that the node does not exist any more.
	IsGone bool
	// IsRestored tells that a node that was left was put back.
	IsRestored bool
	// Status is the report of the node, with what was seen in this look laid over it.
	Status v1alpha1.HostNodeStatus
	// Writers are daemons on the node that write settings by themselves.
	Writers []string

	// running is a Job that tunes the node now, failed one that ended without a word, recent one that
	// ended and brought the same settings, restore one that puts the node back.
	running, failed, recent, restore *observed.HostJob
}

// judgeHosts puts what was seen of each node beside what it is held to: the node of the canary first,
// then those of the members in the order of a change, then those that were left.
func judgeHosts(want Wanted, seen observed.Cluster) []Host {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	pods := map[string]observed.HostPod{}
	for _, pod := range seen.Hosts.Pods {
		pods[pod.Name] = pod
	}
	add(pods[want.Progress.Rollout.Canary].Node)
	placed := true
	for _, set := range desired.ReplicaSets(want.Cluster.Tuning) {
		for _, name := range set.Pods() {
			add(pods[name].Node)
			placed = placed && pods[name].Node != ""
		}
	}
	for _, name := range want.Hosts.NodesTouched {
		add(name)
	}
	hosts := make([]Host, 0, len(names))
	for _, name := range names {
		host := want.host(name, seen.Hosts)
		// A member that is being made anew may come back to the node it was on.
		host.IsLeft = host.IsRecorded && placed && len(host.Pods) == 0
		if host.IsRecorded || len(host.Pods) > 0 {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func (w Wanted) host(name string, seen observed.Hosts) Host {
	host := Host{
		Name: name, Target: w.hostTarget(name, seen).HostSettings(), Written: seen.Files[name],
		IsRecorded: slices.Contains(w.Hosts.NodesTouched, name), IsGone: seen.Gone[name],
	}
	var written hosttune.Settings
	if err := json.Unmarshal([]byte(host.Written), &written); err == nil {
		host.WrittenRevision = written.Revision
	}
	var reports []observed.HostReport
	for _, pod := range seen.Pods {
		if pod.Node != name || !pod.Tunes {
			continue
		}
		host.Pods = append(host.Pods, pod)
		if pod.Report != nil {
			reports = append(reports, verify.OfPod(*pod.Report, pod.Name))
		}
	}
	before := w.Hosts.Of(name)
	for i := range seen.Jobs {
		if job := &seen.Jobs[i]; job.Node == name {
			host.sort(job, desired.HostJobName(w.Cluster.Tuning, before, naming.HostJobRestore, ""))
			if job.Does == naming.HostJobApply && job.Report != nil {
				reports = append(reports, *job.Report)
			}
		}
	}
	host.IsRestored = host.restore != nil && host.restore.State == observed.TrialPassed
	host.Status = host.status(before, reports)
	for _, pod := range host.Pods {
		if pod.Reading != nil {
			host.Writers = append(host.Writers, pod.Reading.Writers...)
		}
	}
	slices.Sort(host.Writers)
	host.Writers = slices.Compact(host.Writers)
	return host
}

// hostTarget is the cluster whose settings a node is held to: the wanted one once a change has reached a
// member on the node.
func (w Wanted) hostTarget(node string, seen observed.Hosts) desired.Cluster {
	if w.Verified == nil {
		return w.Cluster
	}
	for _, set := range desired.ReplicaSets(w.Cluster.Tuning) {
		for _, pod := range seen.Pods {
			if pod.Node == node && slices.Contains(set.Pods(), pod.Name) && Reaches(w.Progress, set, pod.Name) {
				return w.Cluster
			}
		}
	}
	return *w.Verified
}

// sort takes notice of a Job that is bound to the node. One that put the node back before its last report
// says nothing about now.
func (h *Host) sort(job *observed.HostJob, restore string) {
	switch {
	case job.Does == naming.HostJobRestore:
		if job.Name == restore {
			h.restore = job
		}
	case job.State == observed.TrialRunning:
		h.running = job
	case job.Revision != h.Target.Revision:
	case job.Report == nil:
		h.failed = job
	default:
		h.recent = job
	}
}

// status is the report of a node: what was known before, then what came in since, then what the readers
// see now.
func (h *Host) status(before v1alpha1.HostNodeStatus, reports []observed.HostReport) v1alpha1.HostNodeStatus {
	status := verify.HostReported(before, reports)
	status.Failure = ""
	for _, job := range []*observed.HostJob{h.failed, h.restore} {
		if job != nil && job.State == observed.TrialFailed {
			status.Failure = verify.Shorten(fmt.Sprintf("Job %s: %s", job.Name, job.Message), verify.LongestFailure)
		}
	}
	if status.Revision != h.Target.Revision {
		return status
	}
	for _, pod := range h.Pods {
		if pod.Reading != nil && pod.Reading.Revision == h.Target.Revision {
			status = verify.HostRead(status, *pod.Reading, pod.Name)
		}
	}
	return status
}

// hostWarnings compare the nodes of the members of each replica set.
func hostWarnings(tuning *v1alpha1.MongoTuning, hosts []Host) []string {
	all := desired.ReplicaSets(tuning)
	sets := make([]verify.ShardNodes, 0, len(all))
	for _, set := range all {
		nodes := verify.ShardNodes{ReplicaSet: set.Name}
		for _, host := range hosts {
			if slices.ContainsFunc(host.Pods, func(pod observed.HostPod) bool { return slices.Contains(set.Pods(), pod.Name) }) {
				nodes.Nodes = append(nodes.Nodes, host.Status)
			}
		}
		// The order in which a change reaches them changes; the sentence must not.
		slices.SortFunc(nodes.Nodes, func(a, b v1alpha1.HostNodeStatus) int { return cmp.Compare(a.Name, b.Name) })
		sets = append(sets, nodes)
	}
	var spec *v1alpha1.HomogeneitySpec
	if tuning.Spec.HostTuning != nil {
		spec = tuning.Spec.HostTuning.Homogeneity
	}
	return verify.Homogeneity(sets, spec)
}

// hostsDiffer tells that a change concerns host settings.
func hostsDiffer(want Wanted) bool {
	return want.Cluster.HostSettings().Revision != want.Verified.HostSettings().Revision
}

// tuneHosts brings each node to its settings, and puts those back that were left. Acts come before
// waits, since a node that does not answer must not keep the others. Nothing means that all is done.
func (c Cluster) tuneHosts() Action {
	waiting := Action{Kind: Nothing}
	for _, host := range c.Hosts {
		action := c.tuneHost(host)
		if action.IsAct() {
			return action
		}
		if waiting.Kind == Nothing {
			waiting = action
		}
	}
	return waiting
}

func (c Cluster) tuneHost(host Host) Action {
	switch {
	case !host.IsRecorded:
		return host.action(Wait, "node %s is recorded before anything is written on it", host.Name)
	case host.IsLeft:
		return host.putBack()
	case host.Written == "":
		return host.action(Wait, "the settings of node %s are written for the members that wait for them", host.Name)
	case host.WrittenRevision != host.Target.Revision && host.running == nil:
		return host.tune("bringing host settings to node %s", host.Name)
	case host.running != nil:
		return host.action(Wait, "waiting for Job %s to tune node %s", host.running.Name, host.Name)
	case host.Status.Revision != host.Target.Revision:
		return c.awaitReport(host)
	}
	if blocked := host.blocked(); blocked != "" {
		return Action{Kind: Stall, Node: host.Name, Reason: v1alpha1.ReasonHostTuningFailed, Message: blocked}
	}
	return c.keepHost(host)
}

// awaitReport waits for a member that is starting to tune its node, or lets a Job do it.
func (c Cluster) awaitReport(host Host) Action {
	for _, pod := range host.Pods {
		if pod.Waits {
			return host.action(Wait, "waiting for %s to tune node %s before its start", pod.Name, host.Name)
		}
	}
	switch {
	case host.failed == nil:
		return host.tune("bringing host settings to node %s", host.Name)
	case host.Target.OnFailure == hosttune.OnFailureBlock:
		return Action{Kind: Stall, Node: host.Name, Reason: v1alpha1.ReasonHostTuningFailed, Message: fmt.Sprintf(
			"node %s could not be tuned and hostTuning.onFailure is Block: %s", host.Name, cmp.Or(host.Status.Failure, "its Job said nothing"))}
	default:
		return Action{Kind: Nothing} // reported; the Job is made again once it is forgotten
	}
}

// blocked says what was not set where hostTuning.onFailure is Block.
func (h Host) blocked() string {
	if h.Target.OnFailure != hosttune.OnFailureBlock {
		return ""
	}
	for _, setting := range h.Status.Settings {
		if setting.Result == v1alpha1.HostRefused || setting.Result == v1alpha1.HostConflict {
			return fmt.Sprintf("%s on node %s is %s and hostTuning.onFailure is Block: %s", setting.Name, h.Name, setting.Result, setting.Detail)
		}
	}
	return ""
}

// keepHost sets back what somebody else has changed since.
func (c Cluster) keepHost(host Host) Action {
	drift := host.drift()
	// The Job is remembered for a while after its end: whoever writes back is not fought every few seconds.
	if len(drift) == 0 || !c.Settled || c.leavesDrift() || host.recent != nil || host.failed != nil {
		return Action{Kind: Nothing}
	}
	action := host.tune("setting back what somebody else has changed on node %s: %s%s", host.Name, drift[0], host.by())
	action.Reason, action.Drift = v1alpha1.ReasonCorrectingDrift, drift
	return action
}

// drift lists the settings of the node that somebody else has changed since they were set.
func (h Host) drift() []Drift {
	var drifted []Drift
	for _, setting := range h.Status.Settings {
		if setting.Result == v1alpha1.HostDiffers {
			drifted = append(drifted, Drift{Member: h.Name, Knob: setting.Name, Wanted: catalog.Value(setting.Wanted), Found: catalog.Value(setting.Found)})
		}
	}
	return drifted
}

// by names who may have changed settings of the node, for the end of a sentence.
func (h Host) by() string {
	if len(h.Writers) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s runs there and writes settings by itself: stop it, or give it the same values", h.Writers[0])
}

func (h Host) putBack() Action {
	switch {
	case h.IsGone || h.IsRestored:
		return Action{Kind: Nothing} // status forgets the node
	case h.Written != "":
		return h.action(Wait, "the settings of node %s are taken away before it is put back", h.Name)
	case h.restore == nil:
		return h.actionOf(RestoreHost, "putting node %s back: no member that tunes it is there any more", h.Name)
	case h.restore.State == observed.TrialRunning:
		return h.action(Wait, "waiting for Job %s to put node %s back", h.restore.Name, h.Name)
	default:
		return Action{Kind: Nothing} // failed; the Job is made again once it is forgotten
	}
}

func (h Host) tune(format string, args ...any) Action {
	action := h.actionOf(TuneHost, format, args...)
	action.File = desired.HostSettingsFile(h.Target)
	return action
}

func (h Host) actionOf(kind Kind, format string, args ...any) Action {
	action := h.action(kind, format, args...)
	action.Node = h.Name
	return action
}

func (h Host) action(kind Kind, format string, args ...any) Action {
	return Action{Kind: kind, Node: h.Name, Reason: v1alpha1.ReasonTuningHosts, Message: fmt.Sprintf(format, args...)}
}
