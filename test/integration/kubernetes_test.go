// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"fmt"
	"path"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/test/scripted"
)

// kubernetes plays what is missing beside a control plane without controllers and nodes, in one
// namespace: it makes and ends pods, runs their servers, and fills in the status of what runs them.
type kubernetes struct {
	t         *testing.T
	client    client.Client
	namespace string
	servers   *scripted.Servers
	// made counts the pods that were made under each name.
	made map[string]int
	// failTrials lets every trial start fail with these last words.
	failTrials string
	// budgetsClosed tells that somebody else has used every disruption budget up.
	budgetsClosed bool

	addresses int
	// node is where pods run, hosts what is set there.
	node  string
	hosts *playedHosts
}

func (k *kubernetes) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// step does everything that there is to do now.
func (k *kubernetes) step(ctx context.Context) {
	k.t.Helper()
	k.endPods(ctx)
	statefulSets := &appsv1.StatefulSetList{}
	k.must(k.client.List(ctx, statefulSets, client.InNamespace(k.namespace)))
	for i := range statefulSets.Items {
		k.runStatefulSet(ctx, &statefulSets.Items[i])
	}
	deployments := &appsv1.DeploymentList{}
	k.must(k.client.List(ctx, deployments, client.InNamespace(k.namespace)))
	for i := range deployments.Items {
		k.runDeployment(ctx, &deployments.Items[i])
	}
	k.runHostTune(ctx)
	jobs := &batchv1.JobList{}
	k.must(k.client.List(ctx, jobs, client.InNamespace(k.namespace)))
	for i := range jobs.Items {
		k.runJob(ctx, &jobs.Items[i])
	}
	k.reportReadiness(ctx)
	k.keepBudgets(ctx)
}

// pods of the namespace, by name.
func (k *kubernetes) pods(ctx context.Context) map[string]*corev1.Pod {
	k.t.Helper()
	list := &corev1.PodList{}
	k.must(k.client.List(ctx, list, client.InNamespace(k.namespace)))
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	return pods
}

// endPods is the kubelet's half of a graceful end.
func (k *kubernetes) endPods(ctx context.Context) {
	k.t.Helper()
	for _, pod := range k.pods(ctx) {
		if pod.DeletionTimestamp.IsZero() {
			continue
		}
		k.servers.Stop(string(pod.UID))
		k.servers.StopRouter(string(pod.UID))
		k.must(client.IgnoreNotFound(k.client.Delete(ctx, pod, client.GracePeriodSeconds(0))))
	}
}

func (k *kubernetes) runStatefulSet(ctx context.Context, set *appsv1.StatefulSet) {
	k.t.Helper()
	pods := k.pods(ctx)
	files := &corev1.ConfigMap{}
	k.must(k.client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: naming.ConfigFiles(set.Name)}, files))
	if set.Status.ObservedGeneration != set.Generation {
		set.Status.ObservedGeneration, set.Status.Replicas = set.Generation, *set.Spec.Replicas
		k.must(k.client.Status().Update(ctx, set))
	}
	for ordinal := range *set.Spec.Replicas {
		name := naming.Member(set.Name, ordinal)
		if pods[name] != nil {
			continue
		}
		pod := k.podOf(set.Spec.Template, name, set, "StatefulSet")
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name},
		}})
		if !k.create(ctx, pod) {
			continue
		}
		start := func() {
			k.servers.Start(scripted.Process{
				UID: string(pod.UID), Pod: name, Set: set.Name, File: files.Data[naming.ConfigFile(name)],
				KeyFileID: pod.Annotations[naming.AnnotationKeyFile], Version: k.versionOf(pod),
			})
		}
		if tunesHost(pod) {
			k.hosts.starting[string(pod.UID)] = start
			continue
		}
		start()
	}
}

func (k *kubernetes) versionOf(pod *corev1.Pod) catalog.Version {
	k.t.Helper()
	image := pod.Spec.Containers[0].Image
	_, tag, _ := cutLast(path.Base(image), ":")
	version, err := catalog.ParseVersion(tag)
	k.must(err)
	return version
}

func cutLast(text, separator string) (before, after string, found bool) {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i:i+1] == separator {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// podOf is a pod from a template, on a node, so that it ends gracefully.
func (k *kubernetes) podOf(template corev1.PodTemplateSpec, name string, owner client.Object, kind string) *corev1.Pod {
	isController := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: owner.GetNamespace(), Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &isController}},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = k.node
	return pod
}

// create makes a pod and gives it an address; false when there is one of that name already.
func (k *kubernetes) create(ctx context.Context, pod *corev1.Pod) bool {
	k.t.Helper()
	err := k.client.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		return false
	}
	k.must(err)
	k.made[pod.Name]++
	k.addresses++
	address := fmt.Sprintf("10.%d.%d.%d", k.addresses>>16&255, k.addresses>>8&255, k.addresses&255)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	k.must(k.client.Status().Update(ctx, pod))
	return true
}

func (k *kubernetes) runDeployment(ctx context.Context, deployment *appsv1.Deployment) {
	k.t.Helper()
	revision := desired.FileID(fmt.Sprintf("%+v", deployment.Spec.Template))
	wanted := map[string]bool{}
	for i := range *deployment.Spec.Replicas {
		wanted[fmt.Sprintf("%s-%s-%d", deployment.Name, revision, i)] = true
	}
	pods := k.pods(ctx)
	ready := int32(0)
	for name := range wanted {
		pod := pods[name]
		if pod == nil {
			pod = k.podOf(deployment.Spec.Template, name, deployment, "Deployment")
			k.create(ctx, pod)
			k.servers.StartRouter(string(pod.UID))
		}
		if k.isServing(pod) {
			ready++
		}
	}
	for name, pod := range pods {
		if metav1.IsControlledBy(pod, deployment) && !wanted[name] {
			k.must(client.IgnoreNotFound(k.client.Delete(ctx, pod)))
		}
	}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: int32(len(wanted)), UpdatedReplicas: int32(len(wanted)), ReadyReplicas: ready,
	}
	if deployment.Status.ObservedGeneration != status.ObservedGeneration || deployment.Status.ReadyReplicas != ready {
		deployment.Status = status
		k.must(k.client.Status().Update(ctx, deployment))
	}
}

func (k *kubernetes) isServing(pod *corev1.Pod) bool {
	if pod.Labels[naming.LabelReplicaSet] != "" {
		return k.servers.Serves(string(pod.UID))
	}
	return k.servers.Primary(naming.ConfigServers(pod.Labels[naming.LabelInstance])) != ""
}

func (k *kubernetes) runJob(ctx context.Context, job *batchv1.Job) {
	k.t.Helper()
	if len(job.Status.Conditions) > 0 {
		return
	}
	if job.Labels[naming.LabelHostJob] != "" {
		k.runHostJob(ctx, job)
		return
	}
	now := metav1.Now()
	job.Status.StartTime = &now
	conditions := []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
	if k.failTrials == "" {
		job.Status.CompletionTime, job.Status.Succeeded = &now, 1
	} else {
		conditions = []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
		pod := k.podOf(job.Spec.Template, job.Name+"-pod", job, "Job")
		k.create(ctx, pod)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: naming.TrialContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: k.failTrials}},
		}}
		k.must(k.client.Status().Update(ctx, pod))
	}
	for _, condition := range conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now,
		})
	}
	k.must(k.client.Status().Update(ctx, job))
}

// reportReadiness is what the kubelet's probes say.
func (k *kubernetes) reportReadiness(ctx context.Context) {
	k.t.Helper()
	for _, pod := range k.pods(ctx) {
		status := corev1.ConditionFalse
		if k.isServing(pod) {
			status = corev1.ConditionTrue
		}
		if len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == status || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		k.must(k.client.Status().Update(ctx, pod))
	}
}

// keepBudgets allows one disruption of each replica set whose members are all ready.
func (k *kubernetes) keepBudgets(ctx context.Context) {
	k.t.Helper()
	budgets := &policyv1.PodDisruptionBudgetList{}
	k.must(k.client.List(ctx, budgets, client.InNamespace(k.namespace)))
	pods := k.pods(ctx)
	for i := range budgets.Items {
		budget := &budgets.Items[i]
		status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation}
		for _, pod := range pods {
			if pod.Labels[naming.LabelReplicaSet] != budget.Name {
				continue
			}
			status.ExpectedPods++
			if pod.DeletionTimestamp.IsZero() && k.isServing(pod) {
				status.CurrentHealthy++
			}
		}
		status.DesiredHealthy = max(0, status.ExpectedPods-1)
		if !k.budgetsClosed {
			status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
		}
		if budget.Status.ObservedGeneration == status.ObservedGeneration && budget.Status.CurrentHealthy == status.CurrentHealthy &&
			budget.Status.DisruptionsAllowed == status.DisruptionsAllowed && budget.Status.ExpectedPods == status.ExpectedPods {
			continue
		}
		budget.Status = status
		k.must(k.client.Status().Update(ctx, budget))
	}
}
