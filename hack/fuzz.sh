#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME each. Targets are found, not listed: a new one is
# run from the day it is written.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-20s}

targets=$(go test -list '^Fuzz' ./... | awk '
	/^Fuzz/ {names[++count] = $1}
	/^ok/   {for (i = 1; i <= count; i++) print $2, names[i]; count = 0}')
[[ -n $targets ]] || { echo "The module has no fuzz target."; exit 1; }

ran=0
while read -r package name; do
	printf '\n== %s of %s, %s\n' "$name" "${package#github.com/mongotuning/mongotuning/}" "$time"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package"
	ran=$((ran + 1))
done <<<"$targets"
printf '\nFuzzed %d targets for %s each; nothing was found.\n' "$ran" "$time"
