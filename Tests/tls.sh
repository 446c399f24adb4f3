#!/usr/bin/env bash
# Runs the tests of connections with TLS, in a mount namespace in which the system trusts their
# authority. Needs root for the namespace, openssl and Python 3.
# usage: Tests/tls.sh [options of `swift test`]
set -euo pipefail
cd "$(dirname "$0")/.."
trusted=/etc/ssl/certs/ca-certificates.crt
if ! command -v openssl > /dev/null || [ ! -e $trusted ] || ! unshare --mount true 2> /dev/null; then
  echo "SKIPPED: connections with TLS need root, openssl and $trusted"
  exit 0
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
Tests/tls/certificates.sh "$directory"
export LATEWOOD_TLS=$directory
unshare --mount bash -c '
  mount --make-rprivate / && mount --bind "$LATEWOOD_TLS/ca.pem" '$trusted'
  exec swift test --filter TLSTests "$@"' bash "$@"
