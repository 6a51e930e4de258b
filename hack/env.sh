# Sourced by the scripts beside it: where the repository is and which kubectl speaks to which cluster.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${CLUSTER:-local} == local ]]; then
	export KUBECONFIG=$PWD/.cluster/kubeconfig
	kubectl_path=$(go run -C hack/cluster . kubectl-path)
	kubectl() { "$kubectl_path" "$@"; }
fi
