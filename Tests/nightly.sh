#!/usr/bin/env bash
# A long night of simulated crashes, kills, power cuts, fuzzing, overwriting a gigabyte within the
# bounds on space, and using the server's page in a browser, in rounds, until each has reached its
# target or the time is up. What was done is kept in a folder, line by line, so that another night
# can go on from there.
# usage: Tests/nightly.sh [HOURS, 8 if not given; 0.1 is six minutes] [FOLDER, .build-nightly if not
#   given]
set -euo pipefail
cd "$(dirname "$0")/.."
hours=${1:-8}
folder=${2:-.build-nightly}
end=$(awk "BEGIN { print int($(date +%s) + $hours * 3600) }")
mkdir -p "$folder"
rounds=$folder/rounds.tsv
touch "$rounds"
commit=$(git rev-parse --short HEAD)

# name, target, one round, command of a round
targets() {
  cat <<'LIST'
crash-points 50000000 2200000 Tests/crash-points.sh 2200000
kills 50000 500 .build/release/KillRun 500
power-cuts 5000 20 .build/release/KillRun cuts 20
executions 500000000 5000000 Fuzz/replay.sh 5000000
page 20 1 Tests/console/browser.py .build/release/latewood
LIST
}

done_of() { awk -F'\t' -v name="$1" '$2 == name && $5 == "passed" { sum += $3 } END { print sum + 0 }' "$rounds"; }

report() {
  printf '%-13s %12s %12s %8s\n' what target done failures
  targets | while read -r name target _; do
    printf '%-13s %12d %12d %8d\n' "$name" "$target" "$(done_of "$name")" \
      "$(awk -F'\t' -v name="$name" '$2 == name && $5 == "FAILED" { n++ } END { print n + 0 }' "$rounds")"
  done
}

# The one that is furthest from its target, of those that can run here.
next() {
  targets | while read -r name target count command; do
    [ -e "$folder/$name.not-here" ] && continue
    [ -x "${command%% *}" ] || continue
    done=$(done_of "$name")
    [ "$done" -ge "$target" ] || echo "$((done * 1000000 / target)) $name $count $command"
  done | sort -n | head -n 1
}

export LATEWOOD_PROGRAMS=1
swift build -c release
rm -f "$folder"/*.not-here
status=0
while [ "$(date +%s)" -lt $end ]; do
  read -r _ name count command < <(next) || break
  started=$(date +%s)
  outcome=passed
  code=0
  timeout -k 10 7200 $command >"$folder/$name.log" 2>&1 || code=$?
  if grep -q SKIPPED "$folder/$name.log"; then
    # Not possible here (no root, no loop devices): said once, and counted nowhere.
    grep SKIPPED "$folder/$name.log"
    touch "$folder/$name.not-here"
    continue
  fi
  if [ $code != 0 ]; then
    outcome=FAILED
    status=1
    cp "$folder/$name.log" "$folder/$name-$started.failed"
    touch "$folder/$name.not-here"
    echo "$name failed: $folder/$name-$started.failed"
  fi
  # How many points there are follows from the workloads; it was asked for about so many.
  if [ $name = crash-points ]; then count=$(sed -n 's/^crash points: \([0-9]*\),.*/\1/p' "$folder/$name.log"); fi
  printf '%s\t%s\t%d\t%d\t%s\t%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name" "$count" \
    $(($(date +%s) - started)) "$outcome" "$commit" >>"$rounds"
done
report
exit $status
