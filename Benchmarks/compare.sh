#!/bin/bash
# Runs Latewood and its peers side by side and compares its figures with the targets.
#
# usage: Benchmarks/compare.sh ROUNDS [options for both drivers, as --n 100000 --scale 0.1]
#
#   PEERS    engines of the peers' driver                default: "lmdb leveldb sqlite"
#   GROUPS_  groups of workloads                         default: "rand seq sync ycsb extra"
#   SOURCES  the folder of the peers' driver            default: ../shared/peers by the repository
#   KVBENCH  the driver, already built                   default: built from SOURCES
#   OUT      the file to append results to              default: .build-peers/results.csv
#   LIMIT    seconds after which a group is stopped      default: 300
#
# In each round every group goes through all engines before the next group begins, so that a slow
# minute of the machine affects all of them; every second round takes the engines in reverse. The
# status is that of report.py: 1 after a wrong answer or a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${1:?usage: Benchmarks/compare.sh ROUNDS [options]}
shift
PEERS=${PEERS-"lmdb leveldb sqlite"}
GROUPS_=${GROUPS_:-"rand seq sync ycsb extra"}
SOURCES=${SOURCES:-../shared/peers}
KVBENCH=${KVBENCH:-}
OUT=${OUT:-.build-peers/results.csv}
LIMIT=${LIMIT:-300}
DATA=$PWD/.build-peers/data
mkdir -p .build-peers "$(dirname "$OUT")"

swift build -c release --product LatewoodBenchmark
LATEWOOD=$(swift build -c release --show-bin-path)/LatewoodBenchmark
"$LATEWOOD" --group vectors

if [ -z "$KVBENCH" ] && [ -f "$SOURCES/Makefile" ]; then
  make -C "$SOURCES" OUT="$PWD/.build-peers/kvbench" OBJ="$PWD/.build-peers/objects"
  KVBENCH=$PWD/.build-peers/kvbench
fi
if [ -z "$KVBENCH" ]; then
  echo "no peers' driver in $SOURCES: Latewood runs alone" >&2
  PEERS=""
fi

limited() {
  if command -v timeout > /dev/null; then timeout "$LIMIT" "$@"; else "$@"; fi
}

run() { # ENGINE GROUP ROUND OPTIONS...
  local engine=$1 group=$2 round=$3 driver=$KVBENCH status=0
  shift 3
  if [ "$engine" = latewood ]; then driver=$LATEWOOD; elif [ "$group" = extra ]; then return 0; fi
  # Pending writes of earlier engines must not slow this one.
  sync
  limited "$driver" --engine "$engine" --group "$group" --round "$round" --dir "$DATA.$engine" "$@" >> "$OUT" ||
    status=$?
  rm -rf "$DATA.$engine"
  echo "$(date +%T) round $round, $group, $engine: status $status" >&2
  if [ "$status" != 0 ]; then
    echo "$round,$engine,0,$group,FAILED,$status" >> "$OUT"
  fi
}

for round in $(seq 1 "$ROUNDS"); do
  engines="latewood $PEERS"
  if [ $((round % 2)) = 0 ]; then
    engines=$(echo "$engines" | tr ' ' '\n' | sed '/^$/d' | sed -n '1!G;h;$p' | tr '\n' ' ')
  fi
  for group in $GROUPS_; do
    for engine in $engines; do run "$engine" "$group" "$round" "$@"; done
  done
done
python3 Benchmarks/report.py "$OUT"
