#!/usr/bin/env bash
# Builds and runs a package that depends on this one from outside, optimized. The examples of the
# documentation are compiled for debugging.
set -euo pipefail
cd "$(dirname "$0")"
scratch=../../.build-client
mkdir -p "$scratch"
for program in Client Survey; do
  swift build -c release --product "$program" --scratch-path "$scratch"
done
rm -f "$scratch"/client.latewood*
"$scratch/release/Client" "$scratch/client.latewood"
"$scratch/release/Survey"
