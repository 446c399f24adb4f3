#!/usr/bin/env bash
# Replays the corpus and all regressions of every target with the ordinary optimized build, and runs
# mutations of them. Each input has a second of processor time, 64 MiB beside its own length, and a
# stack of 512 KiB.
# usage: Fuzz/replay.sh [EXECUTIONS over all targets, 0 if not given] [SEED]
set -euo pipefail
cd "$(dirname "$0")/.."
. Fuzz/targets.sh
executions=${1:-0}
seed=${2:-$RANDOM}
program=${LATEWOOD_FUZZ_PROGRAM:-.build/release/Fuzz}
status=0
for entry in $shares; do
  target=${entry%%:*}
  count=$((executions * ${entry##*:} / 1000))
  mapfile -t inputs < <(inputs_of "$target")
  if ! "$program" mutate "$target" "$count" "$seed" "${inputs[@]}" 2>"fuzz-$target.log"; then
    status=1
    tail -n 4 "fuzz-$target.log"
    "$program" kept "fuzz-$target.kept" >"fuzz-$target.input"
    echo "a find in $target with seed $seed: fuzz-$target.input, log in fuzz-$target.log"
    rm -f "fuzz-$target.kept"
  else
    rm -f "fuzz-$target.log"
  fi
done

# The planted fault is one mutation away from this file: a run that does not find it proves nothing.
if "$program" mutate canary 1000000 "$seed" Fuzz/Corpus/canary/almost >/dev/null 2>&1; then
  echo "the canary was not found: mutations do not work" >&2
  status=1
fi
rm -f fuzz-canary.kept
exit $status
