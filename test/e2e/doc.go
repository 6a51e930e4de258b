// SPDX-License-Identifier: Apache-2.0

// Package e2e tells the life of one tuned sharded cluster as stories, on a real Kubernetes cluster with
// the operator deployed and real mongod processes. The stories run in order on the same cluster; each
// ends with everything proved, and with every write present that was ever acknowledged to a majority.
//
//	go test -tags e2e -count=1 -timeout 60m -v ./test/e2e/...
//
// The tag long adds the stories that take half an hour more, under load from their beginning to their end.
//
// KUBECONFIG says which cluster, MONGODB_VERSION which servers (4.4.2 when unset). The tests speak to
// pods by their IP, so they have to run where the pod network can be reached: on the node of the local
// cluster, or inside of a cluster.
package e2e
