#!/usr/bin/env bash
# Builds and runs a package that depends on this one from outside, in debug and in release.
set -euo pipefail
cd "$(dirname "$0")"
scratch=../../.build-client
mkdir -p "$scratch"
for configuration in debug release; do
  swift build -c "$configuration" --product Client --scratch-path "$scratch"
  rm -f "$scratch"/client.latewood*
  "$scratch/$configuration/Client" "$scratch/client.latewood"
done
