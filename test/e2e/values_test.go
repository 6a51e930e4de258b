// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// process is what one mongod says about itself, asked by the test and not by the operator.
type process struct {
	version        string
	cacheBytes     int64
	wiredTiger     string
	committedReads bool
	executor       string
	threadingModel string
}

// ask asks a running mongod for what it runs on.
func ask(t *testing.T, server *mongo.Client) process {
	t.Helper()
	status := mustRun(t, server, one("serverStatus"))
	started := mustRun(t, server, one("getCmdLineOpts"))
	parameter := mustRun(t, server, runtimeConfig())
	seen := process{}
	seen.version, _ = status.Lookup("version").StringValueOK()
	seen.cacheBytes, _ = status.Lookup("wiredTiger", "cache", "maximum bytes configured").AsInt64OK()
	seen.committedReads, _ = status.Lookup("storageEngine", "supportsCommittedReads").BooleanOK()
	seen.executor, _ = status.Lookup("network", "serviceExecutorTaskStats", "executor").StringValueOK()
	// What was sent last is in force, or else what the process was started with.
	seen.wiredTiger, _ = parameter.Lookup("wiredTigerEngineRuntimeConfig").StringValueOK()
	if seen.wiredTiger == "" {
		seen.wiredTiger, _ = started.Lookup("parsed", "storage", "wiredTiger", "engineConfig", "configString").StringValueOK()
	}
	// Only 5.0 and 6.0 know this one.
	if answer, err := run(t.Context(), server, bson.D{{Key: "getParameter", Value: 1}, {Key: "initialServiceExecutorThreadingModel", Value: 1}}); err == nil {
		seen.threadingModel, _ = answer.Lookup("initialServiceExecutorThreadingModel").StringValueOK()
	}
	return seen
}

// readBack compares what every process says with what is declared, knob by knob.
func (c *cluster) readBack(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	spec := c.tuning(t).Spec
	identity := c.memberIdentity(t)
	for _, set := range c.sets(t) {
		for _, pod := range c.members(t, set) {
			seen := ask(t, c.member(t, pod, &identity))
			g.Expect(seen.version).To(gomega.Equal(c.version), pod)
			if set == naming.ConfigServers(c.name) {
				g.Expect(seen.cacheBytes).To(gomega.Equal(bytes(*spec.ConfigServers.Tuning.CacheSizeGB)), pod)
				continue
			}
			c.expectShardMember(g, pod, seen, *spec.Tuning)
		}
	}
}

func (c *cluster) expectShardMember(g gomega.Gomega, pod string, seen process, declared v1alpha1.MongodTuning) {
	g.Expect(seen.cacheBytes).To(gomega.Equal(bytes(*declared.CacheSizeGB)), pod)
	eviction := declared.Eviction
	for _, setting := range []string{
		fmt.Sprintf("eviction_target=%d", *eviction.TargetPercent),
		fmt.Sprintf("eviction_trigger=%d", *eviction.TriggerPercent),
		fmt.Sprintf("eviction_dirty_target=%d", *eviction.DirtyTargetPercent),
		fmt.Sprintf("eviction_dirty_trigger=%d", *eviction.DirtyTriggerPercent),
		fmt.Sprintf("threads_min=%d", *eviction.ThreadsMin),
		fmt.Sprintf("threads_max=%d", *eviction.ThreadsMax),
	} {
		g.Expect(strings.FieldsFunc(seen.wiredTiger, func(r rune) bool { return strings.ContainsRune(",()", r) })).
			To(gomega.ContainElement(setting), "%s runs on %s", pod, seen.wiredTiger)
	}
	if declared.EnableMajorityReadConcern != nil {
		g.Expect(seen.committedReads).To(gomega.Equal(*declared.EnableMajorityReadConcern), pod)
	}
	if declared.ServiceExecutor != nil {
		names := map[v1alpha1.ServiceExecutor]string{
			v1alpha1.ServiceExecutorAdaptive: "adaptive", v1alpha1.ServiceExecutorSynchronous: "passthrough",
		}
		g.Expect(seen.executor).To(gomega.Equal(names[*declared.ServiceExecutor]), pod)
	}
	if declared.InitialServiceExecutorThreadingModel != nil {
		g.Expect(seen.threadingModel).To(gomega.Equal(string(*declared.InitialServiceExecutorThreadingModel)), pod)
	}
}

func bytes(size v1alpha1.Gigabytes) int64 { return int64(float64(size) * (1 << 30)) }
