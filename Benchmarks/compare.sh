#!/usr/bin/env bash
# Runs Latewood and its peers side by side, checks that all of them give the same answers, and
# writes the page of results with its charts.
#
# usage: Benchmarks/compare.sh [OPTION…]
#
#   --quick           10,000 records, one short round, in about a minute: whether everything works.
#                     The page and the charts go to .build-peers/quick
#   --rounds N        rounds                                      default: 5
#   --n N             records                                     default: 1000000
#   --scale X         a factor on the number of operations        default: 1
#   --rww SECONDS     the length of reading while writing         default: 10
#   --groups "…"      groups of workloads                         default: "rand seq sync ycsb";
#                     also extra, which only Latewood has
#   --engines "…"     peers                                       default: all that are built
#   --documents       at the end also documents and queries beside SQLite, which takes some minutes;
#                     needs SQLite's headers (libsqlite3-dev). At least three rounds, unless one is
#                     asked for: the first is slower
#   --no-install      leaves out peers that are not installed, and installs nothing
#   --latewood FILE   LatewoodBenchmark, already built
#   --results FILE    the page                                    default: Benchmarks/RESULTS.md
#   --data DIRECTORY  where the databases lie, on the disk that is meant
#                                                                 default: .build-peers/data
#   --limit SECONDS   the time after which a group is stopped     default: 600
#
# In each round every group goes through all engines before the next group begins, so that a slow
# minute of the machine affects all of them; every second round takes the engines in reverse. The
# status is 1 after a wrong answer, answers that differ, or a failure; there is no page then.
set -euo pipefail
cd "$(dirname "$0")/.."
. Benchmarks/peers.sh

rounds=5 records=1000000 scale=1 seconds=10 groups="rand seq sync ycsb" engines="" installs=1 documents=0 latewood=""
folder=.build-peers results=Benchmarks/RESULTS.md data="" limit=600
while [ $# -gt 0 ]; do
  option=$1
  shift
  case $option in
    --quick)
      rounds=1 records=10000 scale=0.02 seconds=0.3
      folder=.build-peers/quick results=.build-peers/quick/RESULTS.md
      continue
      ;;
    --no-install)
      installs=0
      continue
      ;;
    --documents)
      documents=1
      continue
      ;;
    -h | --help)
      sed -n '2,/^set/s/^# \{0,1\}//p' Benchmarks/compare.sh
      exit 0
      ;;
  esac
  if [ $# = 0 ]; then
    echo "$option needs a value, or is unknown; see $0 --help" >&2
    exit 2
  fi
  case $option in
    --rounds) rounds=$1 ;;
    --n) records=$1 ;;
    --scale) scale=$1 ;;
    --rww) seconds=$1 ;;
    --groups) groups=$1 ;;
    --engines) engines=$1 ;;
    --latewood) latewood=$1 ;;
    --results) results=$1 ;;
    --data) data=$1 ;;
    --limit) limit=$1 ;;
    *)
      echo "unknown option $option; see $0 --help" >&2
      exit 2
      ;;
  esac
  shift
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
data=${data:-$folder/data}
figures=$folder/results.csv facts=$folder/facts.txt texts=$folder/documents.txt

install_packages
build_programs
choose_engines $engines
mkdir -p "$data"
{
  facts_of_machine "$data"
  echo "records: $records"
  echo "scale: $scale"
  echo "rounds: $rounds"
  echo "load before: $(load)"
} > "$facts"

run() { # ENGINE GROUP ROUND
  local status=0 start=$SECONDS
  if [ "$1" != latewood ] && [ "$2" = extra ]; then return 0; fi
  # Pending writes of earlier engines must not slow this one.
  sync
  limited "$(program_of "$1")" --engine "$1" --group "$2" --round "$3" --dir "$data/$1" \
    --n "$records" --scale "$scale" --rww "$seconds" >> "$figures" || status=$?
  rm -rf "${data:?}/$1"
  echo "$(date +%T) round $3, $2, $1: status $status, $((SECONDS - start)) s" >&2
  if [ $status != 0 ]; then echo "$3,$1,0,$2,FAILED,$status" >> "$figures"; fi
}

: > "$figures"
for round in $(seq 1 "$rounds"); do
  for group in $groups; do
    for engine in $(order_of "$round"); do run "$engine" "$group" "$round"; done
  done
done
: > "$texts"
if [ $documents = 1 ]; then
  package=(-c release --package-path Benchmarks/DocumentBenchmark --scratch-path .build-peers/documents-swift
    --manifest-cache none --disable-build-manifest-caching)
  swift build "${package[@]}"
  program=$(swift build "${package[@]}" --show-bin-path)/DocumentBenchmark
  for work in documents queries space; do
    # The status says whether every ratio meets its requirement; the page shows the ratios.
    "$program" $work --rounds $((rounds > 1 && rounds < 3 ? 3 : rounds)) --dir "$data/documents" | tee -a "$texts" >&2 || true
  done
  rm -rf "${data:?}/documents"*
fi
echo "load after: $(load)" >> "$facts"
python3 Benchmarks/results.py "$figures" "$facts" "$results" "$texts"
# The requirements, unless the run was too short to say anything about them.
if [ "$records" = 1000000 ] && [ "$scale" = 1 ]; then python3 Benchmarks/report.py "$figures"; fi
