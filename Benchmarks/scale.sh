#!/usr/bin/env bash
# Shows how costs grow: Latewood beside LMDB and LevelDB with more and more records, readers and
# bytes of a value, and with less memory than the file takes; then Latewood alone with thousands of
# snapshots and keyspaces. Checks that all engines give the same answers, and writes a page with
# charts.
#
# usage: Benchmarks/scale.sh [OPTION…]
#
#   --quick           all of it in tiny sizes, in half a minute: whether everything works.
#                     The page and the charts go to .build-peers/quick-scale
#   --parts "…"       default: "records readers values memory latewood", which is all of them.
#                     The page then has these parts and no others
#                       records   fills, reads, scans, overwrites, durable commits, opening, and the
#                                 size of the file, by the number of records
#                       readers   1, 2, 4 and 8 threads that read, alone and beside a writer
#                       values    bytes a second, by the length of a value
#                       memory    a file of four times the memory that the process may use
#                       latewood  snapshots held at once; keyspaces
#   --sizes "…"       numbers of records      default: "10000 100000 1000000 10000000"; a size for
#                     which the disk has not 600 bytes for each record is left out, and named
#   --values "…"      lengths of values       default: "10 100 1024 10240 102400 1048576 10485760"
#   --readers-n N     records for readers     default: 1000000
#   --memory MIB      the memory of part memory; below 512, LevelDB's cache of 256 and write buffers
#                     of 64 do not fit                            default: 512
#   --cgroup FOLDER   an empty control group with the memory controller (version 1 or 2), whose
#                     limit may be set. Without it, root makes one in version 2, or systemd-run
#                     does. Where neither works, part memory is skipped, and the page says so
#   --snapshots "…"   numbers of snapshots    default: "1000 10000"
#   --keyspaces "…"   numbers of keyspaces    default: "1000 10000 100000"
#   --rounds N        rounds; figures are medians                 default: 1
#   --scale X         a factor on the number of operations        default: 1
#   --rww SECONDS     the length of each run beside a writer      default: 5
#   --engines "…"     peers                                       default: "lmdb leveldb"
#   --no-install      leaves out peers that are not installed, and installs nothing
#   --latewood FILE   LatewoodBenchmark, already built
#   --results FILE    the page                                    default: Benchmarks/SCALE.md
#   --data DIRECTORY  where the databases lie, on the disk that is meant
#                                                                 default: .build-peers/scale/data
#   --limit SECONDS   the time after which a run is stopped       default: 3600
#
# The number of operations does not grow with the number of records, except those of fills. With 50
# million records ("--sizes 50000000") a fill takes long and 30 GB of disk.
#
# All engines take their turn with one size before the next size begins; every second round takes
# them in reverse. The status is 1 after a wrong answer, answers that differ, or a failure. A wrong
# answer leaves no page; a run that failed or was stopped is named on it.
set -euo pipefail
cd "$(dirname "$0")/.."
. Benchmarks/peers.sh
. Benchmarks/memory-limit.sh

parts="records readers values memory latewood" engines="lmdb leveldb"
sizes="10000 100000 1000000 10000000" values="10 100 1024 10240 102400 1048576 10485760"
readers=1000000 memory=512 cgroup="" snapshots="1000 10000" keyspaces="1000 10000 100000"
rounds=1 scale=1 seconds=5 installs=1 latewood="" limit=3600 fraction=1
folder=.build-peers/scale results=Benchmarks/SCALE.md data=""
while [ $# -gt 0 ]; do
  option=$1
  shift
  case $option in
    --quick)
      sizes="1000 10000" values="10 1024 10485760" readers=10000 snapshots="200 1000" keyspaces="200 1000"
      scale=0.01 seconds=0.1 fraction=16
      folder=.build-peers/quick-scale results=.build-peers/quick-scale/SCALE.md
      continue
      ;;
    --no-install)
      installs=0
      continue
      ;;
    -h | --help)
      sed -n '2,/^set/s/^# \{0,1\}//p' Benchmarks/scale.sh
      exit 0
      ;;
  esac
  if [ $# = 0 ]; then
    echo "$option needs a value, or is unknown; see $0 --help" >&2
    exit 2
  fi
  case $option in
    --parts) parts=$1 ;;
    --sizes) sizes=$1 ;;
    --values) values=$1 ;;
    --readers-n) readers=$1 ;;
    --memory) memory=$1 ;;
    --cgroup) cgroup=$1 ;;
    --snapshots) snapshots=$1 ;;
    --keyspaces) keyspaces=$1 ;;
    --rounds) rounds=$1 ;;
    --scale) scale=$1 ;;
    --rww) seconds=$1 ;;
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
for part in $parts; do
  case $part in
    records | readers | values | memory | latewood) ;;
    *)
      echo "there is no part $part; see $0 --help" >&2
      exit 2
      ;;
  esac
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
data=${data:-$folder/data}
figures=$folder/results.csv facts=$folder/facts.txt
mkdir -p "$data"

install_packages $engines
build_programs
choose_engines $engines
way=""
case " $parts " in *" memory "*) find_memory_limit ;; esac

record_MiB=$((memory * 4 / fraction))

# Leaves out sizes that the disk has no room for.
fitting="" large=""
for size in $sizes; do
  if has_room "$size"; then fitting+=" $size"; else large+=" $size"; fi
done
if [ -n "$large" ]; then echo "no room on the disk for$large records: left out" >&2; fi
{
  facts_of_machine "$data" $engines
  if [ -n "$large" ]; then echo "records left out, for want of room on the disk:$large"; fi
  case " $parts " in *" memory "*) echo "memory limit: $(memory_limit)${way:+, for $record_MiB MiB of records}" ;; esac
  echo "scale: $scale"
  echo "rounds: $rounds"
  echo "load before: $(load)"
} > "$facts"

part() { # PART ROUND
  local order size
  order=$(order_of "$2")
  case $1 in
    records)
      for size in $fitting; do
        for engine in $order; do run "$engine" growth "$2" "$size" --n "$size"; done
      done
      ;;
    readers)
      for engine in $order; do run "$engine" readers "$2" "" --n "$readers"; done
      ;;
    values)
      for size in $values; do
        for engine in $order; do run "$engine" values "$2" "$size" --vsize "$size"; done
      done
      ;;
    memory)
      [ -n "$way" ] || return 0
      # Records of 1,000 bytes and their keys.
      size=$((record_MiB * 1048576 / 1016))
      for engine in $order; do run "$engine" limited "$2" "" --n "$size" --vsize 1000; done
      ;;
    latewood)
      for size in $snapshots; do run latewood snapshots "$2" "$size" --n "$size"; done
      for size in $keyspaces; do run latewood keyspaces "$2" "$size" --n "$size"; done
      ;;
  esac
}

: > "$figures"
for round in $(seq 1 "$rounds"); do
  for part in $parts; do part "$part" "$round"; done
done
echo "load after: $(load)" >> "$facts"
python3 Benchmarks/scale.py "$figures" "$facts" "$results"
