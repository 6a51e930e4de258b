// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/plugin"
)

// kubeconfig writes the way of an administrator to the API server into a file.
func (w *world) kubeconfig() string {
	w.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: shared.config.Host, CertificateAuthorityData: shared.config.CAData}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: shared.config.CertData, ClientKeyData: shared.config.KeyData}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin", Namespace: w.namespace}
	config.CurrentContext = "test"
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.must(clientcmd.WriteToFile(*config, path))
	return path
}

// plugin runs kubectl mongotuning as a person does, and returns what it prints.
func (w *world) plugin(args ...string) (string, error) {
	w.t.Helper()
	var out bytes.Buffer
	command := plugin.New(plugin.Environment{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, Clock: clock.RealClock{},
	})
	command.SetArgs(append(args, "--kubeconfig", w.kubeconfig()))
	err := command.ExecuteContext(w.ctx)
	return out.String(), err
}

func (w *world) says(want string, args ...string) {
	w.t.Helper()
	out, err := w.plugin(args...)
	if err != nil {
		w.t.Fatalf("%v: %v", args, err)
	}
	if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
		w.t.Errorf("%v does not say %q:\n%s", args, want, out)
	}
}

// TestThePluginSuspendsAndResumes speaks to the operator through the plugin alone.
func TestThePluginSuspendsAndResumes(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	w.says("demo-shard-0-0", "status", "demo")
	w.says("Every declared value was read back", "diff", "demo")
	w.says("demo is suspended", "suspend", "demo")
	w.step()
	if !conditionIs(w.tuning(), v1alpha1.ConditionSuspended, metav1.ConditionTrue) {
		t.Errorf("the operator does not see it:\n%s", describe(w.tuning()))
	}
	w.says("suspended already", "suspend", "demo")
	w.change(func(tuning *v1alpha1.MongoTuning) { tuning.Spec.Tuning = small().DirtyTrigger(30).Object().Spec.Tuning })
	w.step()
	w.says("demo goes on", "resume", "demo")
	w.untilReady()
	w.says("not suspended", "resume", "demo")
	w.says("eviction.dirtyTriggerPercent 20 (default) -> 30", "history", "demo")
	for _, owner := range w.tuning().ManagedFields {
		if owner.Manager == "kubectl-mongotuning" && strings.Contains(string(owner.FieldsV1.GetRawBytes()), "f:spec") {
			t.Errorf("the plugin owns a field of spec: %s", owner.FieldsV1.GetRawBytes())
		}
	}
}

// TestThePluginAsksToTryAgainAndToGoOn sets the annotations on objects that stand so.
func TestThePluginAsksToTryAgainAndToGoOn(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	stands := func(rollout v1alpha1.RolloutStatus) {
		tuning := w.tuning()
		tuning.Status.Rollout = rollout
		w.must(w.admin.Status().Update(w.ctx, tuning))
	}
	revision := w.tuning().Status.Revisions.Current
	if _, err := w.plugin("retry", "demo"); err == nil || !strings.Contains(err.Error(), "nothing to try again") {
		t.Errorf("a settled cluster: %v", err)
	}
	stands(v1alpha1.RolloutStatus{Revision: revision, Step: v1alpha1.StepReturned, Breach: "too dirty"})
	w.says("Revision "+revision+" is tried again", "retry", "demo")
	w.says("Revision "+revision+" is tried again", "retry", "demo")
	if got := w.tuning().Annotations[v1alpha1.AnnotationRetry]; got != revision+"/2" {
		t.Errorf("the second retry is %q", got)
	}
	if _, err := w.plugin("proceed", "demo"); err == nil || !strings.Contains(err.Error(), "no change on its way") {
		t.Errorf("nothing travels: %v", err)
	}
	stands(v1alpha1.RolloutStatus{Revision: revision, Step: v1alpha1.StepCanary, BreachedBefore: []string{"dirty-cache"}})
	w.says("may restart members although dirty-cache", "proceed", "demo")
	if got := w.tuning().Annotations[v1alpha1.AnnotationProceed]; got != revision {
		t.Errorf("consent is for %q", got)
	}
}

// TestThePluginForecasts asks the real API server, which refuses and changes nothing.
func TestThePluginForecasts(t *testing.T) {
	w := newWorld(t)
	bootstrap(w)
	before := w.tuning().ResourceVersion
	file := filepath.Join(t.TempDir(), "demo.yaml")
	write := func(text string) {
		w.must(os.WriteFile(file, []byte(text), 0o600))
	}
	const head = "apiVersion: mongotuning.io/v1alpha1\nkind: MongoTuning\nmetadata:\n  name: demo\nspec:\n  mongodb: {version: 4.4.2}\n  mongos: {replicas: 1}\n"
	const config = "  configServers: {members: 1, storage: {size: 5Gi}, resources: {limits: {memory: 1Gi}}, tuning: {cacheSizeGB: 0.25}}\n"
	write(head + config + "  shards: {count: 1, members: 3, storage: {size: 10Gi}, resources: {limits: {memory: 2Gi}}}\n  tuning: {cacheSizeGB: 1, serviceExecutor: adaptive}\n")
	w.says("serviceExecutor synchronous (default) adaptive restarts members", "plan", "-f", file)
	w.says("Compared with revision "+w.tuning().Status.Revisions.Verified+", verified last", "plan", "-f", file)
	write(head + config + "  shards: {count: 1, members: 5, storage: {size: 10Gi}, resources: {limits: {memory: 2Gi}}}\n  tuning: {cacheSizeGB: 1}\n")
	out, err := w.plugin("plan", "-f", file)
	if code := plugin.ExitCode(err); code != 3 || !strings.Contains(out, "spec.shards.members") {
		t.Errorf("code %d (%v):\n%s", code, err, out)
	}
	if after := w.tuning().ResourceVersion; after != before {
		t.Errorf("a forecast wrote: %s became %s", before, after)
	}
}
