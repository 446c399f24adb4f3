#!/usr/bin/env bash
# Simulated power cuts: every call of every workload, with what of the unsynced data the disk may
# then have; second cuts during and after the recovery among them. Prints the sum. A failure prints
# the seed that repeats it.
# usage: Tests/crash-points.sh [POINTS, about; 2000000 if not given] [LEAST, that there must be; 1
#   if not given]
set -euo pipefail
cd "$(dirname "$0")/.."
points=${1:-2000000}
least=${2:-1}
options=(-c release -Xswiftc -enable-testing --scratch-path .build-release-tests)
swift build "${options[@]}" --build-tests >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
LATEWOOD_CRASH_POINTS=$points swift test "${options[@]}" --skip-build --filter '^LatewoodStoreTests\.CrashTests/' >"$log" 2>&1 || status=$?
grep -aE '^CrashTests: |recorded an issue' "$log" || true
awk -v status=$status -v least="$least" '/^CrashTests: / {
    for (i = 1; i <= NF; i++) { if ($i ~ /^points/) first += $(i - 1); if ($i ~ /^second/) second += $(i - 1) }
  }
  END {
    printf "crash points: %d, %d of them second cuts; %s\n", first + second, second, status == 0 ? "none lost anything" : "FAILED"
    if (status == 0 && first + second < least) { print "fewer than " least; status = 1 }
    exit status
  }' "$log"
