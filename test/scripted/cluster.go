// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/internal/plan"
)

// Cluster is a Kubernetes in memory with the objects and servers of one MongoTuning. It does what
// StatefulSet controller and kubelet do, one step for each Tick.
type Cluster struct {
	// Desired is what is wanted; a test changes it to change the spec.
	Desired desired.Cluster
	// Servers are the mongods and mongos.
	Servers *Servers

	// Refused are files, by name, with which servers do not start.
	Refused map[string]bool
	// Broken are members whose gauges break a limit, and why.
	Broken map[string]string
	// Worse says in what the canary is worse than before and than its twins.
	Worse string
	// Oplog is how far every oplog reaches back.
	Oplog time.Duration
	// Progress is what status remembers of changes.
	Progress plan.Progress

	objects   map[string]*objects
	trials    map[string]observed.Trial
	revisions map[string]desired.Cluster
	silent    map[string]time.Duration
	now       time.Time
	refused   time.Time
	uids      int
}

// objects are what Kubernetes holds for one replica set.
type objects struct {
	files    map[string]string
	template template
	pods     map[string]*pod
}

type template struct {
	hash, keyFileID string
	memoryLimit     int64
	version         catalog.Version
}

type pod struct {
	template
	uid         string
	terminating bool
}

const (
	operatorPassword = "operator's password"
	appPassword      = "application's password"
	router           = "mongos"
)

// NewCluster is a MongoTuning of which nothing exists yet.
func NewCluster(wanted desired.Cluster) *Cluster {
	return &Cluster{
		Desired: wanted, Servers: NewServers(), Refused: map[string]bool{}, Broken: map[string]string{}, Oplog: 24 * time.Hour,
		objects: map[string]*objects{}, trials: map[string]observed.Trial{},
		revisions: map[string]desired.Cluster{}, silent: map[string]time.Duration{}, now: optimeOfPrimary,
	}
}

// tickTime is how much time a Tick takes.
const tickTime = 10 * time.Second

// Tick lets ten seconds pass. Kubernetes makes the objects that are missing, ends pods that are being
// deleted, and starts pods that are missing.
func (c *Cluster) Tick() {
	c.now = c.now.Add(tickTime)
	for _, set := range desired.ReplicaSets(c.Desired.Tuning) {
		held := c.objects[set.Name]
		if held == nil {
			held = &objects{files: map[string]string{}, pods: map[string]*pod{}, template: c.template(set)}
			for _, name := range set.Pods() {
				held.files[name] = desired.MemberConfig(set, c.wanted().At(set).Resolved.Settings[set.Component])
			}
			c.objects[set.Name] = held
		}
		for _, name := range set.Pods() {
			switch running := held.pods[name]; {
			case running == nil:
				c.start(set.Name, name)
			case running.terminating:
				c.Servers.Stop(running.uid)
				delete(held.pods, name)
			}
		}
	}
	for id, trial := range c.trials {
		if trial.State == observed.TrialRunning {
			c.trials[id] = c.ended(id)
		}
	}
	c.Servers.StartRouter(router)
}

func (c *Cluster) ended(id string) observed.Trial {
	if c.Refused[id] {
		return observed.Trial{State: observed.TrialFailed, Message: "the server refuses its file"}
	}
	return observed.Trial{State: observed.TrialPassed}
}

// ForgetTrials is what Kubernetes does to trial starts some minutes after they ended.
func (c *Cluster) ForgetTrials() { clear(c.trials) }

// wanted is what is declared beside what was verified last, as the reconciler puts them.
func (c *Cluster) wanted() plan.Wanted {
	want := plan.Wanted{Cluster: c.Desired, Revision: revisionOf(c.Desired), Progress: c.Progress}
	c.revisions[want.Revision] = c.Desired
	if c.Progress.Verified == "" || c.Progress.Verified == want.Revision {
		return want
	}
	before := c.revisions[c.Progress.Verified]
	verified := c.Desired
	verified.Tuning = c.Desired.Tuning.DeepCopy()
	verified.Tuning.Spec.Shards.Resources = before.Tuning.Spec.Shards.Resources
	verified.Tuning.Spec.ConfigServers.Resources = before.Tuning.Spec.ConfigServers.Resources
	verified.Tuning.Spec.Mongos.Resources = before.Tuning.Spec.Mongos.Resources
	verified.Resolved = before.Resolved
	verified.Resolved.Version = c.Desired.Resolved.Version
	want.Verified = &verified
	return want
}

// revisionOf names every input that can be rolled out by its content; the image is none.
func revisionOf(cluster desired.Cluster) string {
	spec := cluster.Tuning.Spec
	content, err := json.Marshal([]any{cluster.Resolved.Settings, spec.Shards.Resources, spec.ConfigServers.Resources, spec.Mongos.Resources})
	if err != nil {
		panic(err)
	}
	return "revision-" + desired.FileID(string(content))
}

func (c *Cluster) template(set desired.ReplicaSet) template {
	now := c.wanted().At(set)
	for _, current := range desired.ReplicaSets(now.Tuning) {
		if current.Name == set.Name {
			set = current
		}
	}
	made := template{hash: now.TemplateHash(set), keyFileID: now.KeyFileID, version: now.Resolved.Version}
	if limit := set.Resources.Limits.Memory; limit != nil {
		made.memoryLimit = limit.Value()
	}
	return made
}

func (c *Cluster) start(set, name string) {
	held := c.objects[set]
	c.uids++
	started := &pod{template: held.template, uid: fmt.Sprintf("%s#%d", name, c.uids)}
	held.pods[name] = started
	c.Servers.Start(Process{
		UID: started.uid, Pod: name, Set: set, File: held.files[name], KeyFileID: started.keyFileID, Version: started.version,
	})
}

// Kill ends a pod at once; Kubernetes makes it anew from the newest template.
func (c *Cluster) Kill(name string) {
	for set, held := range c.objects {
		if killed := held.pods[name]; killed != nil {
			c.Servers.Stop(killed.uid)
			delete(held.pods, name)
			c.start(set, name)
		}
	}
}

// Lose ends a pod and keeps Kubernetes from making it anew until the next Tick.
func (c *Cluster) Lose(name string) {
	for _, held := range c.objects {
		if lost := held.pods[name]; lost != nil {
			c.Servers.Stop(lost.uid)
			delete(held.pods, name)
		}
	}
}

// PodNames are the pods of all members, sorted.
func (c *Cluster) PodNames() []string {
	var names []string
	for _, held := range c.objects {
		names = append(names, slices.Collect(maps.Keys(held.pods))...)
	}
	slices.Sort(names)
	return names
}

// PodUID is the pod that runs under a name, empty when none does.
func (c *Cluster) PodUID(name string) string {
	for _, held := range c.objects {
		if running := held.pods[name]; running != nil {
			return running.uid
		}
	}
	return ""
}

// Overcommitted are the members whose file asks for more cache than a pod could hold that mounts it: the
// one that runs, or the one that would come after it.
func (c *Cluster) Overcommitted() []string {
	var members []string
	for set, held := range c.objects {
		for name, file := range held.files {
			fits := desired.CacheFits(file, held.template.memoryLimit)
			if running := held.pods[name]; running != nil {
				fits = fits && desired.CacheFits(file, running.memoryLimit) && c.runsWithin(name, running.memoryLimit)
			}
			if !fits {
				members = append(members, set+"/"+name)
			}
		}
	}
	slices.Sort(members)
	return members
}

func (c *Cluster) runsWithin(name string, memoryLimit int64) bool {
	return memoryLimit == 0 || float64(c.Servers.CacheOf(name)) <= 0.8*float64(memoryLimit)
}

// Snapshot is what a look sees.
func (c *Cluster) Snapshot() observed.Cluster {
	seen := observed.Cluster{Now: c.now, Trials: maps.Clone(c.trials)}
	sets := desired.ReplicaSets(c.Desired.Tuning)
	config := sets[len(sets)-1].Name
	shards, err := c.Servers.LookAtMongos(router, config, operatorPassword)
	seen.Mongos = observed.Mongos{Wanted: c.Desired.Tuning.Spec.Mongos.Replicas, Answered: err == nil, Shards: shards}
	seen.Mongos.Updated = seen.Mongos.Wanted
	if err != nil {
		seen.Mongos.Error = err.Error()
	}
	if c.Servers.Primary(config) != "" {
		seen.Mongos.Ready = seen.Mongos.Wanted
	}
	for _, set := range sets {
		seen.ReplicaSets = append(seen.ReplicaSets, c.look(set, shards))
	}
	if primary := seen.ReplicaSets[len(sets)-1].Primary(); primary != nil && !primary.Look.LockedOut {
		seen.AppKnown = c.Servers.KnowsApp(config, appPassword)
		seen.AppUnknown = !seen.AppKnown
	}
	return seen
}

func (c *Cluster) look(set desired.ReplicaSet, shards []string) observed.ReplicaSet {
	seen := observed.ReplicaSet{
		Name: set.Name, Component: set.Component, Files: map[string]string{},
		Listed: set.Component == v1alpha1.ComponentConfigServer || slices.Contains(shards, set.Name),
	}
	held := c.objects[set.Name]
	if held != nil {
		seen.TemplateHash = held.template.hash
		maps.Copy(seen.Files, held.files)
	}
	for _, name := range set.Pods() {
		member := observed.Member{Name: name}
		if held != nil && held.pods[name] != nil {
			running := held.pods[name]
			member.Look = c.Servers.Look(running.uid, operatorPassword)
			member.Pod = observed.Pod{
				Exists: true, UID: running.uid, Ready: c.Servers.Serves(running.uid), Terminating: running.terminating,
				TemplateHash: running.hash, KeyFileID: running.keyFileID, MemoryLimit: running.memoryLimit,
			}
		}
		if member.Look.State == observed.StateUnknown {
			c.silent[name] += tickTime
			member.Silent = c.silent[name] - tickTime
		} else {
			delete(c.silent, name)
		}
		seen.Members = append(seen.Members, member)
	}
	return seen
}

// Judged is a look with the judgement over it.
func (c *Cluster) Judged() plan.Cluster {
	judged := plan.Judge(c.wanted(), c.Snapshot())
	judged.Policy = plan.PolicyOf(c.Desired.Tuning.Spec.Rollout)
	judged.WatchedSince, judged.StepDownRefused, judged.Worse = optimeOfPrimary, c.refused, c.Worse
	for _, set := range judged.ReplicaSets {
		for _, pod := range set.Pods() {
			set.Health[pod] = plan.Health{Breach: c.Broken[pod], Oplog: c.Oplog}
		}
	}
	return judged
}

// Next is the action that follows from a look.
func (c *Cluster) Next() plan.Action { return plan.Next(c.Judged()) }

// Perform carries an action out.
func (c *Cluster) Perform(action plan.Action) error {
	switch action.Kind {
	case plan.Initiate:
		return c.Servers.Initiate(action.PodUID, c.Desired.Hosts(c.set(action.ReplicaSet)))
	case plan.CreateUsers:
		return c.Servers.CreateOperator(action.PodUID, operatorPassword)
	case plan.CreateApp:
		return c.Servers.CreateApp(action.PodUID, appPassword)
	case plan.AddShard:
		return c.Servers.AddShard(router, action.ReplicaSet)
	case plan.SetParameters:
		return c.Servers.Set(action.PodUID, action.Changes)
	case plan.StepDown:
		err := c.Servers.StepDown(action.PodUID)
		if errors.Is(err, ErrNotCaughtUp) {
			c.refused = c.now
		}
		return err
	case plan.Turn:
		c.Progress = *action.Progress
	case plan.StartTrial:
		c.trials[desired.FileID(action.File)] = observed.Trial{State: observed.TrialRunning}
	default:
		c.performOnObjects(action)
	}
	return nil
}

// performOnObjects carries out an action on what Kubernetes holds for a replica set.
func (c *Cluster) performOnObjects(action plan.Action) {
	held := c.objects[action.ReplicaSet]
	switch action.Kind {
	case plan.WriteConfig:
		held.files[action.Member] = action.File
		if action.Recreate {
			c.terminate(held, action.Member, action.PodUID)
		}
	case plan.WriteTemplate:
		held.template = c.template(c.set(action.ReplicaSet))
	case plan.Restart, plan.Recreate:
		c.terminate(held, action.Member, action.PodUID)
	case plan.ReplaceKeyFile:
		held.template = c.template(c.set(action.ReplicaSet))
		for name, running := range held.pods {
			if running.keyFileID != c.Desired.KeyFileID {
				c.terminate(held, name, running.uid)
			}
		}
	default:
	}
}

func (c *Cluster) terminate(held *objects, name, uid string) {
	if running := held.pods[name]; running != nil && running.uid == uid {
		running.terminating = true
		c.Servers.Stop(uid)
	}
}

func (c *Cluster) set(name string) desired.ReplicaSet {
	for _, set := range desired.ReplicaSets(c.Desired.Tuning) {
		if set.Name == name {
			return set
		}
	}
	return desired.ReplicaSet{Name: naming.ConfigServers(c.Desired.Tuning.Name)}
}
