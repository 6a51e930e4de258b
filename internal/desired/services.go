// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	networkingv1 "k8s.io/api/networking/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// MemberService is the headless Service that gives members their names. It publishes members that are
// not ready: a replica set can only become ready after its members have found each other.
func (c Cluster) MemberService(set ReplicaSet) *corev1ac.ServiceApplyConfiguration {
	labels := naming.ReplicaSetLabels(c.Tuning.Name, set.Name, set.Component)
	return corev1ac.Service(set.Name, c.Tuning.Namespace).
		WithLabels(labels).
		WithOwnerReferences(c.owner()).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPublishNotReadyAddresses(true).
			WithSelector(labels).
			WithPorts(mongodbServicePort()))
}

// MongosService is the address that applications connect to.
func (c Cluster) MongosService() *corev1ac.ServiceApplyConfiguration {
	labels := naming.ComponentLabels(c.Tuning.Name, v1alpha1.ComponentMongos)
	return corev1ac.Service(naming.Mongos(c.Tuning.Name), c.Tuning.Namespace).
		WithLabels(labels).
		WithOwnerReferences(c.owner()).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(labels).
			WithPorts(mongodbServicePort()))
}

func mongodbServicePort() *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName("mongodb").WithPort(naming.Port).
		WithProtocol(corev1.ProtocolTCP).WithTargetPort(intstr.FromString("mongodb"))
}

// DisruptionBudget lets one member of a replica set be evicted at a time. A member that is not ready
// serves nobody and may always be evicted, or a broken one could block a node's drain for ever.
func (c Cluster) DisruptionBudget(set ReplicaSet) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	labels := naming.ReplicaSetLabels(c.Tuning.Name, set.Name, set.Component)
	return policyv1ac.PodDisruptionBudget(set.Name, c.Tuning.Namespace).
		WithLabels(labels).
		WithOwnerReferences(c.owner()).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)))
}

// ServiceAccount is the identity of the database pods. It has no rights and its token is not mounted.
func (c Cluster) ServiceAccount() *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(naming.ServiceAccount(c.Tuning.Name), c.Tuning.Namespace).
		WithLabels(naming.Labels(c.Tuning.Name)).
		WithOwnerReferences(c.owner()).
		WithAutomountServiceAccountToken(false)
}

// MemberNetworkPolicy lets only the cluster's own processes and the operator reach the mongods:
// applications go through mongos.
func (c Cluster) MemberNetworkPolicy(component v1alpha1.Component) *networkingv1ac.NetworkPolicyApplyConfiguration {
	own := networkingv1ac.NetworkPolicyPeer().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(naming.Labels(c.Tuning.Name)))
	policy := c.networkPolicy(component, own, c.operatorPeer())
	// While any node is touched there may be readers, also of a revision that is going or coming back.
	if c.TunesHosts() || len(c.Tuning.Status.HostTuning.NodesTouched) > 0 {
		policy.Spec.WithIngress(c.readerIngress())
	}
	return policy
}

func (c Cluster) operatorPeer() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().
		WithNamespaceSelector(metav1ac.LabelSelector().
			WithMatchLabels(map[string]string{corev1.LabelMetadataName: c.OperatorNamespace})).
		WithPodSelector(metav1ac.LabelSelector().
			WithMatchLabels(map[string]string{naming.LabelName: naming.FieldOwner}))
}

// MongosNetworkPolicy lets everybody reach the routers on MongoDB's port, and on no other.
func (c Cluster) MongosNetworkPolicy() *networkingv1ac.NetworkPolicyApplyConfiguration {
	return c.networkPolicy(v1alpha1.ComponentMongos)
}

func (c Cluster) networkPolicy(component v1alpha1.Component, from ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyApplyConfiguration {
	labels := naming.ComponentLabels(c.Tuning.Name, component)
	return networkingv1ac.NetworkPolicy(naming.NetworkPolicy(c.Tuning.Name, component), c.Tuning.Namespace).
		WithLabels(labels).
		WithOwnerReferences(c.owner()).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithPolicyTypes(networkingv1.PolicyTypeIngress).
			WithIngress(networkingv1ac.NetworkPolicyIngressRule().
				WithFrom(from...).
				WithPorts(networkingv1ac.NetworkPolicyPort().
					WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(naming.Port)))))
}
