#!/usr/bin/env bash
# Removes the operator and the CRDs. While a MongoTuning exists this is refused: without the operator
# its finalizer would never be carried out, and with the CRD gone its cluster would be deleted.
set -euo pipefail
source "$(dirname "$0")/env.sh"

if left=$(kubectl get mongotunings -A --no-headers 2>/dev/null) && [[ -n $left ]]; then
	echo "These MongoTunings exist; delete them first (make demo-down removes the demo):"
	echo "$left"
	exit 1
fi
"$KUSTOMIZE" build config/default | kubectl delete --ignore-not-found -f -
