// SPDX-License-Identifier: Apache-2.0

//go:build e2e && long

package e2e

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

const (
	// dirtyLimit is what the dirty cache is held to in these stories, in percent of the cache.
	dirtyLimit = 25
	// lasting is how long the figures are recorded before and after what happens.
	lasting = 20 * time.Second

	dirtyAlert = "MongoTuningDirtyCacheAboveLimit"
)

// TestWatchedCluster is how a cluster looks to those who do not look at it themselves: Prometheus with the
// shipped alerts, and a GitOps tool that owns the spec.
func TestWatchedCluster(t *testing.T) {
	c := newCluster(t, "mongotuning-watched", "watched")
	c.comesUpFromGit(t)
	server := c.startPrometheus(t)
	shard := c.shards(t)[0]

	c.story(t, "the shipped metrics are scraped by a real Prometheus", func(t *testing.T) {
		for _, metric := range []string{
			"mongotuning_limit_verdict", "mongotuning_limit_measurement", "mongotuning_build_info", "mongotuning_cluster_info",
			"controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total",
		} {
			await(t, promptly, metric+" is not scraped", func(g gomega.Gomega) { g.Expect(server.has(t, metric)).To(gomega.BeTrue()) })
		}
		// Until the first scrape nothing is known of the operator, and that is an alert.
		await(t, promptly, "the operator counts as down", func(g gomega.Gomega) {
			g.Expect(server.firing(t, g, "MongoTuningOperatorDown")).To(gomega.BeEmpty())
		})
		g := gomega.NewWithT(t)
		g.Expect(server.firing(t, g, dirtyAlert)).To(gomega.BeEmpty())
	})
	c.story(t, "a change under load arrives, and nobody is paged", func(t *testing.T) { c.arrivesUnderLoad(t, server, shard) })
	c.story(t, "a change that breaks a limit under load is taken back, and told", func(t *testing.T) { c.isTakenBack(t, server, shard) })
	c.story(t, "a dirty cache above its limit fires the alert, and its end resolves it", func(t *testing.T) { c.pages(t, server, shard) })
	c.story(t, "a value set by hand is put back, and Git's spec is left alone", func(t *testing.T) {
		before := c.spec(t)
		c.correctsEviction(t)
		c.expectSpec(t, before)
	})
	c.story(t, "an object that is suspended or refused stays in sight", func(t *testing.T) { c.staysInSight(t, server) })
}

// comesUpFromGit makes a small cluster by server-side apply under another name, as Git would.
func (c *cluster) comesUpFromGit(t *testing.T) {
	t.Helper()
	tuning := c.sample(t)
	tuning.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MongoTuning"}
	tuning.Labels = map[string]string{"app.kubernetes.io/part-of": "shop"}
	tuning.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "shop:mongotuning.io/MongoTuning:watched"}
	tuning.Spec.Shards.Count, tuning.Spec.ConfigServers.Members = 1, 1
	tuning.Spec.Verification = &v1alpha1.VerificationSpec{PeriodSeconds: new(int32(5)), Limits: limits(dirtyLimit)}
	tuning.Spec.Rollout.Canary.SoakSeconds, tuning.Spec.Rollout.LeadSoakSeconds = new(int32(15)), new(int32(15))
	// One figure decides in these stories, not the comparison with the neighbours.
	tuning.Spec.Rollout.AllowedWorseningPercent = new(int32(1000))
	content, err := encodeObject(tuning)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(content.DeepCopy()), client.FieldOwner("git")); err != nil {
		t.Fatal(err)
	}
	c.keep(t, "new")
	awaitStatus(t, c, "building", func(tuning *v1alpha1.MongoTuning) bool {
		return reasonOf(tuning, v1alpha1.ConditionReady) == v1alpha1.ReasonBuilding
	})
	c.keep(t, "building")
	c.settle(t)
	c.expectReachable(t)
	c.openLedger(t, c.shards(t)[0])
	c.keep(t, "ready")
	c.expectInSync(t, content)
}

// expectInSync compares what Git has with the live object as Argo CD does: nothing is to be changed.
func (c *cluster) expectInSync(t *testing.T, applied *unstructured.Unstructured) {
	t.Helper()
	declared, err := applied.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	live, err := c.raw(t).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	difference, err := jsonmergepatch.CreateThreeWayJSONMergePatch(declared, declared, live)
	if err != nil || string(difference) != "{}" {
		t.Errorf("the live object is out of sync: %s (%v)", difference, err)
	}
}

// limits hold the dirty cache, for a few seconds only. What else load does on a machine of few processors is
// reported and stops nothing: these stories are about one figure.
func limits(dirty int64) []v1alpha1.Limit {
	found := []v1alpha1.Limit{{Name: "dirty-cache", Gauge: v1alpha1.GaugeDirtyCache, Max: &dirty, ForSeconds: new(int32(4))}}
	for name, gauge := range map[string]v1alpha1.Gauge{
		"replication-lag": v1alpha1.GaugeReplicationLag, "majority-lag": v1alpha1.GaugeMajorityLag,
		"checkpoint-duration": v1alpha1.GaugeCheckpointDuration, "application-thread-evictions": v1alpha1.GaugeApplicationThreadEvictions,
	} {
		found = append(found, v1alpha1.Limit{Name: name, Gauge: gauge, Max: new(int64(100_000)), Enforcement: v1alpha1.EnforcementReport})
	}
	// Load fills an oplog within minutes that is as small as these.
	found = append(found, v1alpha1.Limit{Name: "oplog-window", Gauge: v1alpha1.GaugeOplogWindow, Min: new(int64(1)), Enforcement: v1alpha1.EnforcementReport})
	slices.SortFunc(found, func(a, b v1alpha1.Limit) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// patchLimits changes what the dirty cache is held to.
func (c *cluster) patchLimits(t *testing.T, dirty int64) {
	t.Helper()
	content, err := json.Marshal(limits(dirty))
	if err != nil {
		t.Fatal(err)
	}
	c.patch(t, `{"spec":{"verification":{"limits":`+string(content)+`}}}`)
}

func awaitStatus(t *testing.T, c *cluster, what string, holds func(*v1alpha1.MongoTuning) bool) {
	t.Helper()
	await(t, settling, "status never said: "+what, func(g gomega.Gomega) { g.Expect(holds(c.tuning(t))).To(gomega.BeTrue()) })
}

// pressure overwrites documents of one shard at random, as fast as the primary takes them, until it is stopped.
type pressure struct {
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

const (
	// Together more than half of the cache of these members.
	loadDocuments = 15_000
	loadBytes     = 10_000
	// lightly and heavily are how many write at once.
	lightly, heavily = 1, 3
)

func (c *cluster) startPressure(t *testing.T, shard string, writers int) *pressure {
	t.Helper()
	collection := c.replicaSet(t, shard, credential(ledgerUser, c.ledgers[shard].password, "admin")).Database(ledgerDatabase).Collection("load")
	ctx, cancel := context.WithCancel(context.Background())
	l := &pressure{cancel: cancel}
	for range writers {
		l.wait.Go(func() { overwrite(ctx, collection) })
	}
	t.Cleanup(l.stop)
	return l
}

func overwrite(ctx context.Context, collection *mongo.Collection) {
	body := strings.Repeat("x", loadBytes)
	for ctx.Err() == nil {
		var batch []mongo.WriteModel
		for range 20 {
			id := rand.IntN(loadDocuments)
			batch = append(batch, mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: id}}).SetUpsert(true).
				SetReplacement(bson.D{{Key: "_id", Value: id}, {Key: "n", Value: rand.Int64()}, {Key: "body", Value: body}}))
		}
		attempt, done := context.WithTimeout(ctx, patience)
		// During a hand-off the batch fails; the next one finds the new primary.
		_, _ = collection.BulkWrite(attempt, batch, options.BulkWrite().SetOrdered(false))
		done()
	}
}

func (l *pressure) stop() {
	l.cancel()
	l.wait.Wait()
}

// flush makes every member write what is dirty now, rather than at its next checkpoint.
func (c *cluster) flush(t *testing.T, shard string) {
	t.Helper()
	for _, pod := range c.members(t, shard) {
		mustRun(t, c.member(t, pod, new(c.memberIdentity(t))), one("fsync"))
	}
}

// last lets as much time go by as it takes to see in a picture, or until the test is told to end.
func last(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(lasting):
	case <-t.Context().Done():
	}
}

func (c *cluster) arrivesUnderLoad(t *testing.T, server *prometheus, shard string) {
	pressed := c.startPressure(t, shard, lightly)
	began := time.Now()
	t.Cleanup(func() { server.record(t, c, "rollout", began, time.Now()) })
	last(t)
	c.patch(t, `{"spec":{"tuning":{"checkpoint":{"waitSeconds":20},"eviction":{"dirtyTargetPercent":4}}}}`)
	before := c.spec(t)
	awaitStatus(t, c, "the canary is watched", func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Step == v1alpha1.StepCanarySoak })
	c.keep(t, "soaking")
	c.settle(t)
	last(t)
	pressed.stop()
	c.expectSpec(t, before)
	g := gomega.NewWithT(t)
	g.Expect(server.firing(t, g, "MongoTuningRolledBack")).To(gomega.BeEmpty())
	c.tellEvents(t)
}

func (c *cluster) isTakenBack(t *testing.T, server *prometheus, shard string) {
	verified := c.tuning(t).Status.Revisions.Verified
	pressed := c.startPressure(t, shard, heavily)
	began := time.Now()
	t.Cleanup(func() { server.record(t, c, "return", began, time.Now()) })
	last(t)
	// Background eviction would begin where the limit is, so the limit is broken under load.
	c.patch(t, `{"spec":{"tuning":{"eviction":{"dirtyTargetPercent":25,"dirtyTriggerPercent":90}}}}`)
	before := c.spec(t)
	awaitStatus(t, c, "the change is taken back", func(tuning *v1alpha1.MongoTuning) bool { return tuning.Status.Rollout.Step == v1alpha1.StepReturned })
	await(t, promptly, "nobody is told of the return", func(g gomega.Gomega) {
		alerts := server.firing(t, g, "MongoTuningRolledBack")
		g.Expect(alerts).To(gomega.HaveLen(1))
		g.Expect(alerts[0].Annotations["summary"]).To(gomega.ContainSubstring("since the operator started: 1"))
	})
	last(t)
	pressed.stop()
	c.keep(t, "returned")
	c.expectSpec(t, before)
	tuning := c.tuning(t)
	g := gomega.NewWithT(t)
	g.Expect(tuning.Status.Revisions.Verified).To(gomega.Equal(verified))
	g.Expect(statusOf(tuning, v1alpha1.ConditionStalled)).To(gomega.Equal(metav1.ConditionTrue))
	g.Expect(messageOf(tuning, v1alpha1.ConditionRolledBack)).To(gomega.ContainSubstring("irty cache"))
	c.tellEvents(t)
	// Git takes it back as well.
	c.patch(t, `{"spec":{"tuning":{"eviction":{"dirtyTargetPercent":4,"dirtyTriggerPercent":30}}}}`)
	c.settle(t)
	await(t, promptly, "the alert of the return stays", func(g gomega.Gomega) {
		g.Expect(server.firing(t, g, "MongoTuningRolledBack")).To(gomega.BeEmpty())
	})
}

// pages lowers the limit to where eviction holds the cache under load, so that load breaks it.
func (c *cluster) pages(t *testing.T, server *prometheus, shard string) {
	await(t, promptly, "the alert of the story before stays", func(g gomega.Gomega) { g.Expect(server.firing(t, g, dirtyAlert)).To(gomega.BeEmpty()) })
	c.patchLimits(t, 4)
	pressed := c.startPressure(t, shard, heavily)
	var fired alert
	await(t, 2*promptly, "the alert does not fire", func(g gomega.Gomega) {
		alerts := server.firing(t, g, dirtyAlert)
		g.Expect(alerts).NotTo(gomega.BeEmpty())
		fired = alerts[0]
	})
	t.Logf("fired: %s", fired.Annotations["summary"])
	g := gomega.NewWithT(t)
	g.Expect(fired.Labels).To(gomega.SatisfyAll(
		gomega.HaveKeyWithValue("severity", "critical"), gomega.HaveKeyWithValue("namespace", c.namespace), gomega.HaveKeyWithValue("name", c.name),
	))
	g.Expect(c.members(t, shard)).To(gomega.ContainElement(fired.Labels["member"]))
	g.Expect(fired.Annotations["summary"]).To(gomega.MatchRegexp(`is above its limit: .*%, limit 4%`))
	// The status says what the alert says, and stays Ready: the revision is the verified one.
	awaitStatus(t, c, "a figure is out of range", func(tuning *v1alpha1.MongoTuning) bool {
		return reasonOf(tuning, v1alpha1.ConditionVerified) == v1alpha1.ReasonDirtyCacheAboveLimit &&
			statusOf(tuning, v1alpha1.ConditionReady) == metav1.ConditionTrue
	})
	c.keep(t, "breached")
	c.findsTheCause(t, fired)
	pressed.stop()
	c.flush(t, shard)
	await(t, 2*promptly, "the alert does not resolve", func(g gomega.Gomega) { g.Expect(server.firing(t, g, dirtyAlert)).To(gomega.BeEmpty()) })
	c.patchLimits(t, dirtyLimit)
}

// findsTheCause goes the way of somebody on call: from the alert to its page, and by the plugin, which the page
// names, to the member, the limit and what is in force there.
func (c *cluster) findsTheCause(t *testing.T, fired alert) {
	t.Helper()
	g := gomega.NewWithT(t)
	_, page, found := strings.Cut(fired.Annotations["runbook_url"], "/blob/main/")
	g.Expect(found).To(gomega.BeTrue(), "the alert names no page: %v", fired.Annotations)
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	program := buildPlugin(t)
	for command, words := range map[string][]string{
		"status": {fired.Labels["member"], fired.Labels["limit"], string(v1alpha1.GaugeDirtyCache), v1alpha1.ReasonDirtyCacheAboveLimit},
		"diff":   {"Every declared value was read back from every member."},
	} {
		g.Expect(string(text)).To(gomega.ContainSubstring("kubectl mongotuning -n NAMESPACE "+command+" NAME"), "%s names no such command", page)
		output, code := c.runPlugin(t, program, command, c.name)
		g.Expect(code).To(gomega.BeZero(), output)
		for _, word := range words {
			g.Expect(output).To(gomega.ContainSubstring(word))
		}
	}
	output, _ := c.runPlugin(t, program, "explain", "eviction.dirtyTargetPercent")
	g.Expect(output).To(gomega.ContainSubstring("online"), "what a change of the target takes")
}

func (c *cluster) staysInSight(t *testing.T, server *prometheus) {
	firing := func(name string) {
		t.Helper()
		await(t, promptly, name+" does not fire", func(g gomega.Gomega) { g.Expect(server.firing(t, g, name)).To(gomega.HaveLen(1)) })
	}
	c.patch(t, `{"metadata":{"annotations":{"mongotuning.io/suspend":"true"}}}`)
	firing("MongoTuningSuspended")
	c.keep(t, "suspended")
	c.patch(t, `{"metadata":{"annotations":{"mongotuning.io/suspend":null}},"spec":{"profileRef":{"name":"nobody-has-made-it"}}}`)
	firing("MongoTuningStalled")
	c.keep(t, "refused")
	g := gomega.NewWithT(t)
	g.Expect(server.has(t, `mongotuning_dirty_cache_ratio{name="`+c.name+`"}`)).To(gomega.BeTrue(), "a refused object has no figures")
	c.patch(t, `{"metadata":{"annotations":{"mongotuning.io/suspend":"true"}}}`)
	awaitStatus(t, c, "refused and suspended", func(tuning *v1alpha1.MongoTuning) bool {
		return statusOf(tuning, v1alpha1.ConditionSuspended) == metav1.ConditionTrue
	})
	c.keep(t, "refused-suspended")
	c.patch(t, `{"metadata":{"annotations":{"mongotuning.io/suspend":null}},"spec":{"profileRef":null}}`)
	c.settle(t)
}

// raw is the object as it is stored.
func (c *cluster) raw(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MongoTuning"))
	return get(t, c, c.name, object)
}

// spec is the spec as it is stored, byte by byte.
func (c *cluster) spec(t *testing.T) string {
	t.Helper()
	content, err := c.raw(t).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(content), `"spec":`)
	spec, _, ended := strings.Cut(after, `,"status":{`)
	if !found || !ended {
		t.Fatalf("the object has no spec before its status: %s", content)
	}
	return spec
}

// expectSpec proves that nobody but people wrote what belongs to Git: the spec is the same, byte by byte,
// labels and annotations are there, and no field of either is the operator's.
func (c *cluster) expectSpec(t *testing.T, before string) {
	t.Helper()
	if diff := cmp.Diff(before, c.spec(t)); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	object := c.raw(t)
	if object.GetLabels()["app.kubernetes.io/part-of"] != "shop" || object.GetAnnotations()["argocd.argoproj.io/tracking-id"] == "" {
		t.Errorf("labels %v and annotations %v have lost what Git set", object.GetLabels(), object.GetAnnotations())
	}
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == "git" || entry.Manager == string(fieldOwner) {
			continue
		}
		for _, field := range []string{`"f:spec"`, `"f:labels"`, `"f:annotations"`} {
			if strings.Contains(entry.FieldsV1.GetRawString(), field) {
				t.Errorf("%s owns %s: %s", entry.Manager, field, entry.FieldsV1.GetRawString())
			}
		}
	}
}

// tellEvents shows the events of the object in the order in which they were written.
func (c *cluster) tellEvents(t *testing.T) {
	t.Helper()
	events := &eventsv1.EventList{}
	if err := c.kube.List(t.Context(), events, client.InNamespace(c.namespace)); err != nil {
		t.Fatal(err)
	}
	var story strings.Builder
	for _, event := range inOrder(events.Items) {
		if event.Regarding.Name == c.name {
			story.WriteString(event.EventTime.Format("15:04:05.000") + " " + event.Type + " " + event.Reason + ": " + event.Note + "\n")
		}
	}
	t.Logf("events:\n%s", story.String())
	if recording() != "" {
		leave(t, "events.txt", []byte(story.String()))
	}
}

func inOrder(events []eventsv1.Event) []eventsv1.Event {
	return slices.SortedFunc(slices.Values(events), func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
}

// encodeObject is the object as a person writes it: without status and without what only servers set.
func encodeObject(tuning *v1alpha1.MongoTuning) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(tuning)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}
