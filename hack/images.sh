#!/usr/bin/env bash
# Builds the operator image and, for the local cluster, the MongoDB test image, and loads both into the
# node. The references are left in .cluster/images, where deploy.sh and demo.sh find them.
set -euo pipefail
source "$(dirname "$0")/env.sh"

arch=$(go env GOARCH)
mkdir -p .cluster/archives
operator=$(go run -C hack/image . operator "$PWD/bin/mongotuning-linux-$arch" "$PWD/.cluster/archives/operator.tar")
echo "operator image  $operator"
echo "$operator" > .cluster/operator-image

if [[ $CLUSTER != local ]]; then
	cat <<-TEXT
	CLUSTER=existing: make the image known to your cluster yourself, for example with
	  kind load image-archive .cluster/archives/operator.tar
	or push it to your registry and set OPERATOR_IMAGE. The servers come from the official MongoDB image.
	TEXT
	exit 0
fi

standin=$PWD/.cluster/archives/mongos
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -buildid=' -o "$standin" ./test/mongosstandin
archive=$PWD/.cluster/archives/mongodb-$MONGODB_VERSION.tar
mongodb=$(go run -C hack/image . mongodb "$MONGODB_VERSION" "$archive" "$standin")
echo "MongoDB image   $mongodb"

# Loading unpacks some 200 MB, so what was loaded before into this node is not loaded again.
loaded=.cluster/loaded
node=$(kubectl get nodes -o jsonpath='{.items[0].metadata.uid}')
for file in "$PWD/.cluster/archives/operator.tar" "$archive"; do
	mark="$node $(sha256sum "$file" | cut -d' ' -f1)"
	if ! grep -qxF "$mark" "$loaded" 2>/dev/null; then
		go run -C hack/cluster . load-image "$file"
		echo "$mark" >> "$loaded"
	fi
done
