#!/usr/bin/env bash
# Runs the targets under libFuzzer, most of them with the address sanitizer, and prints the
# findings. First the planted fault of the canary must be found within a minute. Inputs with new
# coverage are kept in .build-fuzz/corpus from one run to the next.
# usage: Fuzz/run.sh [SECONDS per target, 60 if not given] [TARGET ...]      LATEWOOD_FUZZ_BUILT=1:
#   use the last build
set -euo pipefail
cd "$(dirname "$0")/.."
. Fuzz/targets.sh
seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} = 0 ]; then for entry in $shares; do targets+=("${entry%%:*}"); done; fi

# Targets that read memory by hand are built without optimization and with the address sanitizer.
# Targets that open a database for every input are optimized and run without it: opening maps a
# large range of addresses, which costs the sanitizer a fifth of a second each time.
build() {
  LATEWOOD_PROGRAMS=1 swift build --product Fuzz --sanitize fuzzer "$@" -Xswiftc -DFUZZING -Xswiftc -parse-as-library 2>&1 |
    { grep -E 'error|Build of' || true; }
}
# The compiler uses only the last -sanitize option, and the package manager passes two in any
# order: so both are in one.
if [ -z "${LATEWOOD_FUZZ_BUILT:-}" ]; then
  build -Xswiftc -sanitize=fuzzer,address --scratch-path .build-fuzz
  build -c release --scratch-path .build-fuzz-plain
fi
work=.build-fuzz/corpus
finds=.build-fuzz/finds
mkdir -p "$work" "$finds"
# The sanitizer's quarantine would count as memory used by the input.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:symbolize=0

# fuzz TARGET SECONDS FOLDER...: runs one target; its log is in .build-fuzz/finds.
fuzz() {
  local target=$1 limit=$2
  shift 2
  local longest=4096 program=.build-fuzz/debug/Fuzz
  case $target in open | recovery) longest=131072 ;; esac
  case $target in open | recovery | operations | documents) program=.build-fuzz-plain/release/Fuzz ;; esac
  LATEWOOD_FUZZ_TARGET=$target timeout -k 5 $((limit + 120)) "$program" \
    -max_total_time="$limit" -max_len=$longest -malloc_limit_mb=72 -rss_limit_mb=2048 -timeout=60 -print_final_stats=1 \
    -artifact_prefix="$finds/$target-" "$@" >"$finds/$target.log" 2>&1 </dev/null
}

for program in .build-fuzz/debug/Fuzz .build-fuzz-plain/release/Fuzz; do
  [ -x $program ] || { echo "there is no $program: run this without LATEWOOD_FUZZ_BUILT" >&2; exit 1; }
done

empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
if fuzz canary 60 "$empty" || ! grep -q "FIND: the canary" "$finds/canary.log"; then
  echo "the canary was not found within 60 s: the run is broken, see $finds/canary.log" >&2
  exit 1
fi
rm -f "$finds"/canary-*
echo "canary found after $(sed -n 's/^stat::number_of_executed_units: *//p' "$finds/canary.log") executions"

status=0
printf '%-11s %12s %9s %8s %9s %7s %6s\n' target executions a-second edges features corpus finds
for target in "${targets[@]}"; do
  mkdir -p "$work/$target"
  seeds=()
  for folder in "Fuzz/Corpus/$target" "Fuzz/Regressions/$target"; do [ -d "$folder" ] && seeds+=("$folder"); done
  case $target in open | recovery) seeds+=(Tests/golden) ;; esac
  found=0
  fuzz "$target" "$seconds" "$work/$target" "${seeds[@]}" || found=1
  log=$finds/$target.log
  field() { { grep -ao "$1: *[0-9]*" "$log" || true; } | tail -n 1 | grep -o '[0-9]*$' || echo 0; }
  printf '%-11s %12s %9s %8s %9s %7s %6s\n' "$target" "$(field number_of_executed_units)" \
    "$(field average_exec_per_sec)" "$(field cov)" "$(field ft)" "$(field corp)" $found
  if [ $found = 1 ]; then
    status=1
    { grep -aE 'FIND|Fatal error|ERROR:|Test unit written' "$log" || true; } | cut -c1-200
  fi
done
exit $status
