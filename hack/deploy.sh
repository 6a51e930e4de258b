#!/usr/bin/env bash
# Installs the CRDs and the operator and waits until it is up. OPERATOR_IMAGE overrides the image that
# `make images` built.
set -euo pipefail
source "$(dirname "$0")/env.sh"

image=${OPERATOR_IMAGE:-$(cat .cluster/operator-image)}
# The image is set in a copy: config/ stays as it is checked in. It is set where the Deployment is, so
# that the replacement that tells the operator its own image sees it.
rm -rf .cluster/config
cp -r config .cluster/config
(cd .cluster/config/manager && "$KUSTOMIZE" edit set image "docker.io/mongotuning/operator=$image")
# Server-side, because a client-side apply would keep a second copy of each CRD in an annotation.
"$KUSTOMIZE" build .cluster/config/default | kubectl apply --server-side --force-conflicts --field-manager=deploy -f - | grep -v unchanged || true
kubectl -n mongotuning-system rollout status deployment/mongotuning-operator --timeout=180s
