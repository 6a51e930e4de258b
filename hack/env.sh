# Sourced by the scripts beside it: where the repository is and which kubectl speaks to which cluster.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
if [[ ${CLUSTER:-local} == local ]]; then
	# A clone's second cluster has a kubeconfig of its own name. The one that is taken has to be of this
	# name: nothing must ever be done to another cluster.
	for KUBECONFIG in ".cluster/${CLUSTER_NAME:=mongotuning}.kubeconfig" .cluster/kubeconfig; do
		grep -qs "\"current-context\": \"$CLUSTER_NAME\"" "$KUBECONFIG" && break
		KUBECONFIG=''
	done
	[[ -n $KUBECONFIG ]] || { echo "The local cluster $CLUSTER_NAME is not up: make cluster-up" >&2; exit 1; }
	export KUBECONFIG=$PWD/$KUBECONFIG CLUSTER_NAME
	kubectl_path=$(go run -C hack/cluster . kubectl-path)
	kubectl() { "$kubectl_path" "$@"; }
fi
