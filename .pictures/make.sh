#!/usr/bin/env bash
# Makes the file that the article *The command-line tool* looks into, draws map.svg from it, and
# prints what the article shows of it.
#
#   .pictures/make.sh [path of the tool]
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(realpath "${1:-.build/release/latewood}")
[ -x "$tool" ] || { echo "no tool at $tool: run swift build -c release first" >&2; exit 1; }
picture=$PWD/.pictures/map.svg
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Cores of trees, with the width of each ring; `rows ROUND` has all 1,200 in the first round and two
# in five in the others.
rows() {
  awk -v round="$1" 'function next_number(below) { state = state * 16807 % 2147483647; return state % below }
  BEGIN {
    state = 42 + round
    for (n = 0; n < 1200; n++) {
      if (round > 0 && next_number(5) > 1) continue
      printf "{\"id\":\"core-%04d\",\"round\":%d,\"rings\":[", n, round
      rings = 20 + next_number(100)
      for (r = 0; r < rings; r++) printf "%s%d.%02d", r ? "," : "", next_number(4), next_number(100)
      print "]}"
    }
  }'
}
"$tool" put cores.latewood species "Quercus robur" > "$work/log"
for round in 0 1 2 3; do
  rows $round > rows.jsonl
  "$tool" import cores.latewood rows.jsonl --keyspace cores --key id > "$work/log"
done
show() { printf '$ latewood %s\n' "$*"; "$tool" "$@"; echo; }
show map cores.latewood
show info cores.latewood
show tree cores.latewood
show hex cores.latewood 0x2000 --length 64
rm -f "$picture"
"$tool" map cores.latewood --svg "$picture" > "$work/log"
