# Everything a developer or a newcomer runs. `make help` lists the targets.
include hack/tools.mk

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

CLUSTER         ?= local
CLUSTER_NAME    ?= mongotuning
MONGODB_VERSION ?= 4.4.2
NAMESPACE       ?= mongotuning-demo
FUZZTIME        ?= 20s
TESTFLAGS       ?=
VERSION         ?= v0.0.0-dev
export CLUSTER CLUSTER_NAME MONGODB_VERSION NAMESPACE FUZZTIME

BIN            := $(CURDIR)/bin
CLUSTER_TOOL   := go run -C hack/cluster .
IMAGE_TOOL     := go run -C hack/image .
CONTROLLER_GEN := $(BIN)/controller-gen-$(CONTROLLER_GEN_VERSION)
GOLANGCI_LINT  := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
KUSTOMIZE      := $(BIN)/kustomize-$(KUSTOMIZE_VERSION)
PROMTOOL       := $(BIN)/promtool
PROMETHEUS     := $(BIN)/prometheus

GOARCH  := $(shell go env GOARCH)
LDFLAGS := -s -w -buildid=

# Tests of real clusters share the machine with nothing, whatever -j says.
.NOTPARALLEL:

##@ Start here

.PHONY: demo
demo: cluster-up deploy ## From nothing to a tuned sharded cluster whose every value is proved.
	hack/demo.sh up

.PHONY: demo-down
demo-down: ## Remove the demo's MongoDB cluster and its data; the Kubernetes cluster stays.
	hack/demo.sh down

.PHONY: test
test: unit thorough alerts-test manifests-test host-test integration mongod-test e2e ## Tests: unit, CRD, alerts, manifests, host settings, API server, real mongod, real cluster.
	@echo; echo "All tests passed."

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make TARGET\n"} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*##/ {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables\n'
	@printf '  %-16s %s\n' MONGODB_VERSION 'server of the demo and of the end-to-end test: 4.2.6, 4.4.2, 5.0.4 or 6.0.27 (now $(MONGODB_VERSION))' \
	  FUZZTIME 'how long make fuzz spends on each target (now $(FUZZTIME))' \
	  TESTFLAGS 'more flags for go test, for example -v or -run=Name (now $(or $(TESTFLAGS),none))' \
	  VERSION 'of make plugin-archives, a tag (now $(VERSION))' \
	  NAMESPACE 'namespace of the demo (now $(NAMESPACE))' \
	  CLUSTER 'local, or existing to use the current kubeconfig (now $(CLUSTER))' \
	  OPERATOR_IMAGE 'what make deploy installs (now $(or $(OPERATOR_IMAGE),what make images built))' \
	  CLUSTER_NAME 'name of the local cluster (now $(CLUSTER_NAME))'

##@ Tests, one kind at a time

.PHONY: unit
unit: ## Quick inner loop: pure packages, offline CRD rules, manifests, documentation, tools.
	go vet ./...
	go test $(TESTFLAGS) ./...
	cd hack/cluster && go test $(TESTFLAGS) ./...
	cd hack/image && go test $(TESTFLAGS) ./...
	cd test/kstatus && go test $(TESTFLAGS) ./...

.PHONY: alerts-test
alerts-test: $(PROMTOOL) ## Each alert fires and is silent when it should, each query parses (promtool).
	PROMTOOL=$(PROMTOOL) go test $(TESTFLAGS) -tags promtool -count=1 ./test/alerts/...

.PHONY: thorough
thorough: ## The long stories of the rollout plan in every variant; make unit runs a few of them.
	go test $(TESTFLAGS) -count=1 -timeout 20m ./internal/plan -args -thorough

.PHONY: manifests-test
manifests-test: $(KUSTOMIZE) ## Every kustomization builds, and overlay and Argo CD example do what they say.
	KUSTOMIZE=$(KUSTOMIZE) go test $(TESTFLAGS) -tags kustomize -count=1 ./test/config/...

.PHONY: integration
integration: ## The reconciler against a real kube-apiserver and etcd.
	KUBEBUILDER_ASSETS="$$($(CLUSTER_TOOL) assets)" go test $(TESTFLAGS) -tags integration -count=1 -timeout 30m ./test/integration/...

.PHONY: host-test
host-test: ## Tuning of this machine's kernel settings, which are put back; needs root.
	go test $(TESTFLAGS) -tags host -count=1 -timeout 10m ./test/host/...

.PHONY: mongod-test
mongod-test: ## Everything that talks to MongoDB, against real servers 4.2.6, 4.4.2, 5.0.4 and 6.0.27.
	go test $(TESTFLAGS) -tags mongod -count=1 -p 2 -timeout 40m ./internal/mongodb/... ./internal/load/... ./internal/member/... ./controllers/... ./test/mongosstandin/... ./test/matrix/...

.PHONY: e2e
e2e: cluster-up deploy ## The operator in a real cluster with real mongods.
	source hack/env.sh && go test $(TESTFLAGS) -tags e2e -count=1 -timeout 60m -v ./test/e2e/...

.PHONY: e2e-load
e2e-load: $(PROMETHEUS) cluster-up deploy ## What takes long under load: members in trouble, operators killed, a real Prometheus. Not part of make test.
	source hack/env.sh && PROMETHEUS=$(PROMETHEUS) go test $(TESTFLAGS) -tags e2e,long -count=1 -timeout 90m -run '^Test(Loaded|Watched)Cluster$$' -v ./test/e2e/...

.PHONY: bench
bench: bench-look cluster-up deploy ## What changes cost: online against restarts on a real cluster, and what a look computes.
	source hack/env.sh && go test $(TESTFLAGS) -tags e2e,bench -count=1 -timeout 45m -run '^TestBench$$' -v ./test/e2e/ | grep -v '^=== '

.PHONY: bench-look
bench-look: ## What every look computes: time and allocations, without a cluster.
	go test -run '^$$' -bench . ./internal/profile ./internal/verify ./internal/plan ./internal/status
	go test -tags mongod -run '^$$' -bench . ./internal/mongodb

.PHONY: fuzz
fuzz: ## Each fuzz target for FUZZTIME.
	hack/fuzz.sh

##@ Checks

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Strict linters, the import rules among them.
	$(GOLANGCI_LINT) run --allow-parallel-runners ./...
	cd hack/cluster && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/hack/golangci.yml ./...
	cd hack/image && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/hack/golangci.yml ./...
	cd test/kstatus && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/hack/golangci.yml ./...

.PHONY: verify
verify: $(CONTROLLER_GEN) $(KUSTOMIZE) ## Fail when a generated file is stale, a module untidy, a script broken.
	hack/verify.sh

##@ Build

.PHONY: generate
generate: $(CONTROLLER_GEN) $(KUSTOMIZE) ## Everything that is generated: deep copies, CRDs, RBAC, references, installer.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(CONTROLLER_GEN) crd:allowDangerousTypes=true paths=./api/... output:crd:dir=config/crd
	$(CONTROLLER_GEN) rbac:roleName=mongotuning-operator paths=./controllers/... output:rbac:dir=config/rbac
	go run ./hack/apidocs config/crd docs/api.md
	go run ./hack/generate
	go run ./hack/pictures
	@$(MAKE) --no-print-directory build-installer

.PHONY: build
build: ## The operator's static binary, bin/mongotuning-linux-ARCH.
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -ldflags '$(LDFLAGS)' -o bin/mongotuning-linux-$(GOARCH) ./cmd/mongotuning

.PHONY: plugin
plugin: ## The kubectl plugin for this machine, bin/kubectl-mongotuning, and what completes its arguments.
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/kubectl-mongotuning ./cmd/kubectl-mongotuning
	install -m 755 cmd/kubectl-mongotuning/kubectl_complete-mongotuning bin/

.PHONY: plugin-archives
plugin-archives: ## The plugin for every platform, checksums, and the manifest for krew: dist/plugin (VERSION=v0.1.0).
	go run ./hack/plugin $(VERSION) dist/plugin

.PHONY: build-installer
build-installer: $(KUSTOMIZE) ## One file to install from: dist/install.yaml.
	mkdir -p dist
	$(KUSTOMIZE) build config/default > dist/install.yaml

.PHONY: images
images: build ## Operator image and MongoDB test image, loaded into the local cluster's node.
	hack/images.sh

##@ Local cluster

.PHONY: cluster-up
cluster-up: ## Start a real Kubernetes node on this machine (nothing to do when it runs).
ifeq ($(CLUSTER),local)
	$(CLUSTER_TOOL) up
else
	@kubectl version >/dev/null || { echo "CLUSTER=existing needs a kubeconfig that reaches a cluster"; exit 1; }
endif

.PHONY: cluster-status
cluster-status: ## What runs, and whether it is healthy.
ifeq ($(CLUSTER),local)
	$(CLUSTER_TOOL) status
else
	kubectl get nodes -o wide
endif

.PHONY: cluster-down
cluster-down: ## Stop the local cluster and put the machine back as it was.
ifeq ($(CLUSTER),local)
	$(CLUSTER_TOOL) down
else
	@echo "CLUSTER=existing: this cluster is not ours to stop"
endif

.PHONY: deploy
deploy: images $(KUSTOMIZE) ## Install CRDs and operator into the cluster.
	KUSTOMIZE=$(KUSTOMIZE) hack/deploy.sh

.PHONY: undeploy
undeploy: $(KUSTOMIZE) ## Remove operator and CRDs; refused while a MongoTuning exists.
	KUSTOMIZE=$(KUSTOMIZE) hack/undeploy.sh

##@ Tools

.PHONY: tools
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(KUSTOMIZE) $(PROMTOOL) ## Install the pinned tools into bin/.

# install-tool installs one pinned Go program under a name that carries its version, so that a changed
# pin is a changed file.
define install-tool
@mkdir -p $(BIN)
@echo "installing $(notdir $@)"
@GOBIN=$(BIN)/.install go install $(1)@$(2) && mv $(BIN)/.install/$(notdir $(basename $(1))) $@
endef

$(CONTROLLER_GEN):
	$(call install-tool,sigs.k8s.io/controller-tools/cmd/controller-gen,$(CONTROLLER_GEN_VERSION))
$(GOLANGCI_LINT):
	$(call install-tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_LINT_VERSION))
$(KUSTOMIZE):
	@mkdir -p $(BIN)
	@echo "installing $(notdir $@)"
	@GOBIN=$(BIN)/.install go install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION) && mv $(BIN)/.install/kustomize $@
# Both come at once. They are of the machine and not pinned: any Prometheus from 2.42 on will do.
$(PROMETHEUS): $(PROMTOOL)
$(PROMTOOL): hack/prometheus.sh
	@hack/prometheus.sh $(BIN)
	@touch -c $(PROMTOOL) $(PROMETHEUS)
