#!/usr/bin/env bash
# Builds and runs a package that depends on this one from outside, optimized. The examples of the
# documentation are another such package, which is built for debugging.
set -euo pipefail
cd "$(dirname "$0")"
# The manifest names targets whose sources are the examples of the documentation.
../examples.py --extract
scratch=../../.build-client
mkdir -p "$scratch"
for program in Client Survey; do
  swift build -c release --product "$program" --scratch-path "$scratch"
done
rm -f "$scratch"/client.latewood*
"$scratch/release/Client" "$scratch/client.latewood"
"$scratch/release/Survey"
