#!/usr/bin/env bash
# Builds and runs a package that depends on this one from outside, in debug and in release.
set -euo pipefail
cd "$(dirname "$0")"
# The manifest names targets whose sources are the examples of the documentation.
../examples.py --extract
scratch=../../.build-client
mkdir -p "$scratch"
for configuration in debug release; do
  for program in Client Survey; do
    swift build -c "$configuration" --product "$program" --scratch-path "$scratch"
  done
  rm -f "$scratch"/client.latewood*
  "$scratch/$configuration/Client" "$scratch/client.latewood"
  "$scratch/$configuration/Survey"
done
