#!/usr/bin/env bash
# Measures everything that Latewood promises, side by side with its peers, checks that all of them
# give the same answers, and writes one page of results with its charts: which goals are met, and
# all figures.
#
# usage: Benchmarks/compare.sh [OPTION…]
#
#   --quick           all of it in tiny sizes, in two minutes: whether everything works.
#                     The page and the charts go to .build-peers/quick
#   --rounds N        rounds                                      default: 5
#   --n N             records                                     default: 1000000
#   --scale X         a factor on the number of operations        default: 1
#   --rww SECONDS     the length of reading while writing         default: 10
#   --groups "…"      groups of workloads   default: "rand seq sync ycsb readers opening recover
#                     blob import documents large", which is all that goals are about. The first
#                     four are for all engines; see below for the others
#   --without "…"     groups to leave out
#   --engines "…"     peers                                       default: all that are built
#   --readers "…"     numbers of records for readers              default: "10000 100000 1000000"
#   --large N         the number of records of group large; 0 leaves it out, and so does a disk that
#                     has not 600 bytes for each record           default: 10000000
#   --no-install      leaves out peers that are not installed, and installs nothing
#   --latewood FILE   LatewoodBenchmark, already built; the tool latewood is taken from the same
#                     folder, if it is there
#   --results FILE    the page                                    default: Benchmarks/RESULTS.md
#   --data DIRECTORY  where the databases lie, on the disk that is meant
#                                                                 default: .build-peers/data
#   --limit SECONDS   the time after which a run is stopped       default: 600
#
# Groups that not all engines have:
#
#   readers           1, 2, 4 and 8 threads that read, beside LMDB; at least three rounds, unless
#                     one is asked for: the ratio of two rates varies. Beside them, what two
#                     threads of arithmetic do
#   opening recover   Latewood alone: opening after a clean close, and after a crash
#   blob              Latewood alone: a blob of 1 GiB in and out
#   import            Latewood alone: the tool imports 1,000,000 JSON Lines into a new database
#   documents         documents, queries, space, live queries, words and Codable beside SQLite
#                     and Foundation; needs SQLite's headers (libsqlite3-dev). It has rounds of its
#                     own at the end, and at least three of them, unless one is asked for
#   large             with many records, beside LMDB and LevelDB: group growth, and opening. One
#                     round
#   extra             Latewood's promises that no goal is about; not among the defaults
#
# In each round every group goes through all engines before the next group begins, so that a slow
# minute of the machine affects all of them; every second round takes the engines in reverse. With
# two rounds all of it takes 35 to 45 minutes on two processors. The status is 1 after a wrong
# answer, answers that differ, or a failure; there is no page then. If only a run of readers or
# large was stopped, the page names it.
set -euo pipefail
cd "$(dirname "$0")/.."
. Benchmarks/peers.sh

rounds=5 records=1000000 scale=1 seconds=10 engines="" installs=1 latewood="" limit=600
groups="rand seq sync ycsb readers opening recover blob import documents large" without=""
readers="10000 100000 1000000" large=10000000 fraction=1
folder=.build-peers results=Benchmarks/RESULTS.md data=""
while [ $# -gt 0 ]; do
  option=$1
  shift
  case $option in
    --quick)
      rounds=1 records=10000 scale=0.02 seconds=0.3 readers="1000 2000 10000" large=20000 fraction=50
      folder=.build-peers/quick results=.build-peers/quick/RESULTS.md
      continue
      ;;
    --no-install)
      installs=0
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
    --without) without=$1 ;;
    --engines) engines=$1 ;;
    --readers) readers=$1 ;;
    --large) large=$1 ;;
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
mkdir -p "$data"
data=$(cd "$data" && pwd)
figures=$folder/results.csv facts=$folder/facts.txt texts=$folder/documents.txt
leave_out() { # GROUP
  local name left=""
  for name in $groups; do if [ "$name" != "$1" ]; then left+=" $name"; fi; done
  groups=$left
}
for name in $without; do leave_out "$name"; done
has_group() { case " $groups " in *" $1 "*) true ;; *) false ;; esac; }

install_packages
build_programs
choose_engines $engines
. Benchmarks/documents.sh
if has_group import; then build_tool; fi
if has_group documents; then build_documents; fi
too_large=""
if [ "$large" != 0 ] && has_group large && ! has_room "$large"; then
  echo "no room on the disk for $large records: left out" >&2
  too_large=$large
fi
if [ -n "$too_large" ] || ! has_group large; then large=0; fi
{
  facts_of_machine "$data"
  echo "records: $records"
  if has_group readers; then echo "records of readers: $readers"; fi
  if [ "$large" != 0 ]; then echo "records of large: $large"; fi
  if [ -n "$too_large" ]; then echo "left out, for want of room on the disk: $too_large records"; fi
  if has_group import; then echo "documents imported: $((1000000 / fraction))"; fi
  echo "scale: $scale"
  echo "rounds: $rounds"
  echo "load before: $(load)"
} > "$facts"

# Runs a group with all of the engines, or with those that are named and chosen, in their order.
for_engines() { # ROUND GROUP SIZE ENGINES [OPTION…]
  local round=$1 group=$2 size=$3 engines=$4 engine
  shift 4
  for engine in $(order_of "$round"); do
    case " ${engines:-$engine} " in *" $engine "*) run "$engine" "$group" "$round" "$size" "$@" ;; esac
  done
}

group() { # GROUP ROUND
  local size
  case $1 in
    readers)
      for size in $readers; do
        for_engines "$2" readers "$size" "latewood lmdb" --n "$size" --rww 0
      done
      # What two threads can do at all on this machine.
      size=${readers%% *}
      if [ -n "$size" ]; then for_engines "$2" twothreads "$size" latewood --n "$size"; fi
      ;;
    large)
      if [ "$2" != 1 ] || [ "$large" = 0 ]; then return 0; fi
      for_engines 1 growth "$large" "latewood lmdb leveldb" --n "$large"
      for_engines 1 opening "$large" latewood --n "$large"
      ;;
    import) import_lines "$2" $((1000000 / fraction)) ;;
    documents) ;;
    opening | recover | blob | extra) for_engines "$2" "$1" "" latewood --n "$records" ;;
    *) for_engines "$2" "$1" "" "" --n "$records" ;;
  esac
}

at_least_three=$((rounds > 1 && rounds < 3 ? 3 : rounds))
: > "$figures"
for round in $(seq 1 "$rounds"); do
  for name in $groups; do group "$name" "$round"; done
done
if has_group readers; then
  for round in $(seq $((rounds + 1)) "$at_least_three"); do group readers "$round"; done
fi
: > "$texts"
if has_group documents; then
  for work in documents queries space live texts; do document_work $work "$at_least_three"; done
fi
echo "load after: $(load)" >> "$facts"
python3 Benchmarks/results.py "$figures" "$facts" "$results" "$texts"
python3 Benchmarks/report.py "$figures" --facts "$facts" --documents "$texts"
