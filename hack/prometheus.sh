#!/usr/bin/env bash
# Puts promtool and the Prometheus server into a directory: those of the machine when it has them, else those
# of Debian's package "prometheus", which is unpacked and not installed, so that no server is started and no
# root is needed.
#   hack/prometheus.sh DIRECTORY
set -euo pipefail
bin=$1
mkdir -p "$bin"

if command -v promtool >/dev/null && command -v prometheus >/dev/null; then
	ln -sf "$(command -v promtool)" "$bin/promtool"
	ln -sf "$(command -v prometheus)" "$bin/prometheus"
	exit
fi
if ! command -v apt-get >/dev/null; then
	echo "promtool and prometheus are needed and not on the PATH; see https://prometheus.io/download/" >&2
	exit 1
fi
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
cd "$unpacked"
echo "unpacking Debian's package prometheus into $bin"
# A machine that has never asked knows no packages; who may not ask can still download.
apt-cache policy prometheus | grep -q 'Candidate: [0-9]' || apt-get update -qq
apt-get download -qq -o APT::Sandbox::User=root prometheus
dpkg-deb --extract prometheus_*.deb .
install -m 0755 usr/bin/promtool usr/bin/prometheus "$bin"
