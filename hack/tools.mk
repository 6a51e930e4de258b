# Versions of the tools that the Makefile installs into bin/. Each is pinned: newer ones may ask for a
# newer Go than the module does.
CONTROLLER_GEN_VERSION := v0.23.0
GOLANGCI_LINT_VERSION  := v2.15.0
KUSTOMIZE_VERSION      := v5.8.1
