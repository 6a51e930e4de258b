#!/usr/bin/env bash
# The main job on a real cluster: applies the demo, shows how it comes up, and ends with its status.
# Running it again is harmless: what is there already is only looked at.
set -euo pipefail
command=$1
source "$(dirname "$0")/env.sh"

case $MONGODB_VERSION in
	4.2.* | 4.4.*) sample=config/samples/demo.yaml ;;
	*) sample=config/samples/demo-modern.yaml ;;
esac

show() {
	kubectl -n "$NAMESPACE" get mtune demo
	echo
	kubectl -n "$NAMESPACE" get mtune demo -o jsonpath='{range .status.members[*]}{.name}{"\t"}{.role}{"\t"}{.proved}/{.declared}{"\n"}{end}' |
		awk 'BEGIN {FS = "\t"; printf "%-18s %-10s %s\n", "MEMBER", "ROLE", "PROVED KNOBS"} {printf "%-18s %-10s %s\n", $1, $2, $3}'
}

# follow prints each new step once, until the object is ready, stalled, or the time is over.
follow() {
	local started=$SECONDS last=''
	while ((SECONDS - started < 900)); do
		local line ready reason message proved generation observed
		line=$(kubectl -n "$NAMESPACE" get mtune demo -o jsonpath='{.metadata.generation}|{.status.observedGeneration}|{.status.provedMembers}|{.status.conditions[?(@.type=="Ready")].status}|{.status.conditions[?(@.type=="Ready")].reason}|{.status.conditions[?(@.type=="Ready")].message}')
		IFS='|' read -r generation observed proved ready reason message <<<"$line"
		if [[ "$reason $message" != "$last" ]]; then
			printf '%4ds  %-6s %-18s %s\n' $((SECONDS - started)) "${proved:--}" "${reason:-Created}" "$message"
			last="$reason $message"
		fi
		[[ $ready == True && $observed == "$generation" ]] && return 0
		if [[ $ready == False ]]; then
			echo "The demo cannot go on; the line above says why."
			return 1
		fi
		sleep 1
	done
	echo "Not ready after 15 minutes. Look at: kubectl -n $NAMESPACE describe mtune demo"
	return 1
}

case $command in
up)
	kubectl create namespace "$NAMESPACE" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
	if existing=$(kubectl -n "$NAMESPACE" get mtune demo -o jsonpath='{.spec.mongodb.version}' 2>/dev/null) && [[ $existing != "$MONGODB_VERSION" ]]; then
		echo "The demo runs on MongoDB $existing; remove it first: make demo-down"
		exit 1
	fi
	image=''
	[[ ${CLUSTER:-local} == local ]] || image='/^    image: /d; /^    # A test image/d;'
	sed -E "$image s/^  name: demo-modern/  name: demo/; s/^    version: .*/    version: $MONGODB_VERSION/; s#(mongodb-test):.*#\1:$MONGODB_VERSION#" "$sample" |
		kubectl -n "$NAMESPACE" apply -f -
	follow
	echo
	show
	cat <<-TEXT

	Three things to try next$( [[ ${CLUSTER:-local} == local ]] && echo " (first: export KUBECONFIG=$KUBECONFIG PATH=\$PATH:$(dirname "$kubectl_path"))"):
	  kubectl -n $NAMESPACE patch mtune demo --type merge -p '{"spec":{"tuning":{"eviction":{"dirtyTriggerPercent":25}}}}'
	  kubectl -n $NAMESPACE get mtune demo -w
	  kubectl -n $NAMESPACE describe mtune demo
	TEXT
	;;
down)
	kubectl -n "$NAMESPACE" delete mtune demo --ignore-not-found --timeout=120s
	kubectl delete namespace "$NAMESPACE" --ignore-not-found --timeout=180s
	;;
*)
	echo "usage: hack/demo.sh up|down"
	exit 2
	;;
esac
